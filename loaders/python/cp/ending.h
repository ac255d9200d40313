// The end of an interpreter that this loader joined, while other threads are in calls.
//
// Python asks a thread that waits for the GIL, when the interpreter ends, to end too: before 3.14
// by pthread_exit, which unwinds our frames as an exception would.  Their destructors then run
// without the GIL, and the process is aborted where one may not be unwound.  So a thread that is
// asked sleeps instead, in the first of our frames, until the process ends; 3.14 has it sleep by
// itself.
//
// Hence around calls of Python's API that may give up the GIL: no catch (...), and no function that
// must not throw, unless a Barrier stands between.
#pragma once

#include "../barrier.h"

namespace tesseract::python {

// True once the atexit functions of the interpreter run.
extern bool interpreter_ends;

// Has the atexit functions note the end and wait a moment for calls on threads that Python does not
// know.  Once per process, in an interpreter that was joined; GIL held.  Throws PythonError.
void watch_end();

// True then, but on the thread that ends the interpreter: what its atexit functions call still
// works.
bool is_ending_elsewhere();

// True on a thread that may not call Python: not the one that ends the interpreter.
bool is_asked_to_end();

// Where a destructor needs the GIL: sleeps where it was taken away for ever.
inline void stop_if_asked_to_end() {
  if (interpreter_ends && is_asked_to_end()) [[unlikely]]
    sleep_for_ever();
}

}  // namespace tesseract::python
