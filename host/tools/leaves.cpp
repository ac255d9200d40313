#include "leaves.h"

#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>

#include "../dtype.h"
#include "../json_place.h"

namespace tool {
namespace {

using host::Json;
using host::Path;
using host::Segment;

// Takes the arrays that `pattern` names, from its segment `at` on, out of `value`.
class Extraction {
 public:
  Extraction(const LeafPattern &pattern, std::vector<Array> &arrays)
      : pattern_(pattern), arrays_(arrays) {}

  void walk(Json &value, size_t at) {
    const Segment &segment = pattern_.path[at];
    switch (segment.kind) {
      case Segment::Kind::name:
      case Segment::Kind::key:
        if (value.is_object() && value.contains(segment.text)) member(value, segment, at);
        break;
      case Segment::Kind::any_key:
        for (const std::string &key : keys(value)) member(value, {Segment::Kind::key, key}, at);
        break;
      case Segment::Kind::index:
        if (value.is_array() && segment.index < value.size()) element(value, segment.index, at);
        break;
      case Segment::Kind::any_index:
        for (size_t i = 0; value.is_array() && i < value.size(); i++) element(value, i, at);
        break;
    }
  }

 private:
  static std::vector<std::string> keys(const Json &value) {
    std::vector<std::string> names;
    if (value.is_object())
      for (const auto &[name, item] : value.items()) names.push_back(name);
    return names;
  }

  void member(Json &object, const Segment &segment, size_t at) {
    if (step(object[segment.text], segment, at)) object.erase(segment.text);
  }

  // A list keeps null where an array was.
  void element(Json &list, size_t index, size_t at) {
    if (step(list[index], {Segment::Kind::index, {}, index}, at)) list[index] = nullptr;
  }

  // Goes on below, or decodes the leaf; true if it was taken.
  bool step(Json &value, const Segment &segment, size_t at) {
    concrete_.push_back(segment);
    const bool leaf = at + 1 == pattern_.path.size();
    const bool taken = leaf && !value.is_null();
    if (taken) {
      const std::string path = host::format_path(concrete_);
      arrays_.push_back(
          {path, host::decode_array(value, pattern_.dtype, path), pattern_.differentiable});
    } else if (!leaf) {
      walk(value, at + 1);
    }
    concrete_.pop_back();
    return taken;
  }

  const LeafPattern &pattern_;
  std::vector<Array> &arrays_;
  Path concrete_;
};

Json encoded(const DLTensor &tensor) {
  Json shape = Json::array();
  for (int32_t axis = 0; axis < tensor.ndim; axis++) shape.push_back(tensor.shape[axis]);
  return {{"object_type", "array"},
          {"shape", shape},
          {"dtype", host::dtype_name(tensor.dtype)},
          {"data", {{"buffer", host::encode_array(tensor)}, {"encoding", "json"}}}};
}

}  // namespace

std::string read_file(const std::string &name) {
  if (name == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::ifstream file(name, std::ios::binary);
  if (!file) throw std::runtime_error(name + " can't be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<LeafPattern> leaf_patterns(const Json &description, const char *side) {
  std::vector<LeafPattern> patterns;
  for (const Json &leaf : description.value(side, Json::array())) {
    LeafPattern pattern{host::parse_path(leaf.at("path").get<std::string>()), {}, false, false};
    pattern.array = leaf.contains("shape");
    pattern.differentiable = leaf.value("differentiable", false);
    if (const auto dtype = leaf.find("dtype"); dtype != leaf.end() && dtype->is_string())
      pattern.dtype = host::dtype_named(dtype->get<std::string>());
    patterns.push_back(std::move(pattern));
  }
  return patterns;
}

std::vector<tesseract::Leaf> Inputs::leaves() const {
  std::vector<tesseract::Leaf> list = {tesseract::Json{json}};
  for (const Array &array : arrays) list.emplace_back(array.path, array.tensor->dl_tensor);
  return list;
}

Inputs split_inputs(const Json &description, const std::string &document) {
  Inputs inputs;
  Json json = host::parse_json_object(document, "the inputs", TESSERACT_ERROR_INVALID_ARGUMENT);
  for (const LeafPattern &pattern : leaf_patterns(description, "inputs"))
    if (pattern.array && !pattern.path.empty()) Extraction(pattern, inputs.arrays).walk(json, 0);
  inputs.json = host::dump_json(json);
  return inputs;
}

Json description_of(const tesseract::Component &component) {
  return host::parse_json_object(component.description(), "the description",
                                 TESSERACT_ERROR_INTERNAL);
}

Json result_document(const tesseract::Result &result) {
  Json document = host::parse_json_object(result.json(), "the result", TESSERACT_ERROR_INTERNAL);
  for (int64_t i = 0; i < result.size(); i++)
    host::place(document, host::parse_path(result.path(i))) = encoded(result.tensor(i));
  return document;
}

}  // namespace tool
