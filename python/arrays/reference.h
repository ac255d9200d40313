// References, and the way to give up the GIL, by their short names.
#pragma once

#include "../ending/reference.h"

namespace tesseract::arrays {
using python::check;
using python::own;
using python::Pause;
using python::PythonError;
using python::Ref;
}  // namespace tesseract::arrays
