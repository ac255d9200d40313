#include "array_json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "dtype.h"
#include "element.h"
#include "error.h"
#include "text.h"

namespace host {
namespace {

constexpr int32_t most_axes = 64;

[[noreturn]] void fail(std::string_view path, const std::string &why) {
  throw Failure(TESSERACT_ERROR_SCHEMA, "leaf " + quote(path) + ": " + why, path);
}

// The shape of nested lists, taken from their first elements.
std::vector<int64_t> nested_shape(const Json &json, std::string_view path) {
  std::vector<int64_t> shape;
  for (const Json *level = &json; level->is_array(); level = &level->front()) {
    if (shape.size() == most_axes) fail(path, "more than 64 axes");
    shape.push_back(static_cast<int64_t>(level->size()));
    if (level->empty()) break;
  }
  return shape;
}

// Text that stands for a number: "NaN", "inf", and complex "1+2j".
std::optional<Wide> parse_text(const std::string &text) {
  double value = 0;
  if (non_finite(Json(text), &value)) return Wide{Wide::Kind::real, 0, 0, value};
  if (text.empty() || text.size() > 80 || std::isspace(static_cast<unsigned char>(text[0])))
    return std::nullopt;
  char *end = nullptr;
  const double first = std::strtod(text.c_str(), &end);
  if (end == text.c_str()) return std::nullopt;
  if (*end == '\0' && !std::isfinite(first)) return Wide{Wide::Kind::real, 0, 0, first};
  if (*end == 'j' && end[1] == '\0') return Wide{Wide::Kind::complex, 0, 0, {0, first}};
  if (*end != '+' && *end != '-') return std::nullopt;
  char *last = nullptr;
  const double second = std::strtod(end, &last);
  if (last == end || *last != 'j' || last[1] != '\0') return std::nullopt;
  return Wide{Wide::Kind::complex, 0, 0, {first, second}};
}

std::optional<Wide> scalar(const Json &json) {
  switch (json.type()) {
    case Json::value_t::boolean:
      return Wide{Wide::Kind::natural, 0, json.get<bool>() ? 1u : 0u, {}};
    case Json::value_t::number_integer:
      return Wide{Wide::Kind::integer, json.get<int64_t>(), 0, {}};
    case Json::value_t::number_unsigned:
      return Wide{Wide::Kind::natural, 0, json.get<uint64_t>(), {}};
    case Json::value_t::number_float:
      return Wide{Wide::Kind::real, 0, 0, json.get<double>()};
    case Json::value_t::null:
      return Wide{Wide::Kind::real, 0, 0, std::numeric_limits<double>::quiet_NaN()};
    case Json::value_t::string:
      return parse_text(json.get_ref<const std::string &>());
    default:
      return std::nullopt;
  }
}

// What NumPy makes of it: the widest of bool, int64, float64 and complex128 that occurs.
DLDataType natural_dtype(const Json &json, int depth = 0) {
  if (json.is_array() && depth < most_axes) {
    int widest = -1;
    constexpr std::array<const char *, 4> names = {"bool", "int64", "float64", "complex128"};
    for (const Json &element : json) {
      const std::string name = dtype_name(natural_dtype(element, depth + 1));
      for (int i = 0; i < 4; i++)
        if (name == names[static_cast<size_t>(i)]) widest = std::max(widest, i);
    }
    return *dtype_named(names[static_cast<size_t>(widest < 0 ? 2 : widest)]);
  }
  if (json.is_boolean()) return *dtype_named("bool");
  if (json.is_number_integer()) return *dtype_named("int64");
  const std::optional<Wide> wide = scalar(json);
  return *dtype_named(wide && wide->kind == Wide::Kind::complex ? "complex128" : "float64");
}

struct Filler {
  const DLTensor &tensor;
  std::string_view path;
  char *next;
  uint64_t item;

  void put(const Json &json) {
    const std::optional<Wide> wide = scalar(json);
    if (!wide)
      fail(path, std::string("expected a number, found ") + json_kind(json) +
                     (json.is_string() ? " " + quote(json.get_ref<const std::string &>()) : ""));
    if (!write_element(tensor.dtype, next, *wide))
      fail(path, "the value " + dump_json(json) + " does not fit " + dtype_name(tensor.dtype));
    next += item;
  }

