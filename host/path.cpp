#include "path.h"

#include <algorithm>
#include <charconv>

#include "error.h"
#include "text.h"

namespace host {
namespace {

[[noreturn]] void malformed(std::string_view text, const char *why) {
  throw Failure(TESSERACT_ERROR_SCHEMA, "malformed path " + quote(text) + ": " + why, text);
}

// Reads "[0]" or "[]" at `at` and moves behind it.
Segment read_index(std::string_view text, size_t &at) {
  const size_t close = text.find(']', at);
  if (close == std::string_view::npos) malformed(text, "\"[\" without \"]\"");
  const std::string_view digits = text.substr(at + 1, close - at - 1);
  at = close + 1;
  if (digits.empty()) return {Segment::Kind::any_index, {}, 0};
  uint64_t index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (error != std::errc{} || end != digits.data() + digits.size() ||
      (digits.size() > 1 && digits[0] == '0'))
    malformed(text, "an index is decimal digits without leading zeros");
  return {Segment::Kind::index, {}, index};
}

// Reads "{key}" or "{}" at `at` and moves behind it.
Segment read_key(std::string_view text, size_t &at) {
  std::string key;
  for (size_t i = at + 1; i < text.size(); i++) {
    if (text[i] == '}') {
      const bool pattern = i == at + 1;
      at = i + 1;
      return {pattern ? Segment::Kind::any_key : Segment::Kind::key, std::move(key), 0};
    }
    if (text[i] == '\\' && i + 1 < text.size()) i++;
    key += text[i];
  }
  malformed(text, "\"{\" without \"}\"");
}

Segment read_name(std::string_view text, size_t &at) {
  const size_t begin = at;
  while (at < text.size() && text[at] != '.') {
    if (text[at] == '[' || text[at] == '{') malformed(text, "a dot is missing before a bracket");
    at++;
  }
  if (at == begin) malformed(text, "an empty name");
  return {Segment::Kind::name, std::string(text.substr(begin, at - begin)), 0};
}

}  // namespace

Path parse_path(std::string_view text) {
  Path path;
  if (!valid_utf8(text)) malformed(text, "it is not UTF-8");
  for (size_t at = 0; at < text.size();) {
    path.push_back(text[at] == '['   ? read_index(text, at)
                   : text[at] == '{' ? read_key(text, at)
                                     : read_name(text, at));
    if (at == text.size()) break;
    if (text[at] != '.') malformed(text, "segments are separated by dots");
    if (++at == text.size()) malformed(text, "it ends with a dot");
  }
  return path;
}

std::string format_path(const Path &path) {
  std::string text;
  for (const Segment &segment : path) {
    if (!text.empty()) text += '.';
    switch (segment.kind) {
      case Segment::Kind::name:
        text += segment.text;
        break;
      case Segment::Kind::index:
        text += '[' + std::to_string(segment.index) + ']';
        break;
      case Segment::Kind::any_index:
        text += "[]";
        break;
      case Segment::Kind::any_key:
        text += "{}";
        break;
      case Segment::Kind::key:
        text += '{';
        for (const char c : segment.text) {
          if (c == '{' || c == '}' || c == '\\') text += '\\';
          text += c;
        }
        text += '}';
        break;
    }
  }
  return text;
}

bool is_pattern(const Path &path) {
  return std::any_of(path.begin(), path.end(), [](const Segment &segment) {
    return segment.kind == Segment::Kind::any_index || segment.kind == Segment::Kind::any_key;
  });
}

bool matches(const Path &pattern, const Path &path) {
  if (pattern.size() != path.size()) return false;
  for (size_t i = 0; i < path.size(); i++) {
    const Segment &wanted = pattern[i], &found = path[i];
    if (wanted.kind == Segment::Kind::any_index && found.kind == Segment::Kind::index) continue;
    if (wanted.kind == Segment::Kind::any_key && found.kind == Segment::Kind::key) continue;
    if (wanted.kind != found.kind || wanted.text != found.text || wanted.index != found.index)
      return false;
  }
  return true;
}

}  // namespace host
