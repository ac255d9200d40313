// Arrays that a module made and nobody else knows, handed over as results without a copy.
#pragma once

#include <tesseract_host/plugin.h>

#include "reference.h"

namespace tesseract::python {

// Looks the host's extension up.  Before all else here.
void find_adoption(const tesseract_host_table *host);

// True for an array that is large enough that a copy costs more than finding out.
bool is_worth_handing_over(PyObject *value);

// Gives the array's memory to the frame's output at a position.  True if the host took it: then the
// array, which only `value` refers to, may only be dropped.  False, with nothing done, where
// anything else refers to it or its memory, where NumPy's own allocator did not make it, where the
// dtype isn't settled (no lanes), and where the caller gave a destination.
bool hand_over(const Ref &value, DLDataType dtype, tesseract_frame *frame, uint64_t position);

}  // namespace tesseract::python
