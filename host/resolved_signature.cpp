#include "resolved_signature.h"

namespace host {
namespace {

void fill(ResolvedSignature::List &list, const std::vector<GivenLeaf> &leaves,
          std::span<const Position> positions, bool declared) {
  const size_t n = leaves.size();
  list.paths.resize(n);
  list.shapes.resize(n);
  list.tensors.resize(n);
  list.items.resize(n);
  for (size_t i = 0; i < n; i++) {
    const Position &position = positions[i];
    list.paths[i] = leaves[i].path;
    for (const Length &length : position.lengths)
      list.shapes[i].push_back(length.fixed >= 0 ? length.fixed : -1);
    DLTensor &tensor = list.tensors[i] = {};
    tensor.device = declared ? position.declared_device : position.given_device;
    tensor.ndim = position.any_rank ? -1 : position.rank();
    tensor.dtype = declared && position.declared.lanes ? position.declared : position.given;
    tensor.shape = list.shapes[i].empty() ? nullptr : list.shapes[i].data();
    list.items[i] = {{list.paths[i].data(), list.paths[i].size()}, &tensor, nullptr};
  }
  list.leaves.count = static_cast<int64_t>(n);
  list.leaves.items = list.items.data();
}

}  // namespace

void resolve_signature(ResolvedSignature &resolved, const GivenSignature &given,
                       const SignaturePositions &positions, bool declared) {
  resolved.json = given.json;
  fill(resolved.inputs, given.inputs, positions.inputs, declared);
  fill(resolved.of, given.of, positions.of, declared);
  fill(resolved.wrt, given.wrt, positions.wrt, declared);
  resolved.inputs.leaves.json = {resolved.json.data(), resolved.json.size()};
  tesseract_signature &signature = resolved.signature;
  signature.flags = (given.no_copy ? TESSERACT_NO_COPY : 0) | (given.staged ? TESSERACT_STAGED : 0);
  signature.endpoint = given.endpoint;
  signature.inputs = &resolved.inputs.leaves;
  signature.of = &resolved.of.leaves;
  signature.wrt = given.wrt.empty() ? nullptr : &resolved.wrt.leaves;
}

}  // namespace host
