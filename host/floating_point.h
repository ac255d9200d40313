// The floating-point environment around a call that wants the default one.
#pragma once

#include "../abi/internal/floating_point.h"

namespace host {

using tesseract::internal::DefaultFloatingPoint;

}  // namespace host
