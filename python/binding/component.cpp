#include "component.h"

#include <structmember.h>

#include <memory>

#include "../ending/ending.h"
#include "call.h"
#include "errors.h"

namespace tesseract::binding {
namespace {

PyTypeObject *type = nullptr;

bool python_lives() {
  return Py_IsInitialized() && !python::is_finalizing();
}

// A stay in Python of a thread that may hold the GIL already.
class Entry {
 public:
  Entry() : held_(python_lives() && PyGILState_Check()), lives_(held_) {
    if (held_ || !python_lives() || !python::arrive()) return;
    python::Barrier barrier;
    state_ = PyGILState_Ensure();
    barrier.pass();
    lives_ = true;
  }
  ~Entry() {
    if (held_ || !lives_) return;
    leave();
    python::depart();
  }
  Entry(const Entry &) = delete;
  Entry &operator=(const Entry &) = delete;

  // False: Python is gone or about to be.
  explicit operator bool() const { return lives_; }

 private:
  // What a thread-local object does when it dies may take the GIL away for ever.
  void leave() const {
    python::Barrier barrier;
    PyGILState_Release(state_);
    barrier.pass();
  }

  const bool held_;
  bool lives_;
  PyGILState_STATE state_{};
};

void call_log(PyObject *function, int level, const char *text, uint64_t length) {
  // What an interrupt or an error of the call has set is not this function's.
  PyObject *error_type = nullptr, *error = nullptr, *traceback = nullptr;
  PyErr_Fetch(&error_type, &error, &traceback);
  Py_INCREF(function);
  python::Barrier barrier;
  PyObject *line = PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(length), "backslashreplace");
  PyObject *done = line ? PyObject_CallFunction(function, "iO", level, line) : nullptr;
  if (!done) PyErr_WriteUnraisable(function);
  Py_XDECREF(done);
  Py_XDECREF(line);
  Py_DECREF(function);
  barrier.pass();
  PyErr_Restore(error_type, error, traceback);
}

// [any], with the GIL or not.  What a thread says when Python is about to end is lost.
void write_log(void *data, int32_t level, const char *text, uint64_t length) {
  const Entry entry;
  if (!entry) return;
  PyObject *function = static_cast<Log *>(data)->function;
  if (function) call_log(function, level, text, length);
}

void free_log(void *data) {
  const std::unique_ptr<Log> log(static_cast<Log *>(data));
  if (!log->function) return;
  const Entry entry;
  if (!entry) return;
  python::Barrier barrier;
  Py_CLEAR(log->function);
  barrier.pass();
}

int traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  const auto *component = reinterpret_cast<Component *>(self);
  if (component->log) Py_VISIT(component->log->function);
  return 0;
}

int clear(PyObject *self) {
  const auto *component = reinterpret_cast<Component *>(self);
  if (component->log) Py_CLEAR(component->log->function);
  return 0;
}

void close(Component *component) {
  tesseract_component *handle = std::exchange(component->handle, nullptr);
  component->log = nullptr;
  if (!handle) return;
  const Unlocked unlocked;
  tesseract_close(handle);
}

void destroy(PyObject *self) {
  PyObject_GC_UnTrack(self);
  auto *component = reinterpret_cast<Component *>(self);
  PyObject *error_type = nullptr, *error = nullptr, *traceback = nullptr;
  PyErr_Fetch(&error_type, &error, &traceback);
  if (component->weak_references) PyObject_ClearWeakRefs(self);
  close(component);
  PyErr_Restore(error_type, error, traceback);
  PyTypeObject *own_type = Py_TYPE(self);
  own_type->tp_free(self);
  Py_DECREF(own_type);
}

PyObject *pointer(PyObject *self, void *) {
  return guarded([&] { return PyLong_FromVoidPtr(handle_of(self)); });
}

