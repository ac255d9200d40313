// Strings as they cross the line: a pointer and a length, or up to the NUL.
#pragma once

#include <tesseract_host/types.h>

#include <string>
#include <string_view>

namespace host {

// The text of a null pointer or of an impossible length; throws Failure (invalid argument) unless
// it is the empty text.
std::string_view read_odd_text(const char *data, uint64_t length, std::string_view what);

// The text behind a pointer and a length; empty for null with length 0.  Throws Failure
// (invalid argument) for null with another length; `what` names the argument.
inline std::string_view read_text(const char *data, uint64_t length, std::string_view what) {
  if (data && length <= PTRDIFF_MAX) [[likely]]
    return {data, length};
  if (data && length == TESSERACT_NTS) return data;
  return read_odd_text(data, length, what);
}

inline std::string_view read_text(const tesseract_string &text, std::string_view what) {
  return read_text(text.data, text.length, what);
}

// The same, lenient: what a component hands over may be null with any length.
std::string_view offered_text(const char *data, uint64_t length);

// `text` in quotes for a message: control characters and broken UTF-8 replaced, long text cut.
std::string quote(std::string_view text);

// `text` with broken UTF-8 replaced by U+FFFD and NUL by a space, so that it can be handed out.
std::string sanitized(std::string_view text);

bool valid_utf8(std::string_view text);

// Sets *length, where wanted, and returns the characters, which end with a NUL.
inline const char *give_text(const std::string &text, uint64_t *length) {
  if (length) *length = text.size();
  return text.c_str();
}

}  // namespace host
