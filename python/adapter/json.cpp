#include "json.h"

#include <algorithm>

namespace tesseract::jax {
namespace {

constexpr int most_levels = 200;

// The position behind the string that begins at `at`.
size_t end_of_string(std::string_view text, size_t at) {
  for (at++; at < text.size() && text[at] != '"'; at++)
    if (text[at] == '\\') at++;
  return std::min(at + 1, text.size());
}

// The name of a number that JSON lacks which stands at `at`, or the empty text.
std::string_view non_finite_at(std::string_view text, size_t at) {
  for (const std::string_view name : {"NaN", "Infinity", "-Infinity"})
    if (text.substr(at, name.size()) == name) return name;
  return {};
}

// The text with those numbers as strings that begin with NUL.
std::string finite(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    size_t next = at + 1;
    const std::string_view name = non_finite_at(text, at);
    if (!name.empty()) {
      result.append("\"\\u0000").append(name).append("\"");
      at += name.size();
      continue;
    }
    if (text[at] == '"') next = end_of_string(text, at);
    result.append(text.substr(at, next - at));
    at = next;
  }
  return result;
}

bool too_deep(std::string_view text) {
  int levels = 0;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '[' || c == '{') levels++;
    if (c == ']' || c == '}') levels--;
    if (levels > most_levels) return true;
    at = c == '"' ? end_of_string(text, at) : at + 1;
  }
  return false;
}

std::string step_to(std::string_view path, const std::string &step) {
  return path.empty() ? step : std::string(path) + "." + step;
}

std::string shown(const Json &value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 80) text = text.substr(0, 77) + "...";
  return text;
}

std::string difference_at(std::string_view path, const Json &expected, const Json &found) {
  if (expected == found) return {};
  if (expected.is_object() && found.is_object()) {
    for (const auto &[key, value] : expected.items()) {
      const auto at = found.find(key);
      if (at == found.end()) return "'" + step_to(path, key) + "' is missing";
      std::string text = difference_at(step_to(path, key), value, *at);
      if (!text.empty()) return text;
    }
    for (const auto &[key, value] : found.items())
      if (!expected.contains(key)) return "'" + step_to(path, key) + "' was not expected";
  }
  if (expected.is_array() && found.is_array() && expected.size() == found.size()) {
    for (size_t i = 0; i < expected.size(); i++) {
      std::string text =
          difference_at(step_to(path, "[" + std::to_string(i) + "]"), expected[i], found[i]);
      if (!text.empty()) return text;
    }
  }
  return "'" + std::string(path) + "' is " + shown(found) + ", expected was " + shown(expected);
}

}  // namespace

std::optional<Json> parse_json(std::string_view text) {
  if (too_deep(text)) return std::nullopt;
  Json json = Json::parse(finite(text), nullptr, false);
  if (json.is_discarded()) return std::nullopt;
  return json;
}

std::vector<Member> members_of(std::string_view object) {
  std::vector<Member> members;
  const auto skip = [&](size_t at) {
    while (at < object.size() &&
           std::string_view(" \t\n\r,:{").find(object[at]) != std::string::npos)
      at++;
    return at;
  };
  size_t at = skip(0);
  while (at < object.size() && object[at] == '"') {
    const size_t key_end = end_of_string(object, at);
    const std::string_view key = object.substr(at + 1, key_end - at - 2);
    size_t begin = key_end;
    while (begin < object.size() && object[begin] != ':') begin++;
    begin++;
    int levels = 0;
    size_t end = begin;
    while (end < object.size()) {
      const char c = object[end];
      if (levels == 0 && (c == ',' || c == '}')) break;
      if (c == '[' || c == '{') levels++;
      if (c == ']' || c == '}') levels--;
      end = c == '"' ? end_of_string(object, end) : end + 1;
    }
    members.push_back({key, object.substr(begin, end - begin)});
    at = skip(end);
  }
  return members;
}

std::string difference(const Json &expected, const Json &found) {
  return difference_at("", expected, found);
}

}  // namespace tesseract::jax
