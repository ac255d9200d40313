// References beside NumPy, which must be included in one way everywhere.
#pragma once

#include "python.h"

#include "../../../python/ending/reference.h"
