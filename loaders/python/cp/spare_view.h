// Read-only views of a module's arrays that nothing refers to any more, used again.
#pragma once

#include "python.h"
#include "reference.h"

namespace tesseract::python {

// True for a read-only view of another object's memory that only one place refers to, and that is
// as if it was made just now but for what it shows.
inline bool is_spare_view(PyObject *value) {
  if (!PyArray_CheckExact(value) || Py_REFCNT(value) != 1) return false;
  constexpr int usual = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS | NPY_ARRAY_ALIGNED;
  const auto *view = reinterpret_cast<const PyArrayObject_fields *>(value);
  return view->base && !(view->flags & ~usual) && !view->weakreflist && !view->_buffer_info;
}

// Takes away what a spare view shows, for the caller to drop.  From here on nobody may see it until
// it shows something else.
inline Ref detach_spare_view(PyObject *value) {
  auto *view = reinterpret_cast<PyArrayObject_fields *>(value);
  view->data = nullptr;
  return Ref(std::exchange(view->base, nullptr));
}

// Has a detached view show this array, which it refers to as NumPy's own views would.  False, with
// nothing done, for another dtype or layout than what it showed before.
inline bool attach_spare_view(PyObject *value, PyObject *given) {
  auto *view = reinterpret_cast<PyArrayObject_fields *>(value);
  const auto *array = reinterpret_cast<const PyArrayObject_fields *>(given);
  if (view->descr != array->descr || view->nd != array->nd ||
      ((view->flags ^ array->flags) & NPY_ARRAY_ALIGNED)) {
    return false;
  }
  for (int k = 0; k < array->nd; k++) {
    if (view->dimensions[k] != array->dimensions[k] || view->strides[k] != array->strides[k]) {
      return false;
    }
  }
  if (array->flags & NPY_ARRAY_OWNDATA) {
    view->base = Py_NewRef(given);
  } else if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject *>(value), Py_NewRef(given)) <
             0) {
    PyErr_Clear();
    return false;
  }
  view->data = array->data;
  return true;
}

}  // namespace tesseract::python
