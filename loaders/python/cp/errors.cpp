#include "errors.h"

#include "support.h"
#include "thread_state.h"

namespace tesseract::python {
namespace {

struct Report {
  int32_t status;
  std::string path, message, traceback;
};

// What `classify` says.  Throws PythonError where it fails, as it may without memory or stack.
Report classify(PyObject *exception) {
  PyObject *function = support().classify;
  if (!function) throw PythonError{};
  const Ref answer = own(PyObject_CallOneArg(function, exception));
  int status = 0;
  PyObject *path = nullptr, *message = nullptr, *traceback = nullptr;
  if (!PyArg_ParseTuple(answer.get(), "iOUU", &status, &path, &message, &traceback)) {
    throw PythonError{};
  }
  Report result{status, "", text_of(message), text_of(traceback)};
  if (path != Py_None) result.path = text_of(path);
  if (status < TESSERACT_ERROR_INVALID_ARGUMENT || status > TESSERACT_ERROR_INTERNAL) {
    result.status = TESSERACT_ERROR_COMPONENT;
  }
  return result;
}

// Python's own text of the traceback; "" where even that fails.
std::string traceback_of(PyObject *exception) {
  const Ref module(PyImport_ImportModule("traceback"));
  const Ref lines(module ? PyObject_CallMethod(module.get(), "format_exception", "O", exception)
                         : nullptr);
  const Ref empty(lines ? PyUnicode_FromString("") : nullptr);
  const Ref text(empty ? PyUnicode_Join(empty.get(), lines.get()) : nullptr);
  PyErr_Clear();
  return text ? text_of(text.get()) : "";
}

// For what happens before the support package is there, or keeps it from answering.
Report describe_plainly(PyObject *exception) {
  const bool no_memory = PyErr_GivenExceptionMatches(exception, PyExc_MemoryError);
  Report result{no_memory ? TESSERACT_ERROR_OUT_OF_MEMORY : TESSERACT_ERROR_COMPONENT, "", "", ""};
  result.message = Py_TYPE(exception)->tp_name;
  const std::string text = text_of(exception);
  if (!text.empty()) result.message += ": " + text;
  result.traceback = traceback_of(exception);
  return result;
}

// Ctrl-C in a Python process whose own code called: it reached the module, in whose place the
// caller is to get it.  That works for the main thread alone, as interrupts do.
void pass_interrupt_on(PyObject *exception) {
  if (!PyErr_GivenExceptionMatches(exception, PyExc_KeyboardInterrupt)) return;
  if (!PyEval_GetFrame()) return;  // nobody of Python's is waiting
  const Ref threading(PyImport_ImportModule("threading"));
  const Ref main(threading ? PyObject_CallMethod(threading.get(), "main_thread", nullptr)
                           : nullptr);
  const Ref current(main ? PyObject_CallMethod(threading.get(), "current_thread", nullptr)
                         : nullptr);
  if (current && current.get() == main.get()) PyErr_SetInterrupt();
  PyErr_Clear();
}

}  // namespace

Ref take_exception() {
#if PY_VERSION_HEX >= 0x030C0000
  return Ref(PyErr_GetRaisedException());
#else
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (value && traceback) PyException_SetTraceback(value, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return Ref(value);
#endif
}

int32_t report(tesseract_frame *frame, const CallFailure &failure) {
  return frame->host->error_set(
      frame, failure.status, failure.path.empty() ? nullptr : failure.path.data(),
      failure.path.size(), failure.message.data(), failure.message.size());
}

int32_t report_exception(tesseract_frame *frame) {
  const Ref exception = take_exception();
  if (!exception) {
    return report(frame, {TESSERACT_ERROR_INTERNAL, "", "Python failed without an exception"});
  }
  Report result;
  try {
    result = classify(exception.get());
  } catch (const PythonError &) {
    PyErr_Clear();
    result = describe_plainly(exception.get());
  }
  pass_interrupt_on(exception.get());
  report(frame, {result.status, result.path, result.message});
  if (!result.traceback.empty()) {
    frame->host->error_detail(frame, TESSERACT_DETAIL_TRACEBACK, result.traceback.data(),
                              result.traceback.size());
  }
  return result.status;
}

int32_t report_gone(tesseract_frame *frame) {
  const char *text = is_forked_child()
                         ? "Python can't be used in the forked child of a program that embeds it"
                         : "the Python interpreter has ended";
  return report(frame, {TESSERACT_ERROR_UNAVAILABLE, "", text});
}

std::string text_of(PyObject *object) {
  const Ref text(PyUnicode_Check(object) ? Py_NewRef(object) : PyObject_Str(object));
  const Ref bytes(text ? PyUnicode_AsEncodedString(text.get(), "utf-8", "backslashreplace")
                       : nullptr);
  if (!bytes) {
    PyErr_Clear();
    return "";
  }
  return {PyBytes_AS_STRING(bytes.get()), static_cast<size_t>(PyBytes_GET_SIZE(bytes.get()))};
}

}  // namespace tesseract::python
