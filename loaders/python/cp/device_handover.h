// Device memory of a result that nobody else knows, handed over without a copy; see handover.h for
// arrays on the host.
#pragma once

#include <tesseract_host/plugin.h>

#include "reference.h"

namespace tesseract::python {

// Looks the host's extension up.  Before all else here.
void find_memory_adoption(const tesseract_host_table *host);

// True for a device array that only one place refers to, whose memory nothing else can reach, and
// that frees it only when the device is done with it: arrays that Numba or the host has allocated.
// CuPy's, torch's and JAX's allocators use memory again in the order of streams of theirs, which
// nobody who is given the memory knows.
bool may_be_handed_over(PyObject *value);

// Hands the memory to the frame where that takes it, with a reference to the value; false, with
// nothing done, where it doesn't.  The tensor describes it, compact.
bool hand_over_memory(PyObject *value, const DLTensor &tensor, tesseract_frame *frame,
                      uint64_t position);

}  // namespace tesseract::python
