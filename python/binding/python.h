// CPython and NumPy, included in one way everywhere, and references.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_1_23_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL tesseract_binding_numpy
#ifndef TESSERACT_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include "../ending/reference.h"

namespace tesseract::binding {

using python::check;
using python::own;
using python::PythonError;
using python::Ref;
using Unlocked = python::Pause;

}  // namespace tesseract::binding
