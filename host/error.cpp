#include "error.h"

#include "text.h"

namespace host {
namespace {

// Handed out when there is no memory for another; never freed.
tesseract_error *out_of_memory_error() {
  static tesseract_error *const error = [] {
    auto *made = new (std::nothrow) tesseract_error;
    if (made) {
      made->status = TESSERACT_ERROR_OUT_OF_MEMORY;
      made->message = "out of memory";
    }
    return made;
  }();
  return error;
}

// Made while there is memory.
[[maybe_unused]] tesseract_error *const made_early = out_of_memory_error();

std::string where(const Place &place) {
  std::string text(place.component);
  if (!place.source.empty() && place.source != place.component)
    text += text.empty() ? std::string(place.source) : " (" + std::string(place.source) + ")";
  if (!place.endpoint.empty()) text += (text.empty() ? "" : ": ") + std::string(place.endpoint);
  return text.empty() ? text : text + ": ";
}

}  // namespace

// An error's own, or that of the cause that has one.
static const std::string *traceback_of(const tesseract_error &error) {
  const tesseract_error *at = &error;
  while (at->traceback.empty() && at->cause) at = at->cause.get();
  return &at->traceback;
}

int32_t report(tesseract_error **error, const Place &place, Failure &failure) noexcept {
  if (!error) return failure.status;
  try {
    auto made = std::make_unique<tesseract_error>();
    made->status = failure.status;
    made->component = sanitized(place.component);
    made->endpoint = place.endpoint;
    made->path = sanitized(failure.path);
    made->traceback = sanitized(failure.traceback);
    made->message = sanitized(where(place) + failure.message);
    if (failure.cause) made->message += "; caused by: " + failure.cause->message;
    made->cause = std::move(failure.cause);
    *error = made.release();
    return failure.status;
  } catch (...) {
    return report_out_of_memory(error);
  }
}

int32_t report_out_of_memory(tesseract_error **error) noexcept {
  if (error) *error = out_of_memory_error();
  return TESSERACT_ERROR_OUT_OF_MEMORY;
}

int32_t report_internal(tesseract_error **error, const Place &place, const char *text) noexcept {
  try {
    Failure failure(TESSERACT_ERROR_INTERNAL, std::string("internal error: ") + text);
    return report(error, place, failure);
  } catch (...) {
    return report_out_of_memory(error);
  }
}

const char *status_name(int32_t status) {
  switch (status) {
    case TESSERACT_OK:
      return "ok";
    case TESSERACT_ERROR_INVALID_ARGUMENT:
      return "invalid argument";
    case TESSERACT_ERROR_SCHEMA:
      return "schema mismatch";
    case TESSERACT_ERROR_DEVICE:
      return "device mismatch";
    case TESSERACT_ERROR_UNSUPPORTED:
      return "unsupported";
    case TESSERACT_ERROR_NOT_FOUND:
      return "not found";
    case TESSERACT_ERROR_OUT_OF_DOMAIN:
      return "out of domain";
    case TESSERACT_ERROR_COMPONENT:
      return "component failed";
    case TESSERACT_ERROR_OUT_OF_MEMORY:
      return "out of memory";
    case TESSERACT_ERROR_CANCELLED:
      return "cancelled";
    case TESSERACT_ERROR_VERSION:
      return "version mismatch";
    case TESSERACT_ERROR_UNAVAILABLE:
      return "unavailable";
    case TESSERACT_ERROR_INTERNAL:
      return "internal error";
    default:
      return "unknown status";
  }
}

}  // namespace host

using host::give_text;

int32_t tesseract_error_status(const tesseract_error *error) {
  return error ? error->status : TESSERACT_OK;
}

const char *tesseract_error_message(const tesseract_error *error, uint64_t *length) {
  if (length) *length = 0;
  return error ? give_text(error->message, length) : "";
}

const char *tesseract_error_detail(const tesseract_error *error, int32_t detail, uint64_t *length) {
  if (length) *length = 0;
  if (!error) return nullptr;
  const std::string *text = nullptr;
  switch (detail) {
    case TESSERACT_DETAIL_COMPONENT:
      text = &error->component;
      break;
    case TESSERACT_DETAIL_ENDPOINT:
      text = &error->endpoint;
      break;
    case TESSERACT_DETAIL_PATH:
      text = &error->path;
      break;
    case TESSERACT_DETAIL_TRACEBACK:
      text = host::traceback_of(*error);
      break;
    default:
      break;
  }
  return text && !text->empty() ? give_text(*text, length) : nullptr;
}

const tesseract_error *tesseract_error_cause(const tesseract_error *error) {
  return error ? error->cause.get() : nullptr;
}

void tesseract_error_free(tesseract_error *error) {
  if (error != host::out_of_memory_error()) delete error;
}
