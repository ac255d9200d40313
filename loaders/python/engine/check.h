// CHECK: the array leaf's validator that pydantic and the plans call.
#pragma once

#include "node.h"

namespace tesseract::python::engine {

// A Python object: `check(value, info)` and `check.dumped(value, info)` as those of ArrayCheck.
struct Check {
  PyObject_HEAD vectorcallfunc call;
  Leaf leaf;
  PyObject *dumped;  // the slow function's method of this name
};

// Creates the type; once.  Throws PythonError.  A new reference.
Ref create_check_type();

// The leaf of a CHECK object, borrowed from it; null for any other object.
const Leaf *leaf_of(PyObject *check);

}  // namespace tesseract::python::engine
