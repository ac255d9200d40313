#include "cancel.h"

#include "python.h"
#include "reference.h"

namespace tesseract::python {
namespace {

thread_local const RunningCall *running = nullptr;

}  // namespace

struct Hooks {
  static PyObject *cancel_requested(PyObject *, PyObject *) {
    const tesseract_frame *frame = running ? running->frame_ : nullptr;
    return PyBool_FromLong(frame && frame->host->cancelled(frame));
  }

  static PyObject *running_call(PyObject *, PyObject *) {
    PyObject *log = running && running->log_ ? running->log_ : Py_None;
    return Py_BuildValue("(lO)", running ? running->depth_ : 0L, log);
  }
};

namespace {

PyMethodDef cancel_definition = {"cancel_requested", Hooks::cancel_requested, METH_NOARGS, nullptr};
PyMethodDef running_definition = {"running_call", Hooks::running_call, METH_NOARGS, nullptr};

void install(const char *module, const char *setter, PyMethodDef *definition) {
  const Ref imported = own(PyImport_ImportModule(module));
  const Ref hook = own(PyCFunction_New(definition, nullptr));
  own(PyObject_CallMethod(imported.get(), setter, "O", hook.get()));
}

}  // namespace

RunningCall::RunningCall(const tesseract_frame *frame, PyObject *log)
    : frame_(frame), log_(log), around_(running), depth_(running ? running->depth_ + 1 : 1) {
  running = this;
}

RunningCall::~RunningCall() {
  running = around_;
}

void install_hooks() {
  install("tesseract_host.runtime.errors", "set_cancel_hook", &cancel_definition);
  install("tesseract_host.loader.warning_log", "set_running", &running_definition);
}

}  // namespace tesseract::python
