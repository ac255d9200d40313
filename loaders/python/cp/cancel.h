// The call that runs on this thread, as Python code asks for it: whether it should stop, and where
// warnings go.
#pragma once

#include <tesseract_host/plugin.h>

#include "python.h"

namespace tesseract::python {

// Makes the frame this thread's running call for the object's lifetime; calls may nest.
class RunningCall {
 public:
  // `log` is the component's log function or null, borrowed.
  explicit RunningCall(const tesseract_frame *frame, PyObject *log = nullptr);
  ~RunningCall();
  RunningCall(const RunningCall &) = delete;
  RunningCall &operator=(const RunningCall &) = delete;

 private:
  friend struct Hooks;

  const tesseract_frame *frame_;
  PyObject *log_;
  const RunningCall *around_;
  long depth_;
};

// Has tesseract_host.runtime.check_cancelled() ask the running call's frame, and warnings go to its
// log.  A thread without one is never asked to stop.  GIL held; throws PythonError.
void install_hooks();

}  // namespace tesseract::python
