// Element types: names, sizes, and which conversions are allowed (contract §3.2).
#pragma once

#include <dlpack/dlpack.h>

#include <optional>
#include <string>
#include <string_view>

namespace host {

inline bool same_dtype(const DLDataType &a, const DLDataType &b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

std::optional<DLDataType> dtype_named(std::string_view name);

// All names, for messages: "bool, int8, ...".
const std::string &dtype_names();

// "float64"; for what has no name here something readable, "dtype(code 7, 4 bits, 2 lanes)".
std::string dtype_name(const DLDataType &dtype);

// Bytes of an element; 0 for what the host can't address (parts of bytes, lanes, unknown codes).
uint32_t dtype_size(const DLDataType &dtype);

// True if arrays of `from` may be converted to `to`: within a kind (any integer to any integer, any
// float to any float), or to a wider one, bool to integer to float to complex.
bool dtype_castable(const DLDataType &from, const DLDataType &to);

bool dtype_floating(const DLDataType &dtype);  // bfloat16 included, complex not
bool dtype_complex(const DLDataType &dtype);
bool dtype_boolean(const DLDataType &dtype);

}  // namespace host
