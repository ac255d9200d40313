// Counts what is allocated by operator new in the process, the library included.
#pragma once

#include <cstddef>

std::size_t allocations();
