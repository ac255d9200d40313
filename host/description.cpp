#include "description.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>

#include "array_json.h"
#include "document.h"
#include "dtype.h"
#include "error.h"
#include "text.h"

namespace host {
namespace {

constexpr size_t most_leaves = 10000;
constexpr size_t most_dims = 64;
constexpr uint64_t largest_alignment = 4096;

[[noreturn]] void refuse(const std::string &why) {
  throw Failure(TESSERACT_ERROR_COMPONENT, "the description is wrong: " + why);
}

// Reads the members of one object, with messages that say where it stands.
class Reader {
 public:
  Reader(const Json &object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) refuse(where_ + " must be an object");
  }

  const Json *find(const char *key) const {
    const auto at = object_.find(key);
    return at == object_.end() ? nullptr : &*at;
  }

  std::string text(const char *key, std::string otherwise = {}) const {
    const Json *value = find(key);
    if (!value) return otherwise;
    if (!value->is_string()) wrong(key, "a text");
    return value->get<std::string>();
  }

  bool flag(const char *key, bool otherwise) const {
    const Json *value = find(key);
    if (!value) return otherwise;
    if (!value->is_boolean()) wrong(key, "true or false");
    return value->get<bool>();
  }

  size_t choice(const char *key, std::initializer_list<const char *> names) const {
    const Json *value = find(key);
    if (!value) return 0;
    size_t i = 0;
    std::string list;
    for (const char *name : names) {
      if (value->is_string() && *value == name) return i;
      list += (i++ ? ", \"" : "\"") + std::string(name) + "\"";
    }
    wrong(key, "one of " + list);
  }

  void check_keys(std::initializer_list<const char *> known, bool ignore_unknown) const {
    if (ignore_unknown) return;
    for (const auto &member : object_.items()) {
      const std::string &key = member.key();
      const bool found =
          key.starts_with("x-") ||
          std::any_of(known.begin(), known.end(), [&key](const char *name) { return key == name; });
      if (!found) refuse(where_ + ": unknown key " + quote(key) + "; the keys are " + list(known));
    }
  }

  static std::string list(std::initializer_list<const char *> names) {
    std::string text;
    for (const char *name : names) text += (text.empty() ? "" : ", ") + std::string(name);
    return text;
  }

  [[noreturn]] void wrong(const char *key, const std::string &expected) const {
    const Json *value = find(key);
    refuse(where_ + ": " + quote(key) + " must be " + expected +
           (value ? ", it is " + brief(*value) : ""));
  }

  // A value for a message: its text, cut where it is long.
  static std::string brief(const Json &value) {
    constexpr size_t most = 80;
    const std::string text = dump_json(value);
    return text.size() > most ? text.substr(0, most) + "…" : text;
  }

 private:
  const Json &object_;
  std::string where_;
};

class TableReader {
 public:
  TableReader(Description &description, const DescriptionContext &context, bool inputs)
      : description_(description),
        context_(context),
        table_(inputs ? description.inputs : description.outputs),
        inputs_(inputs) {}

  void read(const Json &leaves) {
    if (!leaves.is_array() || leaves.size() > most_leaves)
      refuse(std::string(side()) + " must be a list of leaves");
    for (const Json &leaf : leaves) read_leaf(leaf);
  }

 private:
  const char *side() const { return inputs_ ? "\"inputs\"" : "\"outputs\""; }

  void read_leaf(const Json &json) {
    const size_t position = table_.completed.size();
    const std::string place = std::string(side()) + "[" + std::to_string(position) + "]";
    const Reader unnamed(json, place);
    const std::string path = unnamed.text("path");
    if (!unnamed.find("path")) refuse(place + " has no \"path\"");
    const Reader reader(json, "leaf " + quote(path));
    Path pattern = read_path(path);
    table_.completed.push_back(json);
    if (reader.find("type"))
      read_value(reader, path, std::move(pattern));
    else
      read_array(reader, path, std::move(pattern));
  }

