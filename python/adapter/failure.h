// What went wrong, thrown off the hot path and told at the C functions.
#pragma once

#include <tesseract_host/host.h>

#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace tesseract::jax {

struct Failure {
  int32_t status;
  std::string message;

  Failure(int32_t failed_status, std::string text)
      : status(failed_status), message(std::move(text)) {}
};

struct Free {
  void operator()(tesseract_call *call) const { tesseract_call_free(call); }
  void operator()(tesseract_result *result) const { tesseract_result_free(result); }
  void operator()(tesseract_error *error) const { tesseract_error_free(error); }
};
using Call = std::unique_ptr<tesseract_call, Free>;
using Result = std::unique_ptr<tesseract_result, Free>;
using Error = std::unique_ptr<tesseract_error, Free>;

inline std::string_view view(tesseract_string string) {
  return {string.data, string.length};
}

inline tesseract_string view(std::string_view text) {
  return {text.data(), text.size()};
}

// All that an error of the host's says: its message, the leaf where that isn't in it, and the
// traceback.
std::string text_of(const tesseract_error *error);

// A copy for tesseract_jax_free, or null where there is no memory.
char *copy_text(std::string_view text) noexcept;

// Runs `body`, which returns a status or throws, as the body of a C function: nothing leaves but a
// status and a text.  `message` may be null.
template <typename Body>
int32_t guarded(char **message, Body &&body) noexcept {
  const auto tell = [message](std::string_view text) {
    if (message) *message = copy_text(text);
  };
  try {
    return body();
  } catch (const Failure &failure) {
    tell(failure.message);
    return failure.status;
  } catch (const std::bad_alloc &) {
    return TESSERACT_ERROR_OUT_OF_MEMORY;
  } catch (const std::exception &exception) {
    tell(exception.what());
    return TESSERACT_ERROR_INTERNAL;
  }
}

}  // namespace tesseract::jax
