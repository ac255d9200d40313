#include "cancel.h"

#include "python.h"
#include "reference.h"

namespace tesseract::python {

constinit thread_local const tesseract_frame *running_call [[gnu::tls_model("initial-exec")]] =
    nullptr;

namespace {

PyObject *cancel_requested(PyObject *, PyObject *) {
  return PyBool_FromLong(running_call && running_call->host->cancelled(running_call));
}

PyMethodDef definition = {"cancel_requested", cancel_requested, METH_NOARGS, nullptr};

}  // namespace

void install_cancel_hook() {
  const Ref errors = own(PyImport_ImportModule("tesseract_host.runtime.errors"));
  const Ref hook = own(PyCFunction_New(&definition, nullptr));
  own(PyObject_CallMethod(errors.get(), "set_cancel_hook", "O", hook.get()));
}

}  // namespace tesseract::python
