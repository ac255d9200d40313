// Paths of leaves: "a.b", "xs.[0]", "params.{layer 0}", and the patterns "xs.[]", "params.{}".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace host {

struct Segment {
  enum class Kind { name, index, key, any_index, any_key };
  Kind kind;
  std::string text;    // of a name or key, unescaped
  uint64_t index = 0;  // of an index
};

using Path = std::vector<Segment>;

// True if a segment stands for any index or key.
bool is_pattern(const Path &path);

// Splits a path; throws Failure (schema) where it is malformed.  "" is the empty path, the root.
Path parse_path(std::string_view text);

// The reverse.
std::string format_path(const Path &path);

// True if the concrete `path` is an instance of `pattern`.
bool matches(const Path &pattern, const Path &path);

}  // namespace host
