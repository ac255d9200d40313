// JSON as the ABI takes it: UTF-8, integers exact to 64 bits, NaN and Infinity accepted, bounded
// depth.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace host {

using Json = nlohmann::json;

// Parses one JSON text; `what` names it in the Failure (`status`) that broken or deep text throws.
// NaN, Infinity and -Infinity become the strings that non_finite() knows.
Json parse_json(std::string_view text, std::string_view what, int32_t status);

// The same, and it must be an object; the empty text is the empty object.
Json parse_json_object(std::string_view text, std::string_view what, int32_t status);

// The reverse of parse_json, on one line.
std::string dump_json(const Json &json);

// True if `json` stands for NaN, Infinity or -Infinity written without quotes; the value in *value.
bool non_finite(const Json &json, double *value);

// "a string", "an object", for messages.
const char *json_kind(const Json &json);

}  // namespace host
