// From nothing to a running Python with the loader in it, once per process.
#pragma once

#include <string>

#include "libpython.h"
#include "runtime.h"

namespace tesseract::python {

// The running loader, started at the first call; null after an error, whose status is in `status`
// and which is recorded in the frame.  `option` is the option "python", "" without: once Python
// runs, one that names another environment is an error.  [any].  Throws Failure.
const PythonRuntime *started_runtime(const std::string &option, tesseract_frame *frame,
                                     int32_t *status);

// The running loader, or null before it was started.  [any]
const PythonRuntime *running_runtime();

// The process's Python library, or an empty one.  [any]
const PythonLibrary &process_library();

}  // namespace tesseract::python
