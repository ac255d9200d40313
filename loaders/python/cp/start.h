// Beginning with Python: a new interpreter, or the process's running one.
#pragma once

#include "../runtime.h"

namespace tesseract::python {

// PythonRuntime's members of these names.
int32_t start(const PythonStart *request, tesseract_frame *frame);
const char *prefix();
const char *executable();
int32_t shutdown(double seconds, tesseract_frame *frame);

}  // namespace tesseract::python
