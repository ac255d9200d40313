// The lock of a component whose calls are made one at a time: held by a thread that may take it
// again, and guarded by the GIL, so that it costs next to nothing where nobody waits.
//
// A thread whose turn it is may be overtaken once by one that comes by.  Then it is impatient, and
// gets the next turn from the hand of who ends one.
#pragma once

#include "reference.h"

namespace tesseract::python {

struct Waiter;

// A Python object; all of it under the GIL.
class Turns {
 public:
  // Waits, without the GIL, while another thread has its turn.  Throws PythonError, without one,
  // where a handler of signals raised meanwhile.
  void take() {
    const unsigned long me = PyThread_get_thread_ident();
    if (depth_ == 0)
      owner_ = me;
    else if (owner_ != me)
      return wait(me);
    depth_++;
  }

  // Runs no Python code and keeps the GIL.
  void give() {
    if (--depth_ == 0 && first_) [[unlikely]]
      pass_on();
  }

  // Whether this thread has its turn.
  bool is_taken_here() const { return depth_ > 0 && owner_ == PyThread_get_thread_ident(); }

  // In a forked child: those that waited are no more, and neither is who had its turn, if that was
  // not the thread that forked.
  void renew();

 private:
  void wait(unsigned long me);
  void leave(Waiter &waiter);
  void pass_on();

  PyObject_HEAD unsigned long owner_;  // while depth_ > 0
  long depth_;
  Waiter *first_, *last_;  // on their threads' stacks, in the order in which they came
};

// A turn.
class Turn {
 public:
  // Throws as `take`.
  explicit Turn(Turns &turns) : turns_(turns) { turns_.take(); }
  ~Turn() {
    stop_if_asked_to_end();
    // In the child of a fork it may be nobody's.
    if (turns_.is_taken_here()) turns_.give();
  }
  Turn(const Turn &) = delete;
  Turn &operator=(const Turn &) = delete;

 private:
  Turns &turns_;
};

// Creates the type; once.  Throws PythonError.  A new reference.
Ref create_turns_type();

// The object's turns, borrowed from it; null where it is none.
Turns *turns_of(PyObject *object);

}  // namespace tesseract::python
