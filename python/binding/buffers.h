// Calls on the buffers that JAX hands to a callback.
#pragma once

#include "python.h"

namespace tesseract::binding {

// run_buffers(run, key, results, operands, stream, locked) -> None, or (status, address of a
// message): `run` is the address of the adapter's tesseract_jax_run, results and operands are
// sequences of objects with __dlpack__.  Where `locked` is True the call is made with the GIL,
// which a Python component would take again at once.  Whoever gets a message frees it by
// tesseract_jax_free.
PyObject *run_buffers(PyObject *module, PyObject *const *arguments, Py_ssize_t count);

}  // namespace tesseract::binding
