// The floating-point environment that Python code is written for, around each entry.
#pragma once

#include "../../../abi/internal/floating_point.h"

namespace tesseract::python {

using FloatEnvironment = internal::DefaultFloatingPoint;

}  // namespace tesseract::python