  void fill(const Json &json, int32_t axis) {
    if (axis == tensor.ndim) return put(json);
    if (!json.is_array() || static_cast<int64_t>(json.size()) != tensor.shape[axis])
      fail(path, "the nested lists are ragged");
    for (const Json &element : json) fill(element, axis + 1);
  }
};

OwnedTensor decode_nested(const Json &json, const DLDataType &dtype, std::string_view path) {
  const std::vector<int64_t> shape = nested_shape(json, path);
  OwnedTensor made = make_tensor(dtype, static_cast<int32_t>(shape.size()), shape.data());
  Filler filler{made->dl_tensor, path, static_cast<char *>(made->dl_tensor.data),
                dtype_size(dtype)};
  filler.fill(json, 0);
  return made;
}

std::string decode_base64(const std::string &text, std::string_view path) {
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  if (text.size() % 4) fail(path, "the base64 text is cut off");
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  uint32_t group = 0;
  for (size_t i = 0; i < text.size(); i++) {
    const char c = text[i];
    int value = -1;
    if (c >= 'A' && c <= 'Z')
      value = c - 'A';
    else if (c >= 'a' && c <= 'z')
      value = c - 'a' + 26;
    else if (c >= '0' && c <= '9')
      value = c - '0' + 52;
    else if (c == '+')
      value = 62;
    else if (c == '/')
      value = 63;
    else if (i >= text.size() - padding)
      value = 0;
    if (value < 0) fail(path, "a character that is not base64");
    group = group << 6 | static_cast<uint32_t>(value);
    if (i % 4 == 3)
      for (int shift = 16; shift >= 0; shift -= 8)
        bytes += static_cast<char>(group >> shift & 0xFF);
  }
  bytes.resize(bytes.size() - padding);
  return bytes;
}

// A flat list of numbers fills any shape, as nested lists fill theirs.
OwnedTensor decode_json_buffer(const Json &buffer, const DLDataType &dtype,
                               const std::vector<int64_t> &shape, std::string_view path) {
  const auto ndim = static_cast<int32_t>(shape.size());
  uint64_t count = 0, bytes = 0;
  if (!count_bytes(ndim, shape.data(), dtype_size(dtype), &count, &bytes))
    fail(path, "its shape overflows");
  auto length = static_cast<int64_t>(count);
  const bool is_flat = buffer.is_array() && ndim != 1 && buffer.size() == count &&
                       (buffer.empty() || !buffer.front().is_array());
  // Before memory is taken: a short text may claim a large shape.
  if (!is_flat && count > 0 && nested_shape(buffer, path) != shape)
    fail(path, "the buffer does not have its shape");
  OwnedTensor made = make_tensor(dtype, ndim, shape.data());
  DLTensor flat = made->dl_tensor;
  if (is_flat) {
    flat.ndim = 1;
    flat.shape = &length;
  }
  Filler filler{flat, path, static_cast<char *>(flat.data), dtype_size(dtype)};
  filler.fill(buffer, 0);
  return made;
}

std::vector<int64_t> encoded_shape(const Json &json, std::string_view path) {
  std::vector<int64_t> shape;
  if (!json.is_array() || json.size() > most_axes)
    fail(path, "\"shape\" must be a list of lengths");
  for (const Json &length : json) {
    if (!length.is_number_unsigned() || length.get<uint64_t>() > INT64_MAX)
      fail(path, "\"shape\" must be a list of lengths");
    shape.push_back(length.get<int64_t>());
  }
  return shape;
}

void check_keys(const Json &json, std::initializer_list<const char *> known,
                std::string_view path) {
  for (const auto &[key, value] : json.items()) {
    bool found = false;
    for (const char *name : known) found = found || key == name;
    if (!found) fail(path, "an encoded array has no key " + quote(key));
  }
}

OwnedTensor convert(OwnedTensor from, const std::optional<DLDataType> &dtype,
                    std::string_view path) {
  if (!dtype || same_dtype(from->dl_tensor.dtype, *dtype)) return from;
  const DLTensor &source = from->dl_tensor;
  if (!dtype_castable(source.dtype, *dtype))
    fail(path, "expected " + dtype_name(*dtype) + ", found " + dtype_name(source.dtype));
  OwnedTensor made = make_tensor(*dtype, source.ndim, source.shape);
  int64_t misfit = 0;
  if (!copy_elements(source, made->dl_tensor, &misfit))
    fail(path, "element " + std::to_string(misfit) + " does not fit " + dtype_name(*dtype));
  return made;
}

OwnedTensor decode_encoded(const Json &json, const std::optional<DLDataType> &dtype,
                           std::string_view path) {
  check_keys(json, {"object_type", "shape", "dtype", "data"}, path);
  if (json.contains("object_type") && json["object_type"] != "array")
    fail(path, "\"object_type\" must be \"array\"");
  if (!json.contains("shape") || !json.contains("dtype") || !json.contains("data") ||
      !json["dtype"].is_string() || !json["data"].is_object())
    fail(path,
         "an array in JSON is a number, nested lists, or an object with \"shape\", "
         "\"dtype\" and \"data\"");
  const std::vector<int64_t> shape = encoded_shape(json["shape"], path);
  const auto own = dtype_named(json["dtype"].get_ref<const std::string &>());
  if (!own) fail(path, "unknown dtype " + quote(json["dtype"].get<std::string>()));
  const Json &data = json["data"];
  check_keys(data, {"buffer", "encoding", "compression"}, path);
  if (data.contains("compression") && !data["compression"].is_null())
    fail(path, "compressed arrays are not supported");
  const Json encoding = data.value("encoding", Json());
  if (!data.contains("buffer")) fail(path, "\"data\" has no \"buffer\"");
  if (encoding == "json")
    return convert(decode_json_buffer(data["buffer"], *own, shape, path), dtype, path);
  if (encoding != "base64" || !data["buffer"].is_string())
    fail(path, "\"encoding\" must be \"json\" or \"base64\"");
  const std::string bytes = decode_base64(data["buffer"].get_ref<const std::string &>(), path);
  uint64_t count = 0, wanted = 0;
  if (!count_bytes(static_cast<int32_t>(shape.size()), shape.data(), dtype_size(*own), &count,
                   &wanted) ||
      wanted != bytes.size())
    fail(path, "the buffer has " + std::to_string(bytes.size()) + " bytes, its shape does not");
  if (dtype_boolean(*own) &&
      std::any_of(bytes.begin(), bytes.end(), [](char byte) { return byte != 0 && byte != 1; }))
    fail(path, "a byte that is no bool");
  OwnedTensor made = make_tensor(*own, static_cast<int32_t>(shape.size()), shape.data());
  if (!bytes.empty()) std::memcpy(made->dl_tensor.data, bytes.data(), bytes.size());
  return convert(std::move(made), dtype, path);
}

Json number(const DLDataType &dtype, const void *at) {
  const auto real = [](double value) {
    if (std::isnan(value)) return Json("\001NaN");
    if (std::isinf(value)) return Json(value > 0 ? "\001Infinity" : "\001-Infinity");
    return Json(value);
  };
  const Wide wide = read_element(dtype, at);
  switch (wide.kind) {
    case Wide::Kind::integer:
      return wide.integer;
    case Wide::Kind::natural:
      return dtype_boolean(dtype) ? Json(wide.natural != 0) : Json(wide.natural);
    case Wide::Kind::real:
      return real(wide.value.real());
    default: {
      std::array<char, 80> text;
      std::snprintf(text.data(), text.size(), "%.17g%+.17gj", wide.value.real(), wide.value.imag());
      return text.data();
    }
  }
}

Json nested(const DLTensor &tensor, const std::vector<int64_t> &strides, int32_t axis,
            const char *at) {
  if (axis == tensor.ndim) return number(tensor.dtype, at);
  Json list = Json::array();
  const int64_t step =
      strides[static_cast<size_t>(axis)] * static_cast<int64_t>(dtype_size(tensor.dtype));
  for (int64_t i = 0; i < tensor.shape[axis]; i++)
    list.push_back(nested(tensor, strides, axis + 1, at + i * step));
  return list;
}

}  // namespace

OwnedTensor decode_array(const Json &json, const std::optional<DLDataType> &dtype,
                         std::string_view path) {
  if (json.is_object()) return decode_encoded(json, dtype, path);
  return decode_nested(json, dtype ? *dtype : natural_dtype(json), path);
}

Json encode_array(const DLTensor &tensor) {
  return nested(tensor, strides_of(tensor), 0, static_cast<const char *>(first_element(tensor)));
}

}  // namespace host
