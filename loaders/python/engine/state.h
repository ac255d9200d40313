// What a component's calls need beside the call itself.
#pragma once

#include "../cp/reference.h"

namespace tesseract::python::engine {

// A Python object with two attributes that the Python side sets.
struct State {
  PyObject_HEAD char surround;  // calls must run inside of `calls.running`
  char unfinished;              // something was written without a line end, on any thread
};

// Creates the type; once.  Throws PythonError.  A new reference.
Ref create_state_type();

// The state in an object of that type, borrowed from it.  Throws PythonError: TypeError.
State *state_of(PyObject *object);

}  // namespace tesseract::python::engine
