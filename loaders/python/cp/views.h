// The caller's tensors as read-only NumPy arrays.
#pragma once

#include <tesseract_host/types.h>

#include <string>

#include "../../../python/arrays/layout.h"
#include "reference.h"

namespace tesseract::python {

// The base object of each array made here: what keeps its memory alive.  It offers no buffer, so
// that no module can make the array writeable.
struct Exporter {
  PyObject_HEAD void *buffer;  // memory of our own, freed with this object; or null
  size_t bytes;                // of the buffer
  tesseract_owner owner;  // owner.release runs with this object where owner.object was retained
  int retained;
};

// Creates the exporter's type; once.  Throws PythonError.
void create_exporter_type();

// A new one without memory.  Throws PythonError.
Ref make_exporter();

// From here on the memory of copies is filled with this byte before it is freed: with many of them,
// floating-point numbers are NaN and integers negative.
constexpr int kPoison = 0xff;
void poison_copies();

struct View {
  Ref array;           // a read-only ndarray
  Exporter *exporter;  // its base, borrowed from it
};

// A view of the tensor's memory, whatever its strides.  Nobody keeps that memory alive: see
// escape.h. Throws CallFailure (naming the leaf) or PythonError.
View borrow(const DLTensor &tensor, const std::string &path);

// The same with a copy of the elements, compact, that lives as long as the array.
View copy(const DLTensor &tensor, const std::string &path);

// The array of the same, given NumPy's descriptor, for tensors that are known to be such that NumPy
// can hold them.  Throws PythonError or std::bad_alloc.
Ref copy_of(const DLTensor &tensor, PyObject *type);

// A writeable array over the tensor's memory, valid as long as that is.  To be dropped before.
Ref destination(const DLTensor &tensor, const std::string &path);

// The first element; somewhere where there is none.
char *data_of(const DLTensor &tensor);

// Bytes of the tensor's elements, without gaps.
inline uint64_t bytes_of(const DLTensor &tensor) {
  uint64_t count = 1;
  for (int32_t i = 0; i < tensor.ndim; i++) count *= static_cast<uint64_t>(tensor.shape[i]);
  return count * ((tensor.dtype.bits * tensor.dtype.lanes + 7u) / 8u);
}

// A number that changes with the elements, whatever their layout.
uint64_t checksum(const DLTensor &tensor);

// True when the elements are compact and row-major.
inline bool is_compact(const DLTensor &tensor) {
  return arrays::is_row_major(tensor);
}

// True for memory that the processor may touch.
inline bool is_on_host(const DLTensor &tensor) {
  return tensor.device.device_type == kDLCPU || tensor.device.device_type == kDLCUDAHost;
}

// Ties the array to the tensor's owner: the memory lives until the array dies.
void keep_owner(Exporter &exporter, const tesseract_owner &owner);

}  // namespace tesseract::python