PyObject *text(PyObject *self, PyObject *which) {
  return guarded([&] {
    const long number = PyLong_AsLong(which);
    if (number == -1 && PyErr_Occurred()) throw PythonError{};
    tesseract_component *handle = handle_of(self);
    const char *data = nullptr;
    uint64_t length = 0;
    Error error;
    int32_t status = TESSERACT_OK;
    {
      const Unlocked unlocked;
      status = tesseract_component_text(handle, static_cast<int32_t>(number), &data, &length,
                                        error.out());
    }
    if (status != TESSERACT_OK) error.raise(status);
    return text_object(data, length).release();
  });
}

PyObject *statistics(PyObject *self, PyObject *) {
  return guarded([&] {
    tesseract_statistics counts = TESSERACT_STATISTICS_INIT;
    tesseract_component_statistics(handle_of(self), &counts);
    return Py_BuildValue("{sKsKsKsKsKsKsKsKsKsK}", "calls", counts.calls, "prepared",
                         counts.prepared, "layout_copies", counts.layout_copies, "layout_bytes",
                         counts.layout_bytes, "dtype_copies", counts.dtype_copies, "dtype_bytes",
                         counts.dtype_bytes, "device_copies", counts.device_copies, "device_bytes",
                         counts.device_bytes, "owned_copies", counts.owned_copies, "owned_bytes",
                         counts.owned_bytes);
  });
}

PyGetSetDef properties[] = {
    {"pointer", pointer, nullptr, "The address of the tesseract_component, as an int.", nullptr},
    {},
};

PyMethodDef methods[] = {
    {"text", text, METH_O, "text(which): one of the host's texts about the component."},
    {"prepare", reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(prepare_call)),
     METH_FASTCALL, "prepare(endpoint, paths, arrays, json, of, wrt, seeds) -> Call"},
    {"statistics", statistics, METH_NOARGS, "Counts of calls and copies since open, by name."},
    {},
};

PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Component, weak_references), READONLY, nullptr},
    {},
};

PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void *>(destroy)},
    {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
    {Py_tp_clear, reinterpret_cast<void *>(clear)},
    {Py_tp_getset, properties},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {},
};

PyType_Spec specification = {
    "tesseract_host._native._host.Component", sizeof(Component), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

// Null where nobody listens.
Log *make_log(PyObject *function) {
  return function == Py_None ? nullptr : new Log{Py_NewRef(function)};
}

void watch_end_once() {
  static bool watched = false;
  if (!watched && !python::watch_end()) throw PythonError{};
  watched = true;
}

}  // namespace

PyObject *open_component(PyObject *, PyObject *arguments) {
  return guarded([&] {
    const char *source = nullptr, *json = nullptr;
    Py_ssize_t source_length = 0, json_length = 0;
    PyObject *function = nullptr;
    if (!PyArg_ParseTuple(arguments, "y#y#O", &source, &source_length, &json, &json_length,
                          &function)) {
      throw PythonError{};
    }
    watch_end_once();
    Ref object = own(type->tp_alloc(type, 0));
    auto *component = reinterpret_cast<Component *>(object.get());
    Log *log = make_log(function);
    tesseract_open_options options = TESSERACT_OPEN_OPTIONS_INIT;
    options.json = {json, static_cast<uint64_t>(json_length)};
    if (log) {
      options.log = write_log;
      options.log_data = log;
      options.log_free = free_log;
    }
    Error error;
    int32_t status = TESSERACT_OK;
    {
      const Unlocked unlocked;
      status = tesseract_open(source, static_cast<uint64_t>(source_length), &options,
                              &component->handle, error.out());
    }
    if (status != TESSERACT_OK) error.raise(status);
    component->log = log;
    return object.release();
  });
}

void add_component_type(PyObject *module) {
  if (!type)
    type = reinterpret_cast<PyTypeObject *>(own(PyType_FromSpec(&specification)).release());
  check(PyModule_AddObjectRef(module, "Component", reinterpret_cast<PyObject *>(type)));
}

tesseract_component *handle_of(PyObject *object) {
  auto *handle = reinterpret_cast<Component *>(object)->handle;
  if (handle) return handle;
  PyErr_SetString(PyExc_RuntimeError, "the component is closed");
  throw PythonError{};
}

}  // namespace tesseract::binding
