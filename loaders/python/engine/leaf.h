// The tiers of an array leaf's check that need no Python.
#pragma once

#include "node.h"

namespace tesseract::python::engine {

// Both return null for what they leave to the slow function, with no exception set.

// Of exactly the leaf's dtype and shape: a read-only view, or the object where it is read-only
// already; rank 0 as NumPy scalar.  Runs no user code.
Ref fitting(const Leaf &leaf, PyObject *value);

// True for an array, of exactly NumPy's type, of which `fitting` would make a view.
bool fits_writeable(const Leaf &leaf, PyObject *array);

// What takes a copy, a cast without loss of range, or the conversion of a list of numbers.  Not for
// strict contexts.
Ref converted(const Leaf &leaf, PyObject *value);

// The same array, or a read-only view of one that is writeable; NumPy scalars and other objects as
// they are.
Ref read_only(Ref value);

// True for the dtype objects that array leaves may have in any byte order.
bool is_number(const PyArray_Descr *descriptor);

// Fills a leaf from an ArrayCheck.  Throws PythonError.
void read_leaf(Leaf &leaf, PyObject *array_check);

}  // namespace tesseract::python::engine
