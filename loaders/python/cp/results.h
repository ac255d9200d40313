// What a plan returned, written where the caller wants it.
#pragma once

#include <tesseract_host/plugin.h>

#include "../engine/node.h"
#include "reference.h"
#include "transfers.h"

namespace tesseract::python {

// Writes (list of arrays or scalars by output position, JSON text[, list of (path, array)]) into
// the frame's outputs.  The third list has the outputs that no signature can name; it is used where
// the caller asked for everything.  None stands for an output that there is not.  Throws
// CallFailure, HostFailure or PythonError.
void write_results(PyObject *answer, tesseract_frame *frame, Transfers &transfers);

// True for an array that the leaf's check would pass on, but for a view that can't be written:
// compact, and of exactly the leaf's dtype and shape.
bool is_exactly(const engine::Leaf &leaf, PyObject *value);

// Writes an array that is exactly as a leaf of this dtype wants it; false, with nothing done, where
// the tensor does not take it as it lies.
bool wrote_exactly(PyObject *value, DLDataType dtype, const DLTensor &tensor);

// Writes one array or NumPy scalar into the frame's output at a position.  Throws as above.
// To be followed by `transfers.finish()`.
void write_result(PyObject *value, tesseract_frame *frame, uint64_t position, Transfers &transfers);

// True for a result whose memory the frame may take as it is: a large array of NumPy's, or any of
// another library's.
bool may_be_taken(PyObject *value);

// True where the frame has taken the memory of such a result, which only `value` refers to: then it
// may only be dropped.  Throws as above.
bool was_taken(Ref &value, DLDataType dtype, tesseract_frame *frame, uint64_t position,
               Transfers &transfers);

// Hands JSON text over.  Throws as above.
void write_json(PyObject *text, tesseract_frame *frame);

// The same for an abstract evaluation: (shape, dtype name) in place of arrays.  An entry None of a
// shape, or -1, is a length not known yet.
void write_shapes(PyObject *answer, tesseract_frame *frame, Transfers &transfers);

}  // namespace tesseract::python
