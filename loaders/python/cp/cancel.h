// Asking from Python whether the call that runs on this thread should stop.
#pragma once

#include <tesseract_host/plugin.h>

namespace tesseract::python {

// This thread's.  Of the little room that libraries opened later have beside the program's own.
extern constinit thread_local const tesseract_frame *running_call
    [[gnu::tls_model("initial-exec")]];

// Makes the frame this thread's running call for the object's lifetime; calls may nest.
class RunningCall {
 public:
  explicit RunningCall(const tesseract_frame *frame) : around_(running_call) {
    running_call = frame;
  }
  ~RunningCall() { running_call = around_; }
  RunningCall(const RunningCall &) = delete;
  RunningCall &operator=(const RunningCall &) = delete;

 private:
  const tesseract_frame *around_;
};

// Has tesseract_host.runtime.check_cancelled() ask the running call's frame.  A thread without one
// is never asked to stop.  GIL held; throws PythonError.
void install_cancel_hook();

}  // namespace tesseract::python
