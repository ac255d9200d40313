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

// A miss in place of what a function of the user's has raised.  RuntimeErrors, RecursionError among
// them, and MemoryErrors stay set: pydantic passes them on, and asking it would run the function
// again, which doubles the time with every call that it makes inside of this one.
inline Ref refused() {
  const bool is_final =
      PyErr_ExceptionMatches(PyExc_RuntimeError) || PyErr_ExceptionMatches(PyExc_MemoryError);
  if (!is_final) forget_exception();
  return {};
}

}  // namespace tesseract::python::engine
