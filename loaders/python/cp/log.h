// The instance's log, as a Python function.
#pragma once

#include <tesseract_host/plugin.h>

#include <memory>
#include <shared_mutex>

#include "reference.h"

namespace tesseract::python {

// The way from Python to the host's log.  Python code may keep the function for longer than the
// instance lives; then it is silent.
class LogLink {
 public:
  LogLink(const tesseract_host_table *host, tesseract_log *log) : host_(host), log_(log) {}

  // [any], GIL not held: the host's callback may wait for a thread that needs it.
  void write(int32_t level, const char *text, uint64_t length);

  // Waits for lines on their way, GIL not held.
  void cut();

 private:
  std::shared_mutex mutex_;
  const tesseract_host_table *host_;
  tesseract_log *log_;
};

// A callable (level: int, text: str).  GIL held.  Throws PythonError.
Ref log_function(const std::shared_ptr<LogLink> &link);

}  // namespace tesseract::python
