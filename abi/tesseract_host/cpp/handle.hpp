// tesseract_host/cpp/handle.hpp: owning C objects, and turning C errors into exceptions.
#ifndef TESSERACT_HOST_CPP_HANDLE_HPP
#define TESSERACT_HOST_CPP_HANDLE_HPP

#include <memory>
#include <string_view>

#include "../host.h"
#include "error.hpp"

namespace tesseract {

namespace detail {

template <auto function>
struct Free {
  template <class T>
  void operator()(T *object) const noexcept {
    function(object);
  }
};

template <class T, auto function>
using Handle = std::unique_ptr<T, Free<function>>;

inline std::string_view text(const char *data, std::uint64_t length) noexcept {
  return data == nullptr ? std::string_view{} : std::string_view{data, length};
}

inline tesseract_string c_string(std::string_view text) noexcept {
  return {text.data(), text.size()};
}

inline Error::Parts parts_of(const tesseract_error *error, std::int32_t status) {
  const auto detail = [error](std::int32_t which) {
    std::uint64_t length = 0;
    const char *data = tesseract_error_detail(error, which, &length);
    return std::string(text(data, length));
  };
  Error::Parts parts;
  parts.status = status;
  parts.message = tesseract_error_message(error, nullptr);
  if (parts.message.empty()) parts.message = "tesseract-host: status " + std::to_string(status);
  parts.path = detail(TESSERACT_DETAIL_PATH);
  parts.component = detail(TESSERACT_DETAIL_COMPONENT);
  parts.endpoint = detail(TESSERACT_DETAIL_ENDPOINT);
  parts.traceback = detail(TESSERACT_DETAIL_TRACEBACK);
  if (const auto *cause = tesseract_error_cause(error)) {
    parts.cause = std::make_shared<const Error>(parts_of(cause, tesseract_error_status(cause)));
  }
  return parts;
}

[[noreturn]] inline void throw_error(std::int32_t status, tesseract_error *error) {
  const Handle<tesseract_error, tesseract_error_free> owned(error);
  auto parts = parts_of(error, status);
  if (status == TESSERACT_ERROR_OUT_OF_DOMAIN) throw OutOfDomain(std::move(parts));
  throw Error(std::move(parts));
}

// Calls a C function, given as `function(&error)`, and throws what it fails with.
template <class Function>
void check(Function function) {
  tesseract_error *error = nullptr;
  const std::int32_t status = function(&error);
  if (status != TESSERACT_OK) [[unlikely]] {
    throw_error(status, error);
  }
}

}  // namespace detail

}  // namespace tesseract

#endif
