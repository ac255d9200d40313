#include "cancel.h"

#include "python.h"
#include "reference.h"

namespace tesseract::python {
namespace {

// Of the little room that libraries opened later have beside the program's own.
thread_local const tesseract_frame *running [[gnu::tls_model("initial-exec")]] = nullptr;

PyObject *cancel_requested(PyObject *, PyObject *) {
  return PyBool_FromLong(running && running->host->cancelled(running));
}

PyMethodDef definition = {"cancel_requested", cancel_requested, METH_NOARGS, nullptr};

}  // namespace

RunningCall::RunningCall(const tesseract_frame *frame) : around_(running) {
  running = frame;
}

RunningCall::~RunningCall() {
  running = around_;
}

void install_cancel_hook() {
  const Ref errors = own(PyImport_ImportModule("tesseract_host.runtime.errors"));
  const Ref hook = own(PyCFunction_New(&definition, nullptr));
  own(PyObject_CallMethod(errors.get(), "set_cancel_hook", "O", hook.get()));
}

}  // namespace tesseract::python
