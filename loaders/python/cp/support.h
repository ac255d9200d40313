// The Python side of the loader: the package tesseract_host.loader, and a few functions around it.
#pragma once

#include <string>

#include "reference.h"

namespace tesseract::python {

// References that live as long as the process; all null before load_support.
struct Support {
  PyObject *open = nullptr;           // tesseract_host.loader.open
  PyObject *classify = nullptr;       // tesseract_host.loader.classify
  PyObject *take_live = nullptr;      // tesseract_host.loader.take_live
  PyObject *parse_options = nullptr;  // JSON text -> (options for open, strict, debug_views, live)
  PyObject *finish = nullptr;         // seconds, joined -> names of threads that did not end
  traverseproc traverse_of_python_classes = nullptr;
};

const Support &support();

// Imports the package from this folder, by path: neither sys.path nor its order matters.  One that
// is imported already is used.  With `owns_process`, for an interpreter that this loader started,
// the folder that holds it becomes the last entry of sys.path: there the processes that modules
// start, which get that path, find what they need to import a component's modules; and warnings go
// to the component's log.  Throws PythonError.
void load_support(const char *package, bool owns_process);

}  // namespace tesseract::python
