#include "turns.h"

#include <structmember.h>

#include <cstddef>

#include "thread_state.h"

namespace tesseract::python {

// A thread that waits for its turn.
struct Waiter {
  PyThread_type_lock gate;  // held but when the thread is to look
  unsigned long thread;
  bool woken = false, impatient = false;
  bool served = false;  // the turn is its own already
  Waiter *next = nullptr;
};

namespace {

PyTypeObject *turns_type = nullptr;
PyTypeObject *in_turn_type = nullptr;

// Waits for the gate without the GIL; false where a signal came first.
bool pass(PyThread_type_lock gate) {
  const Pause pause;
  return PyThread_acquire_lock_timed(gate, -1, 1) == PY_LOCK_ACQUIRED;
}

class Gate {
 public:
  Gate() : lock_(PyThread_allocate_lock()) {
    if (!lock_) {
      PyErr_NoMemory();
      throw PythonError{};
    }
    PyThread_acquire_lock(lock_, NOWAIT_LOCK);
  }
  ~Gate() { PyThread_free_lock(lock_); }
  Gate(const Gate &) = delete;
  Gate &operator=(const Gate &) = delete;

  PyThread_type_lock get() const { return lock_; }

 private:
  PyThread_type_lock lock_;
};

}  // namespace

void Turns::wait(unsigned long me) {
  if (is_finalizing()) {  // the turn of a thread that won't end it
    PyErr_SetString(PyExc_RuntimeError, "Python ends, and a call of another thread was cut off");
    throw PythonError{};
  }
  const Gate gate;
  Waiter waiter{gate.get(), me};
  (first_ ? last_->next : first_) = &waiter;
  last_ = &waiter;
  while (!waiter.served && depth_ > 0) {
    waiter.impatient |= waiter.woken;
    waiter.woken = false;
    if (!pass(waiter.gate) && PyErr_CheckSignals() < 0) {
      leave(waiter);
      if (waiter.served)
        give();
      else if (depth_ == 0 && first_)
        pass_on();  // it was this one's to take
      throw PythonError{};
    }
  }
  leave(waiter);
  owner_ = me;
  depth_ = 1;
}

void Turns::leave(Waiter &waiter) {
  Waiter *before = nullptr;
  for (Waiter *other = first_; other != &waiter; other = other->next) {
    if (!other) return;  // in a forked child
    before = other;
  }
  (before ? before->next : first_) = waiter.next;
  if (last_ == &waiter) last_ = before;
}

void Turns::pass_on() {
  if (first_->impatient) {
    first_->served = true;
    owner_ = first_->thread;
    depth_ = 1;
  } else if (first_->woken) {
    return;
  }
  first_->woken = true;
  PyThread_release_lock(first_->gate);
}

void Turns::renew() {
  first_ = last_ = nullptr;
  if (!is_taken_here()) depth_ = 0;
}

Turns *turns_of(PyObject *object) {
  return Py_IS_TYPE(object, turns_type) ? reinterpret_cast<Turns *>(object) : nullptr;
}

// ---- Python objects ----------------------------------------------------------------------------

namespace {

// A function that is called in turn.
struct InTurn {
  PyObject_HEAD vectorcallfunc call;
  PyObject *turns, *function;
};

Turns &turns_in(PyObject *self) {
  return *reinterpret_cast<Turns *>(self);
}

PyObject *enter(PyObject *self, PyObject *) {
  try {
    turns_in(self).take();
  } catch (const PythonError &) {
    return nullptr;
  }
  Py_RETURN_NONE;
}

PyObject *leave(PyObject *self, PyObject *) {
  if (!turns_in(self).is_taken_here()) {
    PyErr_SetString(PyExc_RuntimeError, "it is another thread's turn, or nobody's");
    return nullptr;
  }
  turns_in(self).give();
  Py_RETURN_NONE;
}

PyObject *renew(PyObject *self, PyObject *) {
  turns_in(self).renew();
  Py_RETURN_NONE;
}

PyObject *call_in_turn(PyObject *self, PyObject *const *arguments, size_t count, PyObject *names) {
  const auto &bound = *reinterpret_cast<InTurn *>(self);
  try {
    const Turn turn(turns_in(bound.turns));
    return PyObject_Vectorcall(bound.function, arguments, count, names);
  } catch (const PythonError &) {
    return nullptr;
  }
}

PyObject *bind(PyObject *self, PyObject *function) {
  PyObject *made = in_turn_type->tp_alloc(in_turn_type, 0);
  if (!made) return nullptr;
  auto *bound = reinterpret_cast<InTurn *>(made);
  bound->call = call_in_turn;
  bound->turns = Py_NewRef(self);
  bound->function = Py_NewRef(function);
  return made;
}

void free_turns(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

int traverse(PyObject *self, visitproc visit, void *arg) {
  const auto &bound = *reinterpret_cast<InTurn *>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(bound.turns);
  Py_VISIT(bound.function);
  return 0;
}

void free_in_turn(PyObject *self) {
  PyObject_GC_UnTrack(self);
  PyTypeObject *type = Py_TYPE(self);
  Py_XDECREF(reinterpret_cast<InTurn *>(self)->function);
  Py_XDECREF(reinterpret_cast<InTurn *>(self)->turns);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMethodDef turns_methods[] = {
    {"__enter__", enter, METH_NOARGS, "Waits for this thread's turn, which it may have already."},
    {"__exit__", leave, METH_VARARGS, "Ends the turn; RuntimeError if it isn't this thread's."},
    {"bound", bind, METH_O, "The function as one that is called in turn."},
    {"renew", renew, METH_NOARGS, "In a forked child: only this thread may have its turn."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot turns_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void *>(free_turns)},
    {Py_tp_methods, turns_methods},
    {0, nullptr},
};

PyType_Spec turns_specification = {"tesseract_host.Turns", sizeof(Turns), 0, Py_TPFLAGS_DEFAULT,
                                   turns_slots};

PyMemberDef in_turn_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(InTurn, call), READONLY, nullptr},
    {"function", T_OBJECT, offsetof(InTurn, function), READONLY, "What is called."},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot in_turn_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void *>(free_in_turn)},
    {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
    {Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
    {Py_tp_members, in_turn_members},
    {0, nullptr},
};

PyType_Spec in_turn_specification = {"tesseract_host.InTurn", sizeof(InTurn), 0,
                                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                         Py_TPFLAGS_HAVE_VECTORCALL |
                                         Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                     in_turn_slots};

PyTypeObject *created(PyType_Spec &specification) {
  return reinterpret_cast<PyTypeObject *>(own(PyType_FromSpec(&specification)).release());
}

}  // namespace

Ref create_turns_type() {
  if (!in_turn_type) in_turn_type = created(in_turn_specification);
  if (!turns_type) turns_type = created(turns_specification);
  return Ref(Py_NewRef(reinterpret_cast<PyObject *>(turns_type)));
}

}  // namespace tesseract::python
