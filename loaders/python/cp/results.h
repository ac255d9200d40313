// What a plan returned, written where the caller wants it.
#pragma once

#include <tesseract_host/plugin.h>

#include "reference.h"

namespace tesseract::python {

// Writes the pair (list of arrays or scalars by output position, JSON text) into the frame's
// outputs.  Throws CallFailure, HostFailure or PythonError.
void write_results(PyObject *answer, tesseract_frame *frame);

// The same for an abstract evaluation: (list of (shape, dtype name), JSON text).  An entry None of
// a shape, or -1, is a length not known yet.
void write_shapes(PyObject *answer, tesseract_frame *frame);

}  // namespace tesseract::python