  Path read_path(const std::string &path) {
    Path pattern;
    try {
      pattern = parse_path(path);
    } catch (const Failure &failure) {
      refuse(failure.message);
    }
    if (pattern.empty()) refuse(std::string(side()) + " has a leaf with an empty path");
    for (const Segment &segment : pattern)
      if (segment.index >= most_leaves)
        refuse("leaf " + quote(path) + ": the index " + std::to_string(segment.index) +
               " is too large");
    if (is_pattern(pattern) && !context_.patterns)
      refuse("leaf " + quote(path) + ": containers need a component with prepare");
    check_place(path, pattern);
    return pattern;
  }

  // A field and a key of one name are one member of a JSON object.
  static std::string place_in_data(Path pattern) {
    for (Segment &segment : pattern)
      if (segment.kind == Segment::Kind::name) segment.kind = Segment::Kind::key;
    return format_path(pattern);
  }

  // A leaf stands once, and not inside another.
  void check_place(const std::string &path, const Path &pattern) {
    const std::string canonical = format_path(pattern);
    if (!seen_.insert(canonical).second)
      refuse("leaf " + quote(path) + " stands twice in " + side());
    if (const auto [other, first] = places_.emplace(place_in_data(pattern), path); !first)
      refuse("leaf " + quote(path) + " is at the place of the leaf " + quote(other->second) +
             " in a document");
    for (size_t dot = canonical.find('.'); dot != std::string::npos;
         dot = canonical.find('.', dot + 1))
      if (seen_.contains(canonical.substr(0, dot)))
        refuse("leaf " + quote(path) + " lies inside the leaf " + quote(canonical.substr(0, dot)));
    const auto inside = seen_.lower_bound(canonical + ".");
    if (inside != seen_.end() && inside->starts_with(canonical + "."))
      refuse("leaf " + quote(*inside) + " lies inside the leaf " + quote(path));
  }

  void read_value(const Reader &reader, const std::string &path, Path pattern) {
    reader.check_keys(
        {"path", "type", "required", "default", "enum", "tensor", "description", "units"},
        context_.newer);
    ValueLeaf leaf;
    leaf.path = path;
    leaf.pattern = std::move(pattern);
    leaf.types = read_types(reader);
    if (const Json *value = reader.find("default")) leaf.default_value = *value;
    leaf.required = reader.flag("required", !leaf.default_value);
    if (const Json *choices = reader.find("enum")) {
      if (!choices->is_array()) reader.wrong("enum", "a list");
      leaf.choices = *choices;
    }
    if (leaf.default_value && inputs_)
      if (const std::string why = value_misfit(leaf, *leaf.default_value); !why.empty())
        refuse("leaf " + quote(path) + ": the default does not fit" + why);
    leaf.tensor = reader.flag("tensor", false);
    if (leaf.tensor && !context_.patterns)
      reader.wrong("tensor", "false in a component without prepare");
    Json &completed = table_.completed.back();
    completed["tensor"] = leaf.tensor;
    completed["required"] = leaf.required;
    table_.values.push_back(std::move(leaf));
  }

  Json read_types(const Reader &reader) {
    static constexpr std::string_view known[] = {"string", "integer", "number", "boolean",
                                                 "object", "array",   "null"};
    const Json &type = *reader.find("type");
    if (type == "any") return Json::array();
    Json list = type.is_array() ? type : Json::array({type});
    if (list.empty()) reader.wrong("type", "a JSON type, a list of them, or \"any\"");
    for (const Json &name : list)
      if (!name.is_string() ||
          std::find(std::begin(known), std::end(known), name.get<std::string>()) == std::end(known))
        reader.wrong("type", "a JSON type, a list of them, or \"any\"");
    return list;
  }

