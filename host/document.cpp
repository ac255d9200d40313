#include "document.h"

#include <algorithm>

#include "array_json.h"
#include "error.h"
#include "json_place.h"
#include "text.h"

namespace host {
namespace {

[[noreturn]] void refuse(std::string_view path, const std::string &why) {
  throw Failure(TESSERACT_ERROR_SCHEMA, "input " + quote(path) + why, path);
}

[[noreturn]] void fail_output(std::string_view path, const std::string &why) {
  throw Failure(TESSERACT_ERROR_COMPONENT, "output " + quote(path) + why, path);
}

// Stands where a value was taken out; no text of a caller parses to it.  Never destroyed: threads
// may be in calls while the process ends.
const Json &taken = *new Json(Json::binary({}));

// The path of something that no leaf took, or nothing.  Of outputs, a null or an empty list says
// that a container, or something optional, has no leaves.
bool find_leftover(const Json &json, Path &path, bool of_outputs) {
  if (json == taken || (of_outputs && json.empty())) return false;
  if (json.is_object()) {
    for (const auto &[key, value] : json.items()) {
      path.push_back({Segment::Kind::name, key, 0});
      if (find_leftover(value, path, of_outputs)) return true;
      path.pop_back();
    }
    return false;
  }
  if (json.is_array() && !json.empty()) {
    for (size_t i = 0; i < json.size(); i++) {
      path.push_back({Segment::Kind::index, {}, i});
      if (find_leftover(json[i], path, of_outputs)) return true;
      path.pop_back();
    }
    return false;
  }
  // In a list a null marks the place of a tensor.
  return !(json.is_null() && !path.empty() && path.back().kind == Segment::Kind::index);
}

bool has_type(const Json &value, const std::string &type) {
  double ignored;
  if (type == "string") return value.is_string() && !non_finite(value, &ignored);
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number() || non_finite(value, &ignored);
  if (type == "boolean") return value.is_boolean();
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  return value.is_null();
}

bool has_patterns(const LeafTable &table) {
  return std::any_of(table.values.begin(), table.values.end(),
                     [](const ValueLeaf &leaf) { return is_pattern(leaf.pattern); });
}

class DocumentReader {
 public:
  DocumentReader(Json root, const LeafTable &table, const std::set<uint32_t> &tensors)
      : root_(std::move(root)), table_(table), tensors_(tensors) {}

  Document read() {
    for (uint32_t i = 0; i < table_.arrays.size(); i++) read_array(i);
    for (const ValueLeaf &leaf : table_.values) read_value(leaf);
    Path leftover;
    if (find_leftover(root_, leftover, false))
      refuse(format_path(leftover), " is unknown; the inputs are " + list_paths(table_));
    if (!missing_.empty()) refuse(missing_, why_missing_);
    document_.text = dump_json(rest_);
    return std::move(document_);
  }

 private:
  void read_array(uint32_t index) {
    const ArrayLeaf &leaf = table_.arrays[index];
    Json *value = const_cast<Json *>(find(root_, leaf.pattern));
    const bool tensor = tensors_.contains(index);
    if (value && tensor) {
      if (value->is_null() && leaf.pattern.back().kind == Segment::Kind::index) return;
      refuse(leaf.path, " is given both as a tensor and in the JSON");
    }
    if (tensor) return;
    if (value && !(value->is_null() && !leaf.required)) {
      document_.arrays.emplace(index, decode(*value, leaf));
      *value = taken;
      return;
    }
    if (value) *value = taken;
    if (leaf.default_value)
      document_.arrays.emplace(index, copy(*leaf.default_value));
    else if (leaf.required)
      miss(leaf.path, " is required: give it as a tensor or in the JSON");
  }

  // Told only if nothing unknown is given: that may be the leaf under a wrong name.
  void miss(const std::string &path, const char *why) {
    if (!missing_.empty()) return;
    missing_ = path;
    why_missing_ = why;
  }

  static OwnedTensor decode(const Json &value, const ArrayLeaf &leaf) {
    OwnedTensor decoded = decode_array(value, leaf.dtype, leaf.path);
    return leaf.layout == Layout::column_major ? copy(*decoded, leaf.layout) : std::move(decoded);
  }

