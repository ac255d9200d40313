// Misses and exceptions.
#pragma once

#include "../cp/reference.h"

namespace tesseract::python::engine {

// Forgets an exception that pydantic's own way will raise again.  What is no Exception stays set.
inline void forget_exception() {
  if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception)) PyErr_Clear();
}

// A miss in place of an exception.
inline Ref missed() {
  forget_exception();
  return {};
}

}  // namespace tesseract::python::engine
