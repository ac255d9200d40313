#include "signature.h"

#include <algorithm>
#include <set>

#include "document.h"
#include "error.h"
#include "request.h"
#include "text.h"

namespace host {
namespace {

constexpr int64_t most_given = 1 << 20;

enum class Side { input, output };

const char *side_name(Side side) {
  return side == Side::input ? "input" : "output";
}

class SignatureReader {
 public:
  SignatureReader(const tesseract_component &component, const tesseract_signature &signature)
      : component_(component), description_(component.description), signature_(signature) {}

  GivenSignature read() {
    given_.endpoint = signature_.endpoint;
    given_.no_copy = signature_.flags & TESSERACT_NO_COPY;
    given_.staged = signature_.flags & TESSERACT_STAGED;
    if (signature_.reserved != 0)
      throw Failure(TESSERACT_ERROR_VERSION, "the signature's reserved member must be 0");
    if (given_.endpoint < TESSERACT_ENDPOINT_APPLY ||
        given_.endpoint > TESSERACT_ENDPOINT_ABSTRACT_EVAL)
      throw Failure(TESSERACT_ERROR_INVALID_ARGUMENT,
                    "there is no endpoint " + std::to_string(given_.endpoint));
    read_inputs();
    const bool derivative = given_.endpoint == TESSERACT_ENDPOINT_JVP ||
                            given_.endpoint == TESSERACT_ENDPOINT_VJP ||
                            given_.endpoint == TESSERACT_ENDPOINT_JACOBIAN;
    if (!derivative && signature_.wrt)
      throw Failure(TESSERACT_ERROR_INVALID_ARGUMENT, "only derivatives take wrt: it must be null");
    given_.of = read_list(signature_.of, Side::output, "of",
                          given_.endpoint == TESSERACT_ENDPOINT_VJP, derivative);
    if (derivative)
      given_.wrt = read_list(signature_.wrt, Side::input, "wrt",
                             given_.endpoint == TESSERACT_ENDPOINT_JVP, true);
    return std::move(given_);
  }

 private:
  const LeafTable &table(Side side) const {
    return side == Side::input ? description_.inputs : description_.outputs;
  }

  void read_inputs() {
    tesseract_leaves leaves = TESSERACT_LEAVES_INIT;
    if (signature_.inputs) leaves = read_request(signature_.inputs, 0, "inputs");
    if (leaves.count < 0)
      throw Failure(TESSERACT_ERROR_INVALID_ARGUMENT, "inputs have a negative count");
    given_.inputs = read_items(leaves, Side::input, "inputs");
    const std::string_view text = read_text(leaves.json, "the inputs' JSON");
    given_.document = text;
    if (component_.has_prepare()) {
      std::set<std::string> paths;
      for (const GivenLeaf &leaf : given_.inputs) paths.insert(leaf.path);
      given_.json = check_document(text, paths);
      return;
    }
    std::set<uint32_t> tensors;
    for (const GivenLeaf &leaf : given_.inputs) tensors.insert(leaf.table_index);
    Document document = read_document(text, description_.inputs, tensors);
    given_.constants = std::move(document.arrays);
    given_.json = std::move(document.text);
  }

  // `seeds`: the list carries seeds, so it says what is there and can't be "all".
  std::vector<GivenLeaf> read_list(const tesseract_leaves *list, Side side, const char *name,
                                   bool seeds, bool derivative) {
    tesseract_leaves leaves = TESSERACT_LEAVES_INIT;
    leaves.count = TESSERACT_ALL;
    if (list) leaves = read_request(list, 0, name);
    if (leaves.json.length != 0 && !read_text(leaves.json, name).empty())
      throw Failure(TESSERACT_ERROR_INVALID_ARGUMENT, std::string(name) + " takes no JSON");
    if (leaves.count < TESSERACT_ALL)
      throw Failure(TESSERACT_ERROR_INVALID_ARGUMENT, std::string(name) + " has a negative count");
    if (leaves.count == TESSERACT_ALL && seeds)
      throw Failure(TESSERACT_ERROR_INVALID_ARGUMENT,
                    std::string(name) +
                        (side == Side::input ? ", the tangents," : ", the cotangents,") +
                        " carries seeds, so its leaves must be named");
    std::vector<GivenLeaf> read = leaves.count == TESSERACT_ALL ? all_leaves(side, derivative)
                                                                : read_items(leaves, side, name);
    if (derivative) check_differentiable(read, side, name);
    return read;
  }

