// An error on its way to the C line.
#pragma once

#include <tesseract_host/loader.h>

#include <string>
#include <utility>

namespace tesseract::python {

// Thrown inside the bootstrap, turned into a status and a message where the C line is.
struct Failure {
  int32_t status;
  std::string message;
};

// Records the failure; returns its status.
inline int32_t report(tesseract_frame *frame, const Failure &failure) {
  return frame->host->error_set(frame, failure.status, nullptr, 0, failure.message.data(),
                                failure.message.size());
}

}  // namespace tesseract::python
