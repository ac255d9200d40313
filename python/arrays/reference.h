// The owned reference, the exception and the way to give up the GIL of the library that this is
// compiled into: the Python loader, or the binding, which has TESSERACT_ARRAYS_IN_BINDING set.
#pragma once

#ifdef TESSERACT_ARRAYS_IN_BINDING

#include "../binding/python.h"

namespace tesseract::arrays {
using binding::check;
using binding::own;
using binding::PythonError;
using binding::Ref;
using Pause = binding::Unlocked;
}  // namespace tesseract::arrays

#else

#include "../../loaders/python/cp/reference.h"
#include "../../loaders/python/cp/thread_state.h"

namespace tesseract::arrays {
using python::check;
using python::own;
using python::Pause;
using python::PythonError;
using python::Ref;
}  // namespace tesseract::arrays

#endif