  std::vector<GivenLeaf> read_items(const tesseract_leaves &leaves, Side side, const char *name) {
    std::vector<GivenLeaf> read;
    if (leaves.count > most_given)
      throw Failure(TESSERACT_ERROR_INVALID_ARGUMENT, std::string(name) + " has too many leaves");
    if (leaves.count > 0) require(leaves.items, (std::string(name) + ".items").c_str());
    std::set<std::string> seen;
    read.reserve(static_cast<size_t>(leaves.count));
    for (int64_t i = 0; i < leaves.count; i++) {
      const tesseract_leaf &item = leaves.items[i];
      read.push_back(find_leaf(read_text(item.path, "a path"), side));
      read.back().tensor = item.tensor;
      if (!seen.insert(read.back().path).second)
        throw Failure(TESSERACT_ERROR_INVALID_ARGUMENT,
                      std::string(name) + ": " + quote(read.back().path) + " is named twice",
                      read.back().path);
    }
    return read;
  }

  GivenLeaf find_leaf(std::string_view text, Side side) const {
    const Path path = parse_path(text);
    std::string canonical = format_path(path);
    const LeafTable &leaves = table(side);
    if (is_pattern(path))
      throw Failure(TESSERACT_ERROR_SCHEMA,
                    "path " + quote(text) + " is a pattern: name one element", text);
    if (const ArrayLeaf *leaf = find_array(leaves, path))
      return {std::move(canonical), leaf, static_cast<uint32_t>(leaf - leaves.arrays.data()),
              nullptr};
    if (side == Side::input && takes_tensor(path))
      return {std::move(canonical), nullptr, 0, nullptr};
    if (find_value(leaves, path))
      throw Failure(TESSERACT_ERROR_SCHEMA,
                    std::string(side_name(side)) + " " + quote(text) + " is no array" +
                        (side == Side::input ? ": give it in the JSON" : ": it is in the JSON"),
                    text);
    throw Failure(TESSERACT_ERROR_SCHEMA,
                  std::string("unknown ") + side_name(side) + " " + quote(text) + "; the " +
                      side_name(side) + "s are " + list_paths(leaves),
                  text);
  }

  // A leaf that is no array and says so, or something inside one.
  bool takes_tensor(const Path &path) const {
    for (size_t length = path.size(); length > 0; length--) {
      const ValueLeaf *leaf = find_value(
          description_.inputs, Path(path.begin(), path.begin() + static_cast<ptrdiff_t>(length)));
      if (leaf) return leaf->tensor;
    }
    return false;
  }

  std::vector<GivenLeaf> all_leaves(Side side, bool derivative) {
    std::vector<GivenLeaf> all;
    if (side == Side::input) {
      for (const GivenLeaf &input : given_.inputs)
        if (input.leaf && input.leaf->differentiable)
          all.push_back({input.path, input.leaf, input.table_index, nullptr});
      return all;
    }
    const LeafTable &leaves = description_.outputs;
    for (uint32_t i = 0; i < leaves.arrays.size(); i++) {
      const ArrayLeaf &leaf = leaves.arrays[i];
      if (derivative && !leaf.differentiable) continue;
      if (!is_pattern(leaf.pattern))
        all.push_back({leaf.path, &leaf, i, nullptr});
      else if (derivative)
        throw Failure(TESSERACT_ERROR_SCHEMA,
                      "output " + quote(leaf.path) + " is a container: name its elements in of",
                      leaf.path);
    }
    given_.all_outputs = true;
    return all;
  }

  void check_differentiable(const std::vector<GivenLeaf> &list, Side side, const char *name) const {
    if (list.empty())
      throw Failure(TESSERACT_ERROR_INVALID_ARGUMENT,
                    std::string(name) + " is empty: there is nothing to differentiate");
    for (const GivenLeaf &entry : list) {
      if (!entry.leaf || !entry.leaf->differentiable)
        throw Failure(
            TESSERACT_ERROR_SCHEMA,
            std::string(side_name(side)) + " " + quote(entry.path) + " is not differentiable",
            entry.path);
      if (side == Side::input && !component_.has_prepare() && !has_value(entry))
        throw Failure(TESSERACT_ERROR_SCHEMA,
                      "input " + quote(entry.path) + " is not given, so there is no derivative",
                      entry.path);
    }
  }

  bool has_value(const GivenLeaf &entry) const {
    return given_.constants.contains(entry.table_index) ||
           std::any_of(given_.inputs.begin(), given_.inputs.end(),
                       [&](const GivenLeaf &input) { return input.path == entry.path; });
  }

  const tesseract_component &component_;
  const Description &description_;
  const tesseract_signature &signature_;
  GivenSignature given_;
};

}  // namespace

GivenSignature read_signature(const tesseract_component &component,
                              const tesseract_signature &signature) {
  return SignatureReader(component, signature).read();
}

}  // namespace host
