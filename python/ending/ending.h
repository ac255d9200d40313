// The end of an interpreter that is not ours, while other threads are in calls.
//
// Python asks a thread that waits for the GIL, when the interpreter ends, to end too: before 3.14
// by pthread_exit, which unwinds our frames as an exception would.  Their destructors then run
// without the GIL, and the process is aborted where one may not be unwound.  So a thread that is
// asked sleeps instead, in the first of our frames, until the process ends; 3.14 has it sleep by
// itself.  Whoever joins such a thread then, as XLA's client joins its pool when Python drops it,
// waits for ever.  So before Python ends, threads are turned away, and those within waited for.
//
// Hence around calls of Python's API that may give up the GIL: no catch (...), and no function that
// must not throw, unless a Barrier stands between.
//
// Compiled into each library that enters Python from threads that Python doesn't know: the Python
// loaders and the binding.  Each has its own count.
#pragma once

#include <atomic>

#include "barrier.h"

namespace tesseract::python {

// True once the atexit functions of the interpreter run.
extern std::atomic<bool> interpreter_ends;

// Has the atexit functions note the end and wait a moment for calls on other threads.  Once per
// process, GIL held.  False where that fails; Python's exception is set.
bool watch_end();

// True then, but on the thread that ends the interpreter: what its atexit functions call still
// works.
bool is_ending_elsewhere();

// True once Python has left its atexit functions behind: no thread but the one that ends it runs
// Python code any more.  [any]
bool is_finalizing();

// Stand around a stay in Python of a thread that does not hold the GIL yet.  The end waits for all
// who have arrived and not departed, be they still waiting for the GIL.  [any]
//
// False: Python is ending, and the thread may not enter.
bool arrive();
// [any], when nothing of the stay is left but to give up the GIL, or not even that.
void depart();

// True on a thread that may not call Python: not the one that ends the interpreter.
bool is_asked_to_end();

// Where a destructor needs the GIL: sleeps where it was taken away for ever.
inline void stop_if_asked_to_end() {
  if (interpreter_ends.load(std::memory_order_relaxed) && is_asked_to_end()) [[unlikely]]
    sleep_for_ever();
}

}  // namespace tesseract::python
