// CPython and NumPy, included in one way everywhere.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
// By themselves the headers offer what the oldest NumPy for the interpreter has, 1.21 for 3.10;
// what we run with is 1.26 at least.
#define NPY_TARGET_VERSION NPY_1_23_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL tesseract_loader_numpy
#ifndef TESSERACT_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>
