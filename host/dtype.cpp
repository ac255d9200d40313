#include "dtype.h"

namespace host {
namespace {

struct Named {
  const char *name;
  DLDataType dtype;
};

constexpr Named known_dtypes[] = {
    {"float16", {kDLFloat, 16, 1}},
    {"bfloat16", {kDLBfloat, 16, 1}},
    {"float32", {kDLFloat, 32, 1}},
    {"float64", {kDLFloat, 64, 1}},
    {"int8", {kDLInt, 8, 1}},
    {"int16", {kDLInt, 16, 1}},
    {"int32", {kDLInt, 32, 1}},
    {"int64", {kDLInt, 64, 1}},
    {"uint8", {kDLUInt, 8, 1}},
    {"uint16", {kDLUInt, 16, 1}},
    {"uint32", {kDLUInt, 32, 1}},
    {"uint64", {kDLUInt, 64, 1}},
    {"bool", {kDLBool, 8, 1}},
    {"complex64", {kDLComplex, 64, 1}},
    {"complex128", {kDLComplex, 128, 1}},
    {"float8_e4m3fn", {kDLFloat8_e4m3fn, 8, 1}},
    {"float8_e5m2", {kDLFloat8_e5m2, 8, 1}},
};

int kind(const DLDataType &dtype) {
  switch (dtype.code) {
    case kDLBool:
      return 0;
    case kDLUInt:
    case kDLInt:
      return 1;
    case kDLFloat:
    case kDLBfloat:
    case kDLFloat8_e4m3fn:
    case kDLFloat8_e5m2:
      return 2;
    case kDLComplex:
      return 3;
    default:
      return -1;
  }
}

}  // namespace

std::optional<DLDataType> dtype_named(std::string_view name) {
  for (const Named &named : known_dtypes)
    if (name == named.name) return named.dtype;
  return std::nullopt;
}

const std::string &dtype_names() {
  static const std::string &list = *new std::string([] {
    std::string text;
    for (const Named &named : known_dtypes)
      text += (text.empty() ? "" : ", ") + std::string(named.name);
    return text;
  }());
  return list;
}

std::string dtype_name(const DLDataType &dtype) {
  for (const Named &named : known_dtypes)
    if (same_dtype(dtype, named.dtype)) return named.name;
  return "dtype(code " + std::to_string(dtype.code) + ", " + std::to_string(dtype.bits) +
         " bits, " + std::to_string(dtype.lanes) + " lanes)";
}

uint32_t dtype_size(const DLDataType &dtype) {
  for (const Named &named : known_dtypes)
    if (same_dtype(dtype, named.dtype)) return dtype.bits / 8u;
  return 0;
}

bool dtype_castable(const DLDataType &from, const DLDataType &to) {
  if (same_dtype(from, to)) return true;
  const int source = kind(from), target = kind(to);
  return source >= 0 && target >= 0 && source <= target;
}

bool dtype_floating(const DLDataType &dtype) {
  return kind(dtype) == 2;
}
bool dtype_complex(const DLDataType &dtype) {
  return kind(dtype) == 3;
}
bool dtype_boolean(const DLDataType &dtype) {
  return kind(dtype) == 0;
}

}  // namespace host
