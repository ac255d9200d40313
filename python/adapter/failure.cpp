#include "failure.h"

#include <cstdlib>
#include <cstring>

namespace tesseract::jax {

std::string text_of(const tesseract_error *error) {
  const auto detail = [error](int32_t which) {
    uint64_t length = 0;
    const char *text = tesseract_error_detail(error, which, &length);
    return std::string_view(text ? text : "", length);
  };
  uint64_t length = 0;
  const char *message = tesseract_error_message(error, &length);
  std::string text(message, length);
  const std::string_view path = detail(TESSERACT_DETAIL_PATH);
  if (!path.empty() && text.find(path) == std::string::npos)
    text.append(" (at ").append(path).append(")");
  const std::string_view traceback = detail(TESSERACT_DETAIL_TRACEBACK);
  if (!traceback.empty()) text.append("\n").append(traceback);
  return text.empty() ? "the call failed" : text;
}

char *copy_text(std::string_view text) noexcept {
  auto *copy = static_cast<char *>(std::malloc(text.size() + 1));
  if (!copy) return nullptr;
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

}  // namespace tesseract::jax