  void read_array(const Reader &reader, const std::string &path, Path pattern) {
    reader.check_keys({"path", "dtype", "shape", "differentiable", "required", "default", "layout",
                       "alignment", "description", "units"},
                      context_.newer);
    ArrayLeaf leaf;
    leaf.path = path;
    leaf.pattern = std::move(pattern);
    leaf.dtype = read_dtype(reader);
    read_shape(reader, leaf);
    leaf.differentiable = reader.flag("differentiable", false);
    if (leaf.differentiable && leaf.dtype && dtype_boolean(*leaf.dtype))
      reader.wrong("differentiable", "false for a bool");
    leaf.layout =
        static_cast<Layout>(reader.choice("layout", {"row-major", "column-major", "any"}));
    leaf.alignment = read_alignment(reader, leaf);
    if (inputs_) {
      const Json *value = reader.find("default");
      if (value && value->is_null() && !context_.patterns)
        reader.wrong("default",
                     "a number, lists or an encoded array (an input that may be left "
                     "out without one is \"required\": false)");
      if (value && !value->is_null()) leaf.default_value = read_default(*value, leaf);
      leaf.required = reader.flag("required", !reader.find("default"));
    } else {
      leaf.required = reader.flag("required", true);
      if (reader.find("default")) refuse("leaf " + quote(path) + ": an output has no \"default\"");
    }
    complete(leaf);
    table_.arrays.push_back(std::move(leaf));
  }

  void complete(const ArrayLeaf &leaf) {
    Json &completed = table_.completed.back();
    completed["differentiable"] = leaf.differentiable;
    constexpr const char *layouts[] = {"row-major", "column-major", "any"};
    completed["layout"] = layouts[static_cast<int>(leaf.layout)];
    completed["alignment"] = leaf.alignment;
    completed["required"] = leaf.required;
  }

  std::optional<DLDataType> read_dtype(const Reader &reader) {
    const Json *value = reader.find("dtype");
    if (!value) reader.wrong("dtype", "given (or \"type\" for a leaf that is no array)");
    if (value->is_null()) return std::nullopt;
    const auto dtype = value->is_string() ? dtype_named(value->get<std::string>()) : std::nullopt;
    if (!dtype) reader.wrong("dtype", "one of " + dtype_names() + ", or null");
    return dtype;
  }

  void read_shape(const Reader &reader, ArrayLeaf &leaf) {
    const Json *shape = reader.find("shape");
    if (!shape) reader.wrong("shape", "given");
    if (shape->is_null()) {
      leaf.any_rank = true;
      return;
    }
    if (!shape->is_array() || shape->size() > most_dims)
      reader.wrong("shape", "a list of at most 64 lengths, or null");
    for (const Json &length : *shape) {
      Dim dim;
      if (length.is_string() && !length.get_ref<const std::string &>().empty())
        dim.name = name_index(length.get<std::string>());
      else if (length.is_number_unsigned() && length.get<uint64_t>() <= INT64_MAX)
        dim.length = length.get<int64_t>();
      else if (!length.is_null())
        reader.wrong("shape", "made of lengths, names and nulls");
      leaf.dims.push_back(dim);
    }
    check_size(reader, leaf);
  }

  // The fixed lengths alone must not overflow.
  void check_size(const Reader &reader, const ArrayLeaf &leaf) {
    std::vector<int64_t> lengths;
    for (const Dim &dim : leaf.dims)
      if (dim.length > 0) lengths.push_back(dim.length);
    uint64_t count = 0, bytes = 0;
    if (!count_bytes(static_cast<int32_t>(lengths.size()), lengths.data(), 16, &count, &bytes))
      reader.wrong("shape", "small enough to be addressed");
  }

  int32_t name_index(const std::string &name) {
    auto &names = description_.names;
    const auto at = std::find(names.begin(), names.end(), name);
    if (at != names.end()) return static_cast<int32_t>(at - names.begin());
    names.push_back(name);
    return static_cast<int32_t>(names.size() - 1);
  }

