#define PY_SSIZE_T_CLEAN
#include "ending.h"

#include <Python.h>
#include <pthread.h>

#include <cstdint>
#include <memory>

namespace tesseract::python {

std::atomic<bool> interpreter_ends{false};

namespace {

pthread_t ending_thread{};

// Stays in Python.  Who comes counts itself before it looks whether Python ends, and who ends
// Python looks at the count after it has said so: either the one is turned away, or the other sees
// it.
std::atomic<int64_t> stays{0};

constexpr const char *kSource = R"(
import os, sys, threading, time

LONGEST = 1.0  # seconds; what goes on for longer is left behind, as Python leaves daemon threads
process = os.getpid()


def in_python(known, own):
    # Threads that Python did not start, in Python code: of them it knows nothing, or a dummy.
    started = {
        ident for ident, thread in known.items() if not isinstance(thread, threading._DummyThread)
    }
    return any(ident != own and ident not in started for ident in sys._current_frames())


def end():
    begin()
    own = threading.get_ident()
    until = time.monotonic() + LONGEST
    counted = os.getpid() == process  # those that a fork left behind never depart
    while time.monotonic() < until and (
        (counted and inside()) or in_python(dict(threading._active), own)
    ):
        time.sleep(0.001)
    joining = sys.modules.get("tesseract_host.jax._ending")  # XLA will join its threads
    if counted and joining:
        joining.wait_while(inside)
)";

PyObject *begin(PyObject *, PyObject *) {
  ending_thread = pthread_self();
  interpreter_ends = true;
  Py_RETURN_NONE;
}

PyObject *inside(PyObject *, PyObject *) {
  return PyBool_FromLong(stays != 0);
}

PyMethodDef functions[] = {
    {"begin", begin, METH_NOARGS, nullptr},
    {"inside", inside, METH_NOARGS, nullptr},
};

struct Drop {
  void operator()(PyObject *object) const { Py_DECREF(object); }
};
using Owned = std::unique_ptr<PyObject, Drop>;

// The function `end` of the source; null with an exception set.
Owned compiled() {
  const Owned scope(PyDict_New());
  if (!scope || PyDict_SetItemString(scope.get(), "__builtins__", PyEval_GetBuiltins()) < 0)
    return nullptr;
  for (PyMethodDef &definition : functions) {
    const Owned function(PyCFunction_New(&definition, nullptr));
    if (!function || PyDict_SetItemString(scope.get(), definition.ml_name, function.get()) < 0)
      return nullptr;
  }
  const Owned code(Py_CompileString(kSource, "<tesseract_host ending>", Py_file_input));
  if (!code) return nullptr;
  const Owned done(PyEval_EvalCode(code.get(), scope.get(), scope.get()));
  return done ? Owned(Py_XNewRef(PyDict_GetItemString(scope.get(), "end"))) : nullptr;
}

}  // namespace

bool watch_end() {
  const Owned end = compiled();
  if (!end) return false;
  const Owned atexit(PyImport_ImportModule("atexit"));
  if (!atexit) return false;
  return Owned(PyObject_CallMethod(atexit.get(), "register", "O", end.get())) != nullptr;
}

bool is_finalizing() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing();
#else
  return _Py_IsFinalizing();
#endif
}

bool is_ending_elsewhere() {
  return interpreter_ends.load(std::memory_order_relaxed) &&
         !pthread_equal(pthread_self(), ending_thread);
}

bool arrive() {
  stays.fetch_add(1);
  if (!interpreter_ends || !is_ending_elsewhere()) [[likely]]
    return true;
  stays.fetch_sub(1);
  return false;
}

void depart() {
  stays.fetch_sub(1);
}

bool is_asked_to_end() {
  return !PyGILState_Check();
}

}  // namespace tesseract::python
