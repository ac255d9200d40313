// Arrays inside JSON: numbers, nested lists, and encoded arrays (contract §3.4).
#pragma once

#include <optional>
#include <string_view>

#include "json.h"
#include "tensor.h"

namespace host {

// Decodes an array leaf of a document into memory of its own, compact row-major, of dtype `dtype`;
// null: of the dtype that the value has by itself.  Throws Failure (schema) naming `path`.
OwnedTensor decode_array(const Json &json, const std::optional<DLDataType> &dtype,
                         std::string_view path);

// The reverse: nested lists of numbers; NaN and infinities as bare words, complex as text "1+2j".
Json encode_array(const DLTensor &tensor);

}  // namespace host
