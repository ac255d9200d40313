// An owned reference to a Python object, the exception, and the way to give up the GIL: none of
// them touches Python on a thread that it has asked to end.  The GIL is held wherever a reference
// is made or dropped.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <utility>

#include "ending.h"

namespace tesseract::python {

// Thrown where a function of Python's failed and its exception is set.
struct PythonError {};

class Ref {
 public:
  Ref() = default;
  // Takes over a new reference, null included.
  explicit Ref(PyObject *object) : object_(object) {}
  Ref(Ref &&other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref &operator=(Ref &&other) noexcept {
    drop(std::exchange(object_, std::exchange(other.object_, nullptr)));
    return *this;
  }
  ~Ref() { drop(object_); }

  PyObject *get() const { return object_; }
  PyObject *release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  // What an object does when it dies may take the GIL away for ever, and so may what came before.
  static void drop(PyObject *object) {
    if (!object) return;
    stop_if_asked_to_end();
    Barrier barrier;
    Py_DECREF(object);
    barrier.pass();
  }

  PyObject *object_ = nullptr;
};

// Takes over what a function of Python's returned.  Throws PythonError where it is null.
inline Ref own(PyObject *object) {
  if (!object) throw PythonError{};
  return Ref(object);
}

// The same for functions that return -1 when they failed.
inline void check(int result) {
  if (result < 0) throw PythonError{};
}

// Gives up the GIL for its lifetime.
class Pause {
 public:
  Pause() : state_(PyEval_SaveThread()) {}
  ~Pause() { resume(); }
  Pause(const Pause &) = delete;
  Pause &operator=(const Pause &) = delete;

 private:
  void resume() const {
    Barrier barrier;
    PyEval_RestoreThread(state_);
    barrier.pass();
  }

  PyThreadState *state_;
};

}  // namespace tesseract::python