  uint64_t read_alignment(const Reader &reader, const ArrayLeaf &leaf) {
    const Json *value = reader.find("alignment");
    if (!value) {
      if (!leaf.dtype) return 1;
      // Complex numbers are aligned as their parts.
      return dtype_size(*leaf.dtype) / (dtype_complex(*leaf.dtype) ? 2u : 1u);
    }
    if (value->is_number_unsigned()) {
      const uint64_t bytes = value->get<uint64_t>();
      if (bytes && bytes <= largest_alignment && (bytes & (bytes - 1)) == 0) return bytes;
    }
    reader.wrong("alignment", "a power of two up to 4096");
  }

  OwnedTensor read_default(const Json &value, const ArrayLeaf &leaf) {
    try {
      OwnedTensor tensor = decode_array(value, leaf.dtype, leaf.path);
      if (context_.patterns || leaf.any_rank) return tensor;
      const DLTensor &found = tensor->dl_tensor;
      bool fits = static_cast<size_t>(found.ndim) == leaf.dims.size();
      for (size_t k = 0; fits && k < leaf.dims.size(); k++)
        fits = leaf.dims[k].length < 0 || leaf.dims[k].length == found.shape[k];
      if (!fits)
        refuse("leaf " + quote(leaf.path) + ": the default has the shape " +
               shape_text(found.ndim, found.shape));
      return tensor;
    } catch (const Failure &failure) {
      // A component with prepare applies its own defaults, which need not be arrays.
      if (context_.patterns) return nullptr;
      if (failure.status == TESSERACT_ERROR_COMPONENT) throw;
      refuse("default of " + failure.message);
    }
  }

  Description &description_;
  const DescriptionContext &context_;
  LeafTable &table_;
  bool inputs_;
  std::set<std::string> seen_;
  std::map<std::string, std::string> places_;  // path by place_in_data()
};

std::string file_name(std::string_view source) {
  const size_t slash = source.find_last_of('/');
  return std::string(slash == std::string_view::npos ? source : source.substr(slash + 1));
}

void read_devices(const Reader &reader, Description &description) {
  const Json *devices = reader.find("devices");
  if (!devices) return;
  if (!devices->is_array() || devices->empty()) reader.wrong("devices", "a list");
  for (const Json &device : *devices) {
    if (device == "cuda")
      description.cuda = true;
    else if (device != "cpu")
      reader.wrong("devices", "a list of \"cpu\" and \"cuda\"");
  }
}

// What is wrong with a leaf of a component whose batch axis has this name; empty if nothing is.
std::string batch_misfit(const ArrayLeaf &leaf, int32_t name, bool &found) {
  for (size_t k = 0; k < leaf.dims.size(); k++) {
    if (leaf.dims[k].name != name) continue;
    if (k != 0) return "has it as another axis than the first";
    if (leaf.layout == Layout::column_major) return "is column-major, so its rows are apart";
    if (leaf.default_value) return "has a default, whose number of rows is fixed";
    found = true;
  }
  return {};
}

// The rows of several calls are put one after the other to make one call of them.
void read_batch(const Reader &reader, const Description &description) {
  if (!reader.find("batch")) return;
  const std::string text = reader.text("batch");
  const auto &names = description.names;
  const auto at = std::find(names.begin(), names.end(), text);
  if (at == names.end()) reader.wrong("batch", "the name of the first axis of a leaf");
  const auto name = static_cast<int32_t>(at - names.begin());
  bool found = false;
  for (const LeafTable *table : {&description.inputs, &description.outputs})
    for (const ArrayLeaf &leaf : table->arrays)
      if (const std::string why = batch_misfit(leaf, name, found); !why.empty())
        reader.wrong("batch", "the name of first axes of arrays of rows; the leaf " +
                                  quote(leaf.path) + " " + why);
  if (!found) reader.wrong("batch", "the name of the first axis of a leaf");
}

void read_streams(const Reader &reader, Description &description) {
  description.stream_ordered = reader.flag("stream_ordered", true);
  description.capture_safe = reader.flag("capture_safe", false);
  description.multi_device = reader.flag("multi_device", false);
  if (description.capture_safe && !description.stream_ordered)
    reader.wrong("capture_safe", "false where stream_ordered is");
}

}  // namespace

