// The extension module tesseract_host._native._host: host.h for Python.
#define TESSERACT_IMPORTS_NUMPY
#include "python.h"

#include "../arrays/device_array.h"
#include "buffers.h"
#include "call.h"
#include "component.h"
#include "endpoint.h"
#include "errors.h"
#include "foreign.h"

namespace tesseract::binding {
namespace {

// Counts changes of what tesseract_host._host uses, so that parts of different releases refuse each
// other.
constexpr int kRevision = 3;

PyObject *set_factory(PyObject *, PyObject *function) {
  set_error_factory(function);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"open", open_component, METH_VARARGS,
     "open(source, options, log): opens a component; source and options as bytes."},
    {"given", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(read_given)),
     METH_FASTCALL,
     "given(object, stream, anywhere): an array of another library's, a text that says what is\n"
     "wrong with it, or None for what is no array on a device, or, if `anywhere`, on the host."},
    {"run_buffers", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(run_buffers)),
     METH_FASTCALL,
     "run_buffers(run, key, results, operands, stream, locked): a call of the JAX adapter."},
    {"set_error_factory", set_factory, METH_O,
     "The function that makes an exception of an error of the host."},
    {},
};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "_host",
    "The C interface of the host, host.h.",
    -1,
    functions,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
};

void set_up_arrays(PyObject *module) {
  arrays::DeviceApi api;
  api.table = static_cast<const tesseract_device_table *>(
      tesseract_host_extension(TESSERACT_DEVICE_ID, sizeof TESSERACT_DEVICE_ID - 1));
  api.error_message = tesseract_error_message;
  api.error_free = tesseract_error_free;
  arrays::set_device_api(api);
  arrays::create_device_array_type();
  check(PyModule_AddObjectRef(module, "DeviceArray",
                              reinterpret_cast<PyObject *>(arrays::device_array_type())));
}

PyObject *create() {
  return guarded([] {
    if (PyArray_ImportNumPyAPI() < 0) throw PythonError{};
    const tesseract_range abi = *tesseract_host_abi();
    if (abi.min > TESSERACT_ABI_MAX || abi.max < TESSERACT_ABI_MIN) {
      PyErr_Format(PyExc_ImportError,
                   "this process has loaded libtesseract_host %s, which serves the ABI versions %u "
                   "to %u, and the binding needs %u to %u",
                   tesseract_host_version(), abi.min, abi.max, TESSERACT_ABI_MIN,
                   TESSERACT_ABI_MAX);
      throw PythonError{};
    }
    Ref module = own(PyModule_Create(&definition));
    check(PyModule_AddIntConstant(module.get(), "REVISION", kRevision));
    check(PyModule_AddStringConstant(module.get(), "host_version", tesseract_host_version()));
    set_up_arrays(module.get());
    add_given_type(module.get());
    add_component_type(module.get());
    add_call_type(module.get());
    add_endpoint_type(module.get());
    return module.release();
  });
}

}  // namespace
}  // namespace tesseract::binding

PyMODINIT_FUNC PyInit__host() {
  return tesseract::binding::create();
}
