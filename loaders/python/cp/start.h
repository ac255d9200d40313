// Beginning with Python: a new interpreter, or the process's running one.
#pragma once

#include "../runtime.h"

namespace tesseract::python {

// PythonRuntime's members of these names.
int32_t start(const PythonStart *request, tesseract_frame *frame);
const char *prefix();
const char *executable();

// Gives memory that importing NumPy, pydantic and the first module left free back to the system:
// some 0.8 MiB, in a tenth of a millisecond.  Once, since the heap is the program's too, and never
// in a process that ran Python before.
void trim_memory();
int32_t shutdown(double seconds, tesseract_frame *frame);

}  // namespace tesseract::python