  static OwnedTensor copy(const DLManagedTensorVersioned &from, Layout layout = Layout::row_major) {
    const DLTensor &tensor = from.dl_tensor;
    OwnedTensor made = make_tensor(tensor.dtype, tensor.ndim, tensor.shape, layout);
    int64_t misfit = 0;
    copy_elements(tensor, made->dl_tensor, &misfit);
    return made;
  }

  void read_value(const ValueLeaf &leaf) {
    Json *value = const_cast<Json *>(find(root_, leaf.pattern));
    if (value) {
      if (const std::string why = value_misfit(leaf, *value); !why.empty()) refuse(leaf.path, why);
      place(rest_, leaf.pattern) = std::move(*value);
      *value = taken;
    } else if (leaf.default_value) {
      place(rest_, leaf.pattern) = *leaf.default_value;
    } else if (leaf.required) {
      miss(leaf.path, " is required: give it in the JSON");
    }
  }

  Json root_;
  Json rest_ = Json::object();
  const LeafTable &table_;
  const std::set<uint32_t> &tensors_;
  Document document_;
  std::string missing_, why_missing_;  // the first required leaf that is not given
};

}  // namespace

std::string value_misfit(const ValueLeaf &leaf, const Json &value) {
  const bool typed = leaf.types.empty() ||
                     std::any_of(leaf.types.begin(), leaf.types.end(), [&](const Json &type) {
                       return has_type(value, type.get_ref<const std::string &>());
                     });
  if (!typed) return ": expected " + leaf.types.dump() + ", found " + json_kind(value);
  if (!leaf.choices.is_null() &&
      std::find(leaf.choices.begin(), leaf.choices.end(), value) == leaf.choices.end())
    return ": expected one of " + leaf.choices.dump() + ", found " + dump_json(value);
  return {};
}

Document read_document(std::string_view text, const LeafTable &table,
                       const std::set<uint32_t> &tensors) {
  Json root = parse_json_object(text, "the inputs' JSON", TESSERACT_ERROR_SCHEMA);
  return DocumentReader(std::move(root), table, tensors).read();
}

void check_output_document(std::string_view text, const LeafTable &table) {
  Json root = parse_json_object(text, "the component's output JSON", TESSERACT_ERROR_COMPONENT);
  // What containers of any size hold is the component's to check.
  if (has_patterns(table)) return;
  for (const ValueLeaf &leaf : table.values) {
    Json *value = const_cast<Json *>(find(root, leaf.pattern));
    if (!value && leaf.required) fail_output(leaf.path, " is missing in the component's JSON");
    if (!value) continue;
    if (const std::string why = value_misfit(leaf, *value); !why.empty())
      fail_output(leaf.path, why);
    *value = taken;
  }
  Path leftover;
  if (find_leftover(root, leftover, true))
    fail_output(format_path(leftover), " is in the component's JSON, but not in its description");
}

namespace {

// Each list that tensors are elements of has an element for every index up to the last: a tensor,
// or something in the JSON.
void check_holes(const Json &root, const std::set<std::string> &tensor_paths) {
  std::map<std::string, std::set<uint64_t>> lists;
  for (const std::string &text : tensor_paths) {
    const Path path = parse_path(text);
    for (size_t k = 0; k < path.size(); k++)
      if (path[k].kind == Segment::Kind::index)
        lists[format_path(Path(path.begin(), path.begin() + static_cast<ptrdiff_t>(k)))].insert(
            path[k].index);
  }
  for (const auto &[text, indices] : lists) {
    const Json *list = find(root, parse_path(text));
    uint64_t next = list && list->is_array() ? list->size() : 0;
    for (const uint64_t index : indices) {
      if (index > next) {
        const std::string hole = text + ".[" + std::to_string(next) + "]";
        refuse(hole, " is missing, but " + quote(text + ".[" + std::to_string(index) + "]") +
                         " is given");
      }
      next = std::max(next, index + 1);
    }
  }
}

}  // namespace

std::string check_document(std::string_view text, const std::set<std::string> &tensor_paths) {
  const Json root = parse_json_object(text, "the inputs' JSON", TESSERACT_ERROR_SCHEMA);
  for (const std::string &text_path : tensor_paths) {
    const Path path = parse_path(text_path);
    const Json *value = find(root, path);
    if (!value) continue;
    if (value->is_null() && path.back().kind == Segment::Kind::index) continue;
    refuse(text_path, " is given both as a tensor and in the JSON");
  }
  check_holes(root, tensor_paths);
  return text.empty() ? "{}" : std::string(text);
}

}  // namespace host
