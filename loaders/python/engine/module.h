// The extension module `_engine`: the engine as Python sees it.
#pragma once

#include "../cp/reference.h"

namespace tesseract::python::engine {

// The module, created the first time, whichever side asks.  Throws PythonError.  GIL held.
Ref module();

// Makes it the engine of the Python package, unless that has loaded one already.
void register_module();

}  // namespace tesseract::python::engine
