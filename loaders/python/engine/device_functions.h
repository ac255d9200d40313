// Device arrays for the Python side of the loader, and for tests without a call.
#pragma once

#include "../cp/reference.h"

namespace tesseract::python::engine {

PyObject *device_shape_and_dtype(PyObject *, PyObject *object);
PyObject *device_array_function(PyObject *, PyObject *arguments);
PyObject *revoke_function(PyObject *, PyObject *array);
PyObject *open_exports_function(PyObject *, PyObject *array);
PyObject *make_device_arrays(PyObject *, PyObject *arguments);

}  // namespace tesseract::python::engine
