// CPython and NumPy, included in one way everywhere, and an owned reference.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_1_23_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL tesseract_binding_numpy
#ifndef TESSERACT_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include <utility>

#include "../ending/ending.h"

namespace tesseract::binding {

// Thrown where a function of Python's failed and its exception is set.
struct PythonError {};

// An owned reference.  The GIL is held wherever one is made or dropped.
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
    python::stop_if_asked_to_end();
    python::Barrier barrier;
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

// Without the GIL as long as it lives.
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  ~Unlocked() { resume(); }
  Unlocked(const Unlocked &) = delete;
  Unlocked &operator=(const Unlocked &) = delete;

 private:
  void resume() const {
    python::Barrier barrier;
    PyEval_RestoreThread(state_);
    barrier.pass();
  }

  PyThreadState *state_;
};

}  // namespace tesseract::binding
