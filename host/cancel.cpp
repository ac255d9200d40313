#include "cancel.h"

#include <new>

int32_t tesseract_cancel_create(tesseract_cancel **cancel) {
  if (!cancel) return TESSERACT_ERROR_INVALID_ARGUMENT;
  auto *made = new (std::nothrow) tesseract_cancel;
  if (!made) return TESSERACT_ERROR_OUT_OF_MEMORY;
  *cancel = made;
  return TESSERACT_OK;
}

void tesseract_cancel_request(tesseract_cancel *cancel) {
  if (cancel) cancel->requested.store(true, std::memory_order_relaxed);
}

void tesseract_cancel_free(tesseract_cancel *cancel) {
  delete cancel;
}
