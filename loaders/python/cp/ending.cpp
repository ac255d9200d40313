#include "ending.h"

#include <pthread.h>

#include "reference.h"

namespace tesseract::python {

bool interpreter_ends = false;

namespace {

pthread_t ending_thread{};

constexpr const char *kSource = R"(
import sys, threading, time

LONGEST = 1.0  # seconds; what goes on for longer is left behind, as Python leaves daemon threads


def in_calls(known, own):
    # Threads that Python did not start, in Python code: of them it knows nothing, or a dummy.
    started = {
        ident for ident, thread in known.items() if not isinstance(thread, threading._DummyThread)
    }
    return any(ident != own and ident not in started for ident in sys._current_frames())


def end():
    begin()
    own = threading.get_ident()
    until = time.monotonic() + LONGEST
    while in_calls(dict(threading._active), own) and time.monotonic() < until:
        time.sleep(0.001)
)";

PyObject *begin(PyObject *, PyObject *) {
  ending_thread = pthread_self();
  interpreter_ends = true;
  Py_RETURN_NONE;
}

PyMethodDef begin_definition = {"begin", begin, METH_NOARGS, nullptr};

}  // namespace

bool is_ending_elsewhere() {
  return interpreter_ends && !pthread_equal(pthread_self(), ending_thread);
}

void watch_end() {
  const Ref scope = own(PyDict_New());
  const Ref noting = own(PyCFunction_New(&begin_definition, nullptr));
  check(PyDict_SetItemString(scope.get(), "__builtins__", PyEval_GetBuiltins()));
  check(PyDict_SetItemString(scope.get(), "begin", noting.get()));
  const Ref code = own(Py_CompileString(kSource, "<tesseract_host ending>", Py_file_input));
  const Ref done = own(PyEval_EvalCode(code.get(), scope.get(), scope.get()));
  const Ref atexit = own(PyImport_ImportModule("atexit"));
  PyObject *end = PyDict_GetItemString(scope.get(), "end");
  own(PyObject_CallMethod(atexit.get(), "register", "O", end ? end : Py_None));
}

bool is_asked_to_end() {
  return !PyGILState_Check();
}

}  // namespace tesseract::python
