#include "spec.h"

#include <charconv>
#include <cstring>

#include "dtypes.h"
#include "failure.h"

namespace tesseract::jax {
namespace {

[[noreturn]] void malformed(const std::string &what) {
  throw Failure(TESSERACT_ERROR_INVALID_ARGUMENT,
                "tesseract-host: the spec of a call is malformed: " + what);
}

const Json &list_in(const Json &value, std::string_view key) {
  if (!value.is_array()) malformed("'" + std::string(key) + "' is no list");
  return value;
}

std::vector<std::string> read_paths(const Json &value, std::string_view key) {
  std::vector<std::string> paths;
  for (const Json &path : list_in(value, key)) {
    if (!path.is_string()) malformed("'" + std::string(key) + "' holds more than strings");
    paths.push_back(path.get<std::string>());
  }
  return paths;
}

std::optional<DLDataType> dtype_named(std::string_view name) {
  for (const tesseract_jax_dtype &dtype : tesseract_jax_dtypes)
    if (dtype.name && name == dtype.name) return DLDataType{dtype.code, dtype.bits, 1};
  return std::nullopt;
}

// "float64:2"
ArrayType read_type(const std::string &text) {
  const size_t colon = std::min(text.find(':'), text.size());
  const std::optional<DLDataType> dtype = dtype_named(std::string_view(text).substr(0, colon));
  int32_t rank = -1;
  const char *begin = text.data() + colon + 1, *end = text.data() + text.size();
  const bool number = begin < end && std::from_chars(begin, end, rank).ptr == end;
  if (!dtype || !number || rank < 0 || rank > 1000)
    malformed("\"" + text + "\" is no element type and rank");
  return {*dtype, rank};
}

std::vector<ArrayType> read_types(const Json &value, std::string_view key) {
  std::vector<ArrayType> types;
  for (const std::string &text : read_paths(value, key)) types.push_back(read_type(text));
  return types;
}

std::vector<std::vector<bool>> read_batch(const Json &value) {
  std::vector<std::vector<bool>> batch;
  for (const Json &level : list_in(value, "batch")) {
    std::vector<bool> &flags = batch.emplace_back();
    for (const Json &flag : list_in(level, "batch")) {
      if (flag != 0 && flag != 1) malformed("'batch' holds more than 0 and 1");
      flags.push_back(flag == 1);
    }
  }
  return batch;
}

size_t seeds_of(const Spec &spec, int32_t endpoint) {
  switch (endpoint) {
    case TESSERACT_ENDPOINT_JVP:
      return spec.wrt.size();
    case TESSERACT_ENDPOINT_VJP:
      return spec.of.size();
    default:
      return 0;
  }
}

size_t results_of(const Spec &spec, int32_t endpoint) {
  switch (endpoint) {
    case TESSERACT_ENDPOINT_VJP:
      return spec.wrt.size();
    case TESSERACT_ENDPOINT_JACOBIAN:
      return spec.of.size() * spec.wrt.size();
    default:
      return spec.of.size();
  }
}

void expect_count(const char *what, size_t found, size_t wanted) {
  if (found != wanted)
    malformed("it has " + std::to_string(found) + " " + what + " where there must be " +
              std::to_string(wanted));
}

void check_counts(const Spec &spec, int32_t endpoint) {
  const size_t operands = spec.inputs.size() + seeds_of(spec, endpoint);
  expect_count("operands", spec.operands.size(), operands);
  expect_count("results", spec.results.size(), results_of(spec, endpoint));
  for (const std::vector<bool> &level : spec.batch)
    expect_count("flags in a level of 'batch'", level.size(), operands);
  if (endpoint == TESSERACT_ENDPOINT_APPLY && !spec.wrt.empty()) malformed("an apply has no 'wrt'");
}

}  // namespace

int32_t Spec::levels_of(size_t operand) const {
  int32_t count = 0;
  for (const std::vector<bool> &level : batch) count += level[operand] ? 1 : 0;
  return count;
}

int32_t endpoint_named(std::string_view name) {
  if (name == "apply") return TESSERACT_ENDPOINT_APPLY;
  if (name == "jvp") return TESSERACT_ENDPOINT_JVP;
  if (name == "vjp") return TESSERACT_ENDPOINT_VJP;
  if (name == "jacobian") return TESSERACT_ENDPOINT_JACOBIAN;
  throw Failure(TESSERACT_ERROR_INVALID_ARGUMENT,
                "tesseract-host: a call's endpoint is \"" + std::string(name) +
                    "\", which is none of apply, jvp, vjp and jacobian");
}

Spec read_spec(std::string_view text, int32_t endpoint) {
  const std::optional<Json> json = parse_json(text);
  if (!json || !json->is_object()) malformed("it is no JSON object");
  Spec spec;
  spec.json = "{}";
  for (const auto &[key, raw] : members_of(text)) {
    const auto found = json->find(std::string(key));
    if (found == json->end()) malformed("keys must be plain");
    const Json &value = *found;
    if (key == "inputs") {
      spec.inputs = read_paths(value, key);
    } else if (key == "json") {
      if (!value.is_object()) malformed("'json' is no object");
      spec.json = raw;
    } else if (key == "of") {
      spec.of = read_paths(value, key);
    } else if (key == "wrt") {
      spec.wrt = read_paths(value, key);
    } else if (key == "operands") {
      spec.operands = read_types(value, key);
    } else if (key == "results") {
      spec.results = read_types(value, key);
    } else if (key == "batch") {
      spec.batch = read_batch(value);
    } else if (key == "expect") {
      if (!value.is_object()) malformed("'expect' is no object");
      spec.expect = value;
    } else if (key == "staged") {
      if (!value.is_boolean()) malformed("'staged' is neither true nor false");
      spec.staged = value.get<bool>();
    } else {
      malformed("this version does not know '" + std::string(key) + "'");
    }
  }
  check_counts(spec, endpoint);
  return spec;
}

std::string name_of(DLDataType dtype) {
  for (const tesseract_jax_dtype &known : tesseract_jax_dtypes)
    if (known.name && known.code == dtype.code && known.bits == dtype.bits && dtype.lanes == 1)
      return known.name;
  return "dtype(code " + std::to_string(dtype.code) + ", " + std::to_string(dtype.bits) + " bits)";
}

}  // namespace tesseract::jax
