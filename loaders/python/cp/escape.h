// Arrays that outlive the call they were made for.
//
// NumPy arrays can't be told that their memory is gone.  So an array over the caller's memory that
// a module keeps is moved, while the call still runs, to a copy: its own pointer, and those of all
// NumPy views made from it that can be found.  What holds the memory by other means (a memoryview,
// a DLPack import, an object array, a pointer of ctypes, a view whose base is no array) can't be
// moved, and whatever may know the address counts as such.
#pragma once

#include <string>

#include "views.h"

namespace tesseract::python {

// True when something besides this view holds its array.
bool is_held(const View &view);

// Lets go what only waits for a collection: JAX keeps its arguments beyond the call, exceptions and
// frames refer to each other.  `thorough` collects all generations.
void collect_garbage(bool thorough);

// Moves the array, and all that was derived from it, to memory of its own.  False when something
// that reads the old memory was not found: then nothing was moved.
bool move_to_own_memory(View &view);

}  // namespace tesseract::python
