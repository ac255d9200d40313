#include "thread_state.h"

#include <pthread.h>

#include <atomic>
#include <mutex>
#include <new>
#include <vector>

namespace tesseract::python {
namespace {

// States of threads that have ended.  A thread that ends must not wait for the GIL: whoever holds
// it may be waiting for this thread.  So states are freed by the next new thread that enters.
struct Ended {
  std::mutex mutex;
  std::vector<PyThreadState *> states;
};

// Never destroyed: threads end during and after the process's static destructors, too.
Ended &ended() {
  static Ended &list = *new Ended;
  return list;
}

// Set in the child of a fork: the GIL may be held by a thread that is no more.
std::atomic<bool> lost_to_fork{false};

void note_fork() {
  lost_to_fork = true;
}

void note_end(void *state) {
  if (lost_to_fork) return;
  const std::lock_guard lock(ended().mutex);
  ended().states.push_back(static_cast<PyThreadState *>(state));
}

pthread_key_t end_of_thread() {
  static const pthread_key_t key = [] {
    pthread_key_t made{};
    pthread_key_create(&made, note_end);
    return made;
  }();
  return key;
}

// On a thread without a state, for freeing another thread's state makes CPython 3.12 and later
// forget the current thread's: here that is a temporary one.
void free_ended_states() {
  std::vector<PyThreadState *> states;
  {
    const std::lock_guard lock(ended().mutex);
    states.swap(ended().states);
  }
  if (states.empty()) return;
  PyThreadState *temporary = PyThreadState_New(PyInterpreterState_Main());
  PyEval_AcquireThread(temporary);
  for (PyThreadState *state : states) {
    PyThreadState_Clear(state);
    PyThreadState_Delete(state);
  }
  PyThreadState_Clear(temporary);
  PyThreadState_DeleteCurrent();
}

// The state of the thread that holds the GIL; null where none does.
PyThreadState *current_state() {
#if PY_VERSION_HEX >= 0x030D0000
  return PyThreadState_GetUnchecked();
#else
  return _PyThreadState_UncheckedGet();
#endif
}

// True where it is known at once that this thread holds the GIL.
bool holds_gil() {
#if PY_VERSION_HEX >= 0x030C0000
  // Since 3.12 each thread has a current state of its own.
  const PyThreadState *current = current_state();
  return current && current->interp == PyInterpreterState_Main();
#else
  return false;
#endif
}

// True on a thread that Python did not start, where a state made here is its only one.
bool has_kept_state() {
  return pthread_getspecific(end_of_thread()) != nullptr;
}

// The state made here is given back by note_end, not by a PyGILState_Release.
void make_kept_state() {
  free_ended_states();
  PyGILState_Ensure();
  pthread_setspecific(end_of_thread(), PyEval_SaveThread());
}

}  // namespace

bool interpreter_lives() {
  return !lost_to_fork && !is_ending_elsewhere() && Py_IsInitialized() && !is_finalizing();
}

bool is_forked_child() {
  return lost_to_fork;
}

void watch_forks() {
  static const int watched = pthread_atfork(nullptr, nullptr, note_fork);
  static_cast<void>(watched);
}

Entry::Entry() : lives_(interpreter_lives()) {
  if (!lives_ || holds_gil()) return;
  PyThreadState *state = PyGILState_GetThisThreadState();
  if (state && state == current_state()) return;  // the GIL is held
  // Python's own threads it joins itself, or leaves behind.
  arrived_ = !state || has_kept_state();
  if (arrived_ && !arrive()) {
    lives_ = false;
    return;
  }
  Barrier barrier;
  if (!state) {
    make_kept_state();
    state = PyGILState_GetThisThreadState();
  }
  PyEval_RestoreThread(state);
  barrier.pass();
  entered_ = true;
}

Entry::~Entry() {
  if (!lives_) return;
  stop_if_asked_to_end();
  if (!entered_) return;
  if (arrived_) depart();
  PyEval_SaveThread();
}

void resume_in_child() {
  lost_to_fork = false;
  // The lock may have been held by a thread that is no more.
  new (&ended().mutex) std::mutex;
  ended().states.clear();
}

}  // namespace tesseract::python
