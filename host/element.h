// Reading and writing single elements of any named dtype through the widest type of their kind.
#pragma once

#include <dlpack/dlpack.h>

#include <complex>
#include <cstdint>

namespace host {

// An element on its way from one dtype to another.
struct Wide {
  enum class Kind : uint8_t { integer, natural, real, complex };
  Kind kind;
  int64_t integer = 0;         // signed integers
  uint64_t natural = 0;        // unsigned integers and bool
  std::complex<double> value;  // floats and complex
};

Wide read_element(const DLDataType &dtype, const void *from);

// Writes `wide` as `dtype`; false, with nothing written, if it does not fit: an integer out of
// range, a fraction into an integer, a finite number that would become infinite.
bool write_element(const DLDataType &dtype, void *to, const Wide &wide);

}  // namespace host
