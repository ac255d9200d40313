// Entering Python from any thread.
#pragma once

#include "float_environment.h"
#include "reference.h"

namespace tesseract::python {

// True while Python code may run: not before the start, not during or after the interpreter's end,
// not in a forked child.  [any]
bool interpreter_lives();

// From here on the child of a fork has no interpreter: a thread that is no more may have held the
// GIL, and any lock.  Once per process, before the first Entry.
void watch_forks();

// True in the child of a fork that `resume_in_child` did not follow.  There what belongs to Python,
// or is guarded by a lock, is neither used nor freed.  [any]
bool is_forked_child();

// Holds the GIL, in the floating-point environment Python expects.  The thread may hold it already.
// A thread that Python does not know gets a state at its first entry and keeps it until it ends, so
// that entering stays cheap and threading.local survives.
class Entry {
 public:
  Entry();
  ~Entry();
  Entry(const Entry &) = delete;
  Entry &operator=(const Entry &) = delete;

  // False: the interpreter is gone or lost to a fork, the GIL is not held, and nothing of Python
  // may be touched.
  explicit operator bool() const { return lives_; }

 private:
  FloatEnvironment environment_;
  bool lives_;
  bool entered_ = false;  // what has to be left again
  bool arrived_ = false;  // what the end of Python waits for
};

// In the child of an os.fork, whose interpreter is whole, with the GIL: goes on, and forgets the
// states of threads that don't exist there, which Python has freed.
void resume_in_child();

}  // namespace tesseract::python
