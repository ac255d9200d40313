// Errors: inside the library an exception that says what was wrong, at the line a status and an
// object that adds where.
#pragma once

#include <tesseract_host/host.h>

#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

struct tesseract_error {
  int32_t status = TESSERACT_OK;
  std::string message;  // complete, for people
  std::string component;
  std::string endpoint;
  std::string path;
  std::string traceback;
  std::unique_ptr<tesseract_error> cause;
};

namespace host {

// What failed, thrown by code that is off the hot path.  `path` is the leaf at fault, or empty.
struct Failure {
  int32_t status;
  std::string message;
  std::string path;
  std::string traceback;
  std::unique_ptr<tesseract_error> cause;

  Failure(int32_t failed_status, std::string text, std::string_view leaf = {})
      : status(failed_status), message(std::move(text)), path(leaf) {}
};

// Where a call happens, for messages.
struct Place {
  std::string_view component;  // name, or empty
  std::string_view source;     // path, or empty
  std::string_view endpoint;   // "apply", or empty
};

// Makes the error object of a failure and returns the failure's status.  `error` may be null.  Out
// of memory yields an object that is never freed.
int32_t report(tesseract_error **error, const Place &place, Failure &failure) noexcept;
int32_t report_out_of_memory(tesseract_error **error) noexcept;
int32_t report_internal(tesseract_error **error, const Place &place, const char *text) noexcept;

// True when the caller's error argument is usable: null, or pointing to null.
inline bool fresh(tesseract_error *const *error) {
  return !error || !*error;
}

// Runs `body`, which returns a status or throws, as the body of a function of host.h: nothing
// leaves but a status and an error object.
template <typename Body>
int32_t guarded(tesseract_error **error, const Place &place, Body &&body) noexcept {
  if (!fresh(error)) return TESSERACT_ERROR_INVALID_ARGUMENT;
  try {
    return body();
  } catch (Failure &failure) {
    return report(error, place, failure);
  } catch (const std::bad_alloc &) {
    return report_out_of_memory(error);
  } catch (const std::exception &exception) {
    return report_internal(error, place, exception.what());
  } catch (...) {
    return report_internal(error, place, "an unknown exception");
  }
}

// Throws invalid argument when `pointer` is null.
inline void require(const void *pointer, const char *name) {
  if (!pointer)
    throw Failure(TESSERACT_ERROR_INVALID_ARGUMENT, std::string(name) + " must not be null");
}

// The name of a status, "schema mismatch".
const char *status_name(int32_t status);

}  // namespace host
