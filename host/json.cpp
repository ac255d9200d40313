#include "json.h"

#include <array>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "error.h"
#include "text.h"

namespace host {
namespace {

constexpr int deepest = 512;

// The word that JSON lacks, and the string that stands for it.  A text that holds U+0001 itself is
// refused, so that no string of a caller's can stand for a number.
struct Word {
  std::string_view bare, quoted, string;
  double value;
};
constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr std::array<Word, 3> words = {{
    {"NaN", "\"\\u0001NaN\"", "\001NaN", std::numeric_limits<double>::quiet_NaN()},
    {"Infinity", "\"\\u0001Infinity\"", "\001Infinity", infinite},
    {"-Infinity", "\"\\u0001-Infinity\"", "\001-Infinity", -infinite},
}};

[[noreturn]] void broken(std::string_view what, int32_t status, const std::string &why) {
  throw Failure(status, std::string(what) + " is not valid JSON: " + why);
}

// The end of the string literal that begins at `at`.
size_t string_end(std::string_view text, size_t at) {
  for (size_t i = at + 1; i < text.size(); i++) {
    if (text[i] == '\\')
      i++;
    else if (text[i] == '"')
      return i + 1;
  }
  return text.size();
}

// Copies `text` with the bare words quoted, and checks the depth, which parsers and destructors
// elsewhere may take out of the stack.
std::string quote_words(std::string_view text, std::string_view what, int32_t status) {
  std::string out;
  out.reserve(text.size());
  int depth = 0;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      const size_t end = string_end(text, at);
      out += text.substr(at, end - at);
      at = end;
      continue;
    }
    if (c == '[' || c == '{') {
      if (++depth > deepest)
        throw Failure(status, std::string(what) + " is nested deeper than " +
                                  std::to_string(deepest) + " levels");
    } else if (c == ']' || c == '}') {
      depth--;
    } else if (c == 'N' || c == 'I' || c == '-') {
      const Word *found = nullptr;
      for (const Word &word : words)
        if (text.substr(at, word.bare.size()) == word.bare) found = &word;
      if (found) {
        out += found->quoted;
        at += found->bare.size();
        continue;
      }
    }
    out += c;
    at++;
  }
  return out;
}

// True if a string of the text holds \u0001, and not a backslash followed by "u0001".
bool holds_escaped_control(std::string_view text) {
  constexpr std::string_view escape = "\\u0001";
  for (size_t at = text.find(escape); at != std::string_view::npos;
       at = text.find(escape, at + 1)) {
    size_t before = at;
    while (before > 0 && text[before - 1] == '\\') before--;
    if ((at - before) % 2 == 0) return true;
  }
  return false;
}

}  // namespace

Json parse_json(std::string_view text, std::string_view what, int32_t status) {
  if (text.find('\0') != std::string_view::npos) broken(what, status, "it holds a NUL character");
  if (holds_escaped_control(text))
    broken(what, status, "the control character U+0001 is not accepted");
  const std::string quoted_text = quote_words(text, what, status);
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  const auto watch = [&](int, Json::parse_event_t event, Json &parsed) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key &&
        !keys.back().insert(parsed.get_ref<const std::string &>()).second)
      broken(
          what, status,
          "the key " + quote(parsed.get_ref<const std::string &>()) + " stands twice in an object");
    return true;
  };
  try {
    return Json::parse(quoted_text, watch);
  } catch (const Json::exception &exception) {
    // "[json.exception.parse_error.101] parse error at line 1, column 5: …"
    const std::string why = exception.what();
    const size_t at = why.find("] ");
    broken(what, status, at == std::string::npos ? why : why.substr(at + 2));
  }
}

Json parse_json_object(std::string_view text, std::string_view what, int32_t status) {
  if (text.empty()) return Json::object();
  Json json = parse_json(text, what, status);
  if (!json.is_object())
    throw Failure(status, std::string(what) + " must be a JSON object, it is " + json_kind(json));
  return json;
}

std::string dump_json(const Json &json) {
  std::string text = json.dump();
  for (const Word &word : words) {
    for (size_t at = 0; (at = text.find(word.quoted, at)) != std::string::npos;)
      text.replace(at, word.quoted.size(), word.bare);
  }
  return text;
}

bool non_finite(const Json &json, double *value) {
  if (!json.is_string()) return false;
  for (const Word &word : words) {
    if (json.get_ref<const std::string &>() != word.string) continue;
    *value = word.value;
    return true;
  }
  return false;
}

const char *json_kind(const Json &json) {
  double value;
  if (non_finite(json, &value)) return "a number";
  switch (json.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::object:
      return "an object";
    case Json::value_t::array:
      return "an array";
    case Json::value_t::string:
      return "a string";
    case Json::value_t::boolean:
      return "a boolean";
    default:
      return "a number";
  }
}

}  // namespace host
