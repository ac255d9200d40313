// The log of the component whose call runs on this thread, for warnings that the module raises.
#pragma once

#include <utility>

#include "../cp/reference.h"

namespace tesseract::python::engine {

// Borrowed; null where no component's call runs.
extern constinit thread_local PyObject *thread_log [[gnu::tls_model("initial-exec")]];

// Puts another log (or None) in place; returns the one before, null where there was none.
inline PyObject *exchange_log(PyObject *log) {
  return std::exchange(thread_log, log);
}

// A log in place as long as this lives; it must outlive this.  GIL held at both ends.
class LogScope {
 public:
  explicit LogScope(PyObject *log) : before_(exchange_log(log)) {}
  ~LogScope() { exchange_log(before_); }
  LogScope(const LogScope &) = delete;
  LogScope &operator=(const LogScope &) = delete;

 private:
  PyObject *before_;
};

}  // namespace tesseract::python::engine
