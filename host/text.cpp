#include "text.h"

#include "error.h"

namespace host {
namespace {

constexpr size_t longest_quote = 120;

// The number of bytes of the UTF-8 sequence at `at`, 0 where it is broken.
size_t sequence_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(at);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || at + length > text.size()) return 0;
  for (size_t i = 1; i < length; i++)
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  const unsigned second = byte(at + 1);
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F)) return 0;
  if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) return 0;
  return length;
}

}  // namespace

std::string_view read_odd_text(const char *data, uint64_t length, std::string_view what) {
  if (!data && length == 0) return {};
  throw Failure(TESSERACT_ERROR_INVALID_ARGUMENT,
                std::string(what) + (data ? " has an impossible length" : " is null"));
}

std::string_view offered_text(const char *data, uint64_t length) {
  if (!data) return {};
  if (length == TESSERACT_NTS) return data;
  return {data, length > PTRDIFF_MAX ? 0 : static_cast<size_t>(length)};
}

bool valid_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = sequence_length(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string sanitized(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t length = sequence_length(text, at);
    if (length == 0) {
      clean += "\xEF\xBF\xBD";
      at++;
    } else if (text[at] == '\0') {
      clean += ' ';
      at++;
    } else {
      clean += text.substr(at, length);
      at += length;
    }
  }
  return clean;
}

std::string quote(std::string_view text) {
  const bool cut = text.size() > longest_quote;
  std::string clean = sanitized(cut ? text.substr(0, longest_quote) : text);
  for (char &c : clean)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  return "\"" + clean + (cut ? "…\"" : "\"");
}

}  // namespace host
