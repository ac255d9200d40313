// The caller's tensors as read-only NumPy arrays.
#pragma once

#include <tesseract_host/types.h>

#include <string>

#include "reference.h"

namespace tesseract::python {

// The base object of each array made here: what keeps its memory alive.  It offers no buffer, so
// that no module can make the array writeable.
struct Exporter {
  PyObject_HEAD void *buffer;  // memory of our own, freed with this object; or null
  tesseract_owner owner;  // owner.release runs with this object where owner.object was retained
  int retained;
};

// Creates the exporter's type; once.  Throws PythonError.
void create_exporter_type();

struct View {
  Ref array;           // a read-only ndarray
  Exporter *exporter;  // its base, borrowed from it
};

// A view of the tensor's memory, whatever its strides.  Nobody keeps that memory alive: see
// escape.h. Throws CallFailure (naming the leaf) or PythonError.
View borrow(const DLTensor &tensor, const std::string &path);

// The same with a copy of the elements, compact, that lives as long as the array.
View copy(const DLTensor &tensor, const std::string &path);

// A writeable array over the tensor's memory, valid as long as that is.  To be dropped before.
Ref destination(const DLTensor &tensor, const std::string &path);

// Bytes of the tensor's elements, without gaps.
uint64_t bytes_of(const DLTensor &tensor);

// True when the elements are compact and row-major.
bool is_compact(const DLTensor &tensor);

// Ties the array to the tensor's owner: the memory lives until the array dies.
void keep_owner(Exporter &exporter, const tesseract_owner &owner);

}  // namespace tesseract::python
