#include "derive.h"

#include <algorithm>
#include <cstring>

#include "contraction.h"
#include "dtype.h"
#include "element.h"
#include "frame.h"
#include "result.h"
#include "run.h"

namespace host {
namespace {

bool offers_endpoint(const tesseract_component &component, int32_t endpoint) {
  return component.offered(endpoint) != nullptr;
}

std::string list_endpoints(const tesseract_component &component) {
  std::string list;
  for (int32_t e = TESSERACT_ENDPOINT_APPLY; e <= TESSERACT_ENDPOINT_ABSTRACT_EVAL; e++)
    if (offers_endpoint(component, e))
      list += (list.empty() ? "" : ", ") + std::string(endpoint_name(e));
  return list;
}

std::vector<const GivenLeaf *> pointers(const std::vector<GivenLeaf> &leaves) {
  std::vector<const GivenLeaf *> list;
  list.reserve(leaves.size());
  for (const GivenLeaf &leaf : leaves) list.push_back(&leaf);
  return list;
}

// A leaf list for an inner signature; `tensors` say dtype and rank, null entries as declared.
struct InnerList {
  std::vector<tesseract_leaf> items;
  tesseract_leaves leaves = TESSERACT_LEAVES_INIT;

  void add(const std::string &path, const DLTensor *tensor) {
    items.push_back({{path.data(), path.size()}, tensor, nullptr});
  }
  const tesseract_leaves *finish() {
    leaves.count = static_cast<int64_t>(items.size());
    leaves.items = items.data();
    return &leaves;
  }
};

// Element `i` of a compact zero tensor becomes one; the one before becomes zero again.
void move_one(const DLTensor &seed, uint64_t i) {
  const uint64_t item = dtype_size(seed.dtype);
  auto *data = static_cast<char *>(seed.data);
  if (i > 0) std::memset(data + (i - 1) * item, 0, item);
  write_element(seed.dtype, data + i * item, {Wide::Kind::natural, 0, 1, {}});
}

OwnedTensor zeros(const DLDataType &dtype, int32_t ndim, const int64_t *shape, uint64_t *count) {
  OwnedTensor made = make_tensor(dtype, ndim, shape);
  uint64_t bytes = 0;
  count_bytes(ndim, shape, dtype_size(dtype), count, &bytes);
  std::memset(made->dl_tensor.data, 0, bytes);
  return made;
}

OwnedTensor copy_compact(const DLTensor &tensor) {
  OwnedTensor made = make_tensor(tensor.dtype, tensor.ndim, tensor.shape);
  int64_t misfit = 0;
  copy_elements(tensor, made->dl_tensor, &misfit);
  return made;
}

// The output's tensor, of the shape and dtype of `like`.
DLTensor *allocate(tesseract_frame *frame, uint64_t index, const DLTensor &like) {
  DLTensor *tensor = nullptr;
  const int32_t status =
      host_table.allocate_output(frame, index, &like.dtype, like.ndim, like.shape, &tensor);
  if (status == TESSERACT_OK) return tensor;
  throw component_failure(*Frame::of(frame), status);
}

void check_seed(const DLTensor &seed, int32_t ndim, const int64_t *shape, const std::string &path) {
  if (seed.ndim == ndim && std::equal(shape, shape + ndim, seed.shape)) return;
  throw Failure(TESSERACT_ERROR_SCHEMA,
                "seed \"" + path + "\": expected the shape " + shape_text(ndim, shape) +
                    ", found " + shape_text(seed.ndim, seed.shape),
                path);
}

// Row or column `at` of a Jacobian block of `length` elements, `stride` apart.
void store_line(const DLTensor &block, uint64_t at, int64_t length, int64_t stride,
                const DLTensor &line, const std::string &path) {
  DLTensor from = line, to = block;
  from.ndim = to.ndim = 1;
  from.shape = to.shape = &length;
  from.strides = nullptr;
  to.strides = &stride;
  to.byte_offset = at * dtype_size(block.dtype);
  int64_t misfit = 0;
  if (!copy_elements(from, to, &misfit))
    throw Failure(TESSERACT_ERROR_COMPONENT, "a derivative does not fit " + dtype_name(to.dtype),
                  path);
}

}  // namespace

const char *derivation(const tesseract_component &component, int32_t endpoint) {
  const bool jvp = offers_endpoint(component, TESSERACT_ENDPOINT_JVP);
  const bool vjp = offers_endpoint(component, TESSERACT_ENDPOINT_VJP);
  const bool jacobian = offers_endpoint(component, TESSERACT_ENDPOINT_JACOBIAN);
  switch (endpoint) {
    case TESSERACT_ENDPOINT_JACOBIAN:
      return vjp ? "vjp" : jvp ? "jvp" : nullptr;
    case TESSERACT_ENDPOINT_JVP:
    case TESSERACT_ENDPOINT_VJP:
      return jacobian || jvp || vjp ? "jacobian" : nullptr;
    case TESSERACT_ENDPOINT_ABSTRACT_EVAL:
      return component.description.component_checks ? nullptr : "shapes";
    default:
      return nullptr;
  }
}

void derive_call(tesseract_call &call, const GivenSignature &given) {
  const tesseract_component &component = *call.component;
  if (!derivation(component, call.endpoint))
    throw Failure(TESSERACT_ERROR_UNSUPPORTED,
                  std::string("the component has no ") + endpoint_name(call.endpoint) +
                      ", nor anything to derive it from; it offers " + list_endpoints(component));
  if (call.endpoint == TESSERACT_ENDPOINT_ABSTRACT_EVAL)
    for (const Position &position : call.out)
      if (position.open)
        throw Failure(TESSERACT_ERROR_UNSUPPORTED,
                      "the component has no abstract_eval, and the shape of \"" + position.path +
                          "\" does not follow from those of the inputs",
                      position.path);
  call.derived = std::make_unique<DerivedCall>(call.component, given, call);
  call.plan = call.derived.get();
  call.function = DerivedCall::run;
}

namespace {

// All but the constants, which can't be copied and are the outer call's.
GivenSignature without_constants(const GivenSignature &given) {
  GivenSignature copy;
  copy.endpoint = given.endpoint;
  copy.no_copy = given.no_copy;
  copy.inputs = given.inputs;
  copy.of = given.of;
  copy.wrt = given.wrt;
  copy.document = given.document;
  return copy;
}

}  // namespace

DerivedCall::DerivedCall(tesseract_component *component, const GivenSignature &given,
                         const tesseract_call &outer)
    : component_(component),
      outer_(outer),
      given_(without_constants(given)),
      endpoint_(given.endpoint) {
  if (endpoint_ == TESSERACT_ENDPOINT_ABSTRACT_EVAL) return;
  const List of = pointers(given_.of), wrt = pointers(given_.wrt);
  for (const GivenLeaf *leaf : wrt) {
    auto at = -1 - static_cast<int64_t>(outer.constants.size());  // of none
    for (size_t i = 0; i < given_.inputs.size(); i++)
      if (given_.inputs[i].path == leaf->path) at = static_cast<int64_t>(i);
    for (size_t i = 0; at < 0 && i < outer.constants.size(); i++)
      if (outer.constants[i].index == leaf->table_index) at = -1 - static_cast<int64_t>(i);
    const bool constant = at < 0 && static_cast<size_t>(-1 - at) < outer.constants.size();
    if (at < 0 && !constant)
      throw Failure(
          TESSERACT_ERROR_SCHEMA,
          "input \"" + leaf->path + "\" must be given as a tensor, since its derivative is derived",
          leaf->path);
    wrt_inputs_.push_back(at);
  }
  for (const GivenLeaf *leaf : of)
    if (leaf->leaf->any_rank && endpoint_ == TESSERACT_ENDPOINT_JACOBIAN)
      throw Failure(TESSERACT_ERROR_UNSUPPORTED,
                    "the component has no jacobian, and none can be derived of \"" + leaf->path +
                        "\", whose rank is only known by running it",
                    leaf->path);
  if (endpoint_ != TESSERACT_ENDPOINT_JACOBIAN) {
    jacobian_ = prepare(TESSERACT_ENDPOINT_JACOBIAN, of, wrt);
    return;
  }
  if (offers_endpoint(*component, TESSERACT_ENDPOINT_VJP))
    for (const GivenLeaf *leaf : of) rows_.push_back(prepare(TESSERACT_ENDPOINT_VJP, {leaf}, wrt));
  if (offers_endpoint(*component, TESSERACT_ENDPOINT_JVP))
    for (const GivenLeaf *leaf : wrt)
      columns_.push_back(prepare(TESSERACT_ENDPOINT_JVP, of, {leaf}));
  const bool open = std::any_of(outer.out.begin(), outer.out.end(),
                                [](const Position &position) { return position.open; });
  if (open)
    shapes_ = prepare(offers_endpoint(*component, TESSERACT_ENDPOINT_ABSTRACT_EVAL)
                          ? TESSERACT_ENDPOINT_ABSTRACT_EVAL
                          : TESSERACT_ENDPOINT_APPLY,
                      of, {});
}

CallReference DerivedCall::prepare(int32_t endpoint, const List &of, const List &wrt) const {
  InnerList inputs, outputs, columns;
  // What the outer run hands on has the declared dtypes.
  std::vector<DLTensor> tensors(given_.inputs.size());
  for (size_t i = 0; i < given_.inputs.size(); i++) {
    tensors[i].ndim = outer_.in[i].rank();
    tensors[i].dtype = outer_.in[i].declared;
    tensors[i].device = {kDLCPU, 0};
    inputs.add(given_.inputs[i].path, &tensors[i]);
  }
  for (const GivenLeaf *leaf : of) outputs.add(leaf->path, nullptr);
  for (const GivenLeaf *leaf : wrt) columns.add(leaf->path, nullptr);
  tesseract_signature signature = TESSERACT_SIGNATURE_INIT;
  signature.endpoint = endpoint;
  signature.inputs = inputs.finish();
  inputs.leaves.json = {given_.document.data(), given_.document.size()};
  signature.of = outputs.finish();
  signature.wrt = wrt.empty() ? nullptr : columns.finish();
  return prepare_call(component_, signature);
}

int32_t DerivedCall::run(void *, void *plan, tesseract_frame *frame) {
  const auto &self = *static_cast<const DerivedCall *>(plan);
  try {
    switch (self.endpoint_) {
      case TESSERACT_ENDPOINT_ABSTRACT_EVAL:
        self.abstract_eval(frame);
        break;
      case TESSERACT_ENDPOINT_JACOBIAN:
        self.jacobian(frame);
        break;
      default:
        self.product(frame);
        break;
    }
    return TESSERACT_OK;
  } catch (Failure &failure) {
    frame_error(frame, failure.status, failure.path, failure.message);
    if (Frame::of(frame)->error) Frame::of(frame)->error->cause = std::move(failure.cause);
    return failure.status;
  }
}

void DerivedCall::run_inner(tesseract_frame *frame, const tesseract_call &inner,
                            const std::vector<const DLTensor *> &in,
                            const std::vector<DLTensor *> *out, tesseract_result **result) const {
  RunRequest request;
  request.in = in.data();
  request.out = out ? out->data() : nullptr;
  request.result = result;
  request.cancel = Frame::of(frame)->cancel;
  request.stream = frame->stream;
  request.no_copy = frame->flags & TESSERACT_FRAME_NO_COPY;
  tesseract_error *error = nullptr;
  const int32_t status = run_call(inner, request, &error);
  if (status == TESSERACT_OK) return;
  Failure failure(status,
                  std::string("deriving it by ") + endpoint_name(inner.endpoint) + " failed",
                  error ? error->path : std::string());
  if (tesseract_error_status(error) != TESSERACT_ERROR_OUT_OF_MEMORY) failure.cause.reset(error);
  throw failure;
}

// The outputs have shapes already: nothing is left but to say so.
void DerivedCall::abstract_eval(tesseract_frame *) const {}

const DLTensor &DerivedCall::input(const tesseract_frame *frame, size_t wrt) const {
  const int64_t at = wrt_inputs_[wrt];
  return at >= 0 ? *frame->inputs[at]
                 : outer_.constants[static_cast<size_t>(-1 - at)].tensor->dl_tensor;
}

std::vector<DLTensor *> DerivedCall::allocate_blocks(tesseract_frame *frame) const {
  std::vector<DLTensor *> blocks(frame->outputs, frame->outputs + frame->n_outputs);
  if (!shapes_) return blocks;
  const std::vector<const DLTensor *> in(frame->inputs, frame->inputs + frame->n_inputs);
  tesseract_result *result = nullptr;
  run_inner(frame, *shapes_, in, nullptr, &result);
  const std::unique_ptr<tesseract_result, void (*)(tesseract_result *)> shapes(
      result, tesseract_result_free);
  const size_t n_wrt = given_.wrt.size();
  for (size_t b = 0; b < blocks.size(); b++) {
    const DLTensor *found = tesseract_result_tensor(result, static_cast<int64_t>(b / n_wrt));
    const std::string &path = given_.of[b / n_wrt].path;
    if (!found)
      throw Failure(TESSERACT_ERROR_COMPONENT,
                    "the component left out \"" + path + "\", so it has no derivative", path);
    const DLTensor &row = *found;
    const DLTensor &column = input(frame, b % n_wrt);
    std::vector<int64_t> shape(row.shape, row.shape + row.ndim);
    shape.insert(shape.end(), column.shape, column.shape + column.ndim);
    DLTensor wanted{};
    wanted.dtype = row.dtype;
    wanted.ndim = static_cast<int32_t>(shape.size());
    wanted.shape = shape.data();
    blocks[b] = allocate(frame, b, wanted);
  }
  return blocks;
}

void DerivedCall::jacobian(tesseract_frame *frame) const {
  const std::vector<DLTensor *> blocks = allocate_blocks(frame);
  const size_t n_wrt = given_.wrt.size();
  // As many calls as there are rows, or columns: take the fewer.
  const auto elements = [](int32_t ndim, const int64_t *shape) {
    uint64_t count = 0, bytes = 0;
    count_bytes(ndim, shape, 1, &count, &bytes);
    return count;
  };
  uint64_t rows = 0, columns = 0;
  for (size_t o = 0; o < given_.of.size(); o++)
    rows += elements(blocks[o * n_wrt]->ndim - input(frame, 0).ndim, blocks[o * n_wrt]->shape);
  for (size_t i = 0; i < n_wrt; i++)
    columns += elements(input(frame, i).ndim, input(frame, i).shape);
  const bool by_rows = columns_.empty() || (!rows_.empty() && rows <= columns);
  // Lines are stored into compact blocks; a caller's may have strides.
  std::vector<OwnedTensor> compact;
  std::vector<DLTensor *> filled;
  for (const DLTensor *block : blocks) {
    compact.push_back(make_tensor(block->dtype, block->ndim, block->shape));
    filled.push_back(&compact.back()->dl_tensor);
  }
  if (by_rows)
    jacobian_rows(frame, filled);
  else
    jacobian_columns(frame, filled);
  int64_t misfit = 0;
  for (size_t b = 0; b < blocks.size(); b++) copy_elements(*filled[b], *blocks[b], &misfit);
}

void DerivedCall::jacobian_rows(tesseract_frame *frame,
                                const std::vector<DLTensor *> &blocks) const {
  const size_t n_wrt = given_.wrt.size();
  for (size_t o = 0; o < given_.of.size(); o++) {
    const DLTensor &first = *blocks[o * n_wrt];
    const int32_t rank = first.ndim - input(frame, 0).ndim;
    uint64_t rows = 0;
    const OwnedTensor seed = zeros(first.dtype, rank, first.shape, &rows);
    std::vector<const DLTensor *> in(frame->inputs, frame->inputs + frame->n_inputs);
    in.push_back(&seed->dl_tensor);
    std::vector<OwnedTensor> gradients;
    std::vector<DLTensor *> out;
    for (size_t i = 0; i < n_wrt; i++) {
      const DLTensor &column = input(frame, i);
      gradients.push_back(make_tensor(column.dtype, column.ndim, column.shape));
      out.push_back(&gradients.back()->dl_tensor);
    }
    for (uint64_t r = 0; r < rows; r++) {
      move_one(seed->dl_tensor, r);
      run_inner(frame, *rows_[o], in, &out, nullptr);
      for (size_t i = 0; i < n_wrt; i++) {
        uint64_t length = 0, bytes = 0;
        count_bytes(out[i]->ndim, out[i]->shape, 1, &length, &bytes);
        store_line(*blocks[o * n_wrt + i], r * length, static_cast<int64_t>(length), 1, *out[i],
                   given_.of[o].path);
      }
    }
  }
}

void DerivedCall::jacobian_columns(tesseract_frame *frame,
                                   const std::vector<DLTensor *> &blocks) const {
  const size_t n_wrt = given_.wrt.size();
  for (size_t i = 0; i < n_wrt; i++) {
    const DLTensor &column = input(frame, i);
    uint64_t columns = 0;
    const OwnedTensor seed = zeros(column.dtype, column.ndim, column.shape, &columns);
    std::vector<const DLTensor *> in(frame->inputs, frame->inputs + frame->n_inputs);
    in.push_back(&seed->dl_tensor);
    std::vector<OwnedTensor> tangents;
    std::vector<DLTensor *> out;
    for (size_t o = 0; o < given_.of.size(); o++) {
      const DLTensor &block = *blocks[o * n_wrt + i];
      tangents.push_back(make_tensor(block.dtype, block.ndim - column.ndim, block.shape));
      out.push_back(&tangents.back()->dl_tensor);
    }
    for (uint64_t c = 0; c < columns; c++) {
      move_one(seed->dl_tensor, c);
      run_inner(frame, *columns_[i], in, &out, nullptr);
      for (size_t o = 0; o < given_.of.size(); o++) {
        uint64_t length = 0, bytes = 0;
        count_bytes(out[o]->ndim, out[o]->shape, 1, &length, &bytes);
        store_line(*blocks[o * n_wrt + i], c, static_cast<int64_t>(length),
                   static_cast<int64_t>(columns), *out[o], given_.of[o].path);
      }
    }
  }
}

// JVP: out[o] = sum_i J[o,i] t[i].  VJP: out[i] = sum_o c[o] J[o,i].
void DerivedCall::product(tesseract_frame *frame) const {
  const bool jvp = endpoint_ == TESSERACT_ENDPOINT_JVP;
  const std::vector<const DLTensor *> in(frame->inputs, frame->inputs + frame->n_inputs);
  tesseract_result *result = nullptr;
  run_inner(frame, *jacobian_, in, nullptr, &result);
  const std::unique_ptr<tesseract_result, void (*)(tesseract_result *)> blocks(
      result, tesseract_result_free);
  const size_t n_wrt = given_.wrt.size(), n_seeds = jvp ? n_wrt : given_.of.size();
  std::vector<OwnedTensor> compact;
  for (size_t s = 0; s < n_seeds; s++) compact.push_back(copy_compact(*frame->seeds[s]));
  for (size_t k = 0; k < frame->n_outputs; k++) {
    std::vector<Block> terms;
    int32_t rank = 0;  // of what is left of the Jacobian
    for (size_t s = 0; s < n_seeds; s++) {
      const size_t of = jvp ? k : s, wrt = jvp ? s : k;
      const DLTensor &block =
          *tesseract_result_tensor(result, static_cast<int64_t>(of * n_wrt + wrt));
      const DLTensor &seed = compact[s]->dl_tensor;
      const int32_t columns = input(frame, wrt).ndim, rows = block.ndim - columns;
      rank = jvp ? rows : columns;
      check_seed(seed, jvp ? columns : rows, jvp ? block.shape + rows : block.shape,
                 jvp ? given_.wrt[s].path : given_.of[s].path);
      terms.push_back({&block, &seed});
    }
    const DLTensor &first = *terms[0].jacobian;
    const int64_t *shape = jvp ? first.shape : first.shape + first.ndim - rank;
    const DLDataType dtype =
        frame->outputs[k]->dtype.lanes ? frame->outputs[k]->dtype : first.dtype;
    const OwnedTensor sum = make_tensor(dtype, rank, shape);
    contract(terms, jvp, sum->dl_tensor);
    int64_t misfit = 0;
    copy_elements(sum->dl_tensor, *allocate(frame, k, sum->dl_tensor), &misfit);
  }
}

}  // namespace host
