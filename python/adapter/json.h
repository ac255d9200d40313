// JSON as Python writes it: NaN and Infinity may stand for numbers.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tesseract::jax {

using Json = nlohmann::json;

// Null if the text is no JSON, or nested too deeply.  NaN, Infinity and -Infinity become strings
// that begin with NUL.
std::optional<Json> parse_json(std::string_view text);

// The members of an object as they stand in the text, by key.  Of text that parse_json accepts; an
// object must be its outermost value.
struct Member {
  std::string_view key;  // without quotes; keys with escapes are returned with them
  std::string_view value;
};
std::vector<Member> members_of(std::string_view object);

// Where two values differ and how, or the empty text; integers equal the same floats.
std::string difference(const Json &expected, const Json &found);

}  // namespace tesseract::jax