Description read_description(std::string_view text, const DescriptionContext &context) {
  Json json = parse_json(text, "the description", TESSERACT_ERROR_COMPONENT);
  if (context.listing && json.is_object()) {
    // A listing may be what the host wrote, which says more.
    json.erase("endpoints");
    json.erase("source");
  }
  const Reader reader(json, "the description");
  reader.check_keys({"name", "version", "description", "threads", "reentrant", "floating_point",
                     "overlap", "devices", "stream_ordered", "capture_safe", "multi_device",
                     "checks", "batch", "inputs", "outputs"},
                    context.newer);
  Description description;
  description.name = reader.text("name", file_name(context.source));
  if (description.name.empty()) description.name = file_name(context.source);
  description.version = reader.text("version");
  description.text = reader.text("description");
  description.threads = static_cast<Threads>(reader.choice(
      "threads", {"serial-per-instance", "serial-per-process", "concurrent", "owner"}));
  description.reentrant = reader.flag("reentrant", false);
  if (context.owner) description.threads = Threads::owner;
  description.default_floating_point = reader.choice("floating_point", {"caller", "default"}) == 1;
  description.overlap = reader.flag("overlap", false);
  description.component_checks = reader.choice("checks", {"host", "component"}) == 1;
  read_devices(reader, description);
  read_streams(reader, description);
  const Json none = Json::array();
  const Json *inputs = reader.find("inputs"), *outputs = reader.find("outputs");
  TableReader(description, context, true).read(inputs ? *inputs : none);
  TableReader(description, context, false).read(outputs ? *outputs : none);
  read_batch(reader, description);

  Json &completed = description.completed = json;
  completed["name"] = description.name;
  completed["threads"] = threads_name(description.threads);
  completed["reentrant"] = description.reentrant;
  completed["floating_point"] = description.default_floating_point ? "default" : "caller";
  completed["overlap"] = description.overlap;
  completed["devices"] = description.cuda ? Json::array({"cpu", "cuda"}) : Json::array({"cpu"});
  completed["stream_ordered"] = description.stream_ordered;
  completed["capture_safe"] = description.capture_safe;
  completed["multi_device"] = description.multi_device;
  completed["checks"] = description.component_checks ? "component" : "host";
  completed["inputs"] = description.inputs.completed;
  completed["outputs"] = description.outputs.completed;
  return description;
}

const ArrayLeaf *find_array(const LeafTable &table, const Path &path) {
  for (const ArrayLeaf &leaf : table.arrays)
    if (matches(leaf.pattern, path)) return &leaf;
  return nullptr;
}

const ValueLeaf *find_value(const LeafTable &table, const Path &path) {
  for (const ValueLeaf &leaf : table.values)
    if (matches(leaf.pattern, path)) return &leaf;
  return nullptr;
}

std::string list_paths(const LeafTable &table) {
  constexpr size_t most = 12;
  std::string list;
  size_t n = 0;
  for (const ArrayLeaf &leaf : table.arrays) {
    if (n == most) return list + ", …";
    list += (n++ ? ", " : "") + quote(leaf.path);
  }
  for (const ValueLeaf &leaf : table.values) {
    if (n == most) return list + ", …";
    list += (n++ ? ", " : "") + quote(leaf.path);
  }
  return list.empty() ? "none" : list;
}

const char *threads_name(Threads threads) {
  switch (threads) {
    case Threads::serial_per_process:
      return "serial-per-process";
    case Threads::concurrent:
      return "concurrent";
    case Threads::owner:
      return "owner";
    default:
      return "serial-per-instance";
  }
}

}  // namespace host
