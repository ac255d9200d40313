// Descriptions made by loader/compiler.py into trees of checks.
#pragma once

#include "node.h"

namespace tesseract::python::engine {

// Creates the type of compiled schemas; once.  Throws PythonError.
void create_schema_type();

// A new Python object that holds the tree of a description.  Throws PythonError: ValueError for a
// description that is none.
Ref compile(PyObject *description);

// None, or the offsets of the three slots of pydantic's in instances of a class: what
// `__pydantic_fields_set__`, `__pydantic_extra__` and `__pydantic_private__` are.  None also for a
// class whose instances are not made as plain objects are.
Ref slot_offsets(PyObject *type);

}  // namespace tesseract::python::engine
