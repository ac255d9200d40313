// The Python type of an opened component.
#pragma once

#include <tesseract_host/host.h>

#include "python.h"

namespace tesseract::binding {

// Where a component's log goes: a function of (level, text).  Owned by the host's component, which
// frees it; the Python object shows the function to the garbage collector.
struct Log {
  PyObject *function = nullptr;  // null once the collector cleared it
};

struct Component {
  PyObject ob_base;
  tesseract_component *handle;  // null once closed
  Log *log;                     // null: nobody listens
  PyObject *weak_references;
};

// open(source: bytes, options: bytes, log: (level, text) -> None, or None) -> Component.
// `options` is a JSON object.
PyObject *open_component(PyObject *module, PyObject *arguments);

// Adds the type to the module.  Throws PythonError.
void add_component_type(PyObject *module);

// The component of an object of the type; sets an exception and throws PythonError if it is closed.
tesseract_component *handle_of(PyObject *object);

}  // namespace tesseract::binding
