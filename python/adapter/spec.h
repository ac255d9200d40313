// The spec of a call: what is fixed when a program is compiled, as JSON in the program's text.
#pragma once

#include <dlpack/dlpack.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json.h"

namespace tesseract::jax {

// Element type and rank of an array, without batch axes.
struct ArrayType {
  DLDataType dtype;
  int32_t rank;
};

struct Spec {
  std::vector<std::string> inputs;  // paths of the arrays given
  std::string json;                 // all other inputs, an object
  std::vector<std::string> of, wrt;
  std::vector<ArrayType> operands;  // inputs, then seeds
  std::vector<ArrayType> results;
  std::vector<std::vector<bool>> batch;  // [level][operand], the outermost first
  std::optional<Json> expect;            // outputs that are no arrays
  bool staged = false;                   // TESSERACT_STAGED

  // How many batch axes an operand has.
  int32_t levels_of(size_t operand) const;
  int32_t levels() const { return static_cast<int32_t>(batch.size()); }
};

// TESSERACT_ENDPOINT_…; throws Failure.
int32_t endpoint_named(std::string_view name);

// Throws Failure (invalid argument).
Spec read_spec(std::string_view text, int32_t endpoint);

// "float64"
std::string name_of(DLDataType dtype);

}  // namespace tesseract::jax
