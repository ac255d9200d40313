#include "endpoint.h"

#include <structmember.h>

#include <array>
#include <cstddef>

#include "call.h"
#include "errors.h"

namespace tesseract::binding {
namespace {

constexpr size_t kRemembered = 32;

struct Endpoint {
  PyObject ob_base;
  vectorcallfunc call;
  PyObject *general;
  PyObject *finish;
  uint64_t stream;  // of its calls; 0: the producers say
  // The most recent first; null from the first null on.
  std::array<PyObject *, kRemembered> calls;
};

Endpoint *as_endpoint(PyObject *self) {
  return reinterpret_cast<Endpoint *>(self);
}

void move_to_front(Endpoint &endpoint, size_t index) {
  PyObject *call = endpoint.calls[index];
  for (; index > 0; index--) endpoint.calls[index] = endpoint.calls[index - 1];
  endpoint.calls[0] = call;
}

// The result of the call, if it serves these arguments; null, with no exception, if not.
PyObject *try_call(Endpoint &endpoint, size_t index, PyObject *const *arguments, size_t count,
                   Readings &readings) {
  PyObject *object = endpoint.calls[index];
  Call &call = *reinterpret_cast<Call *>(object);
  const Ref kept(Py_NewRef(object));
  Tensors tensors(call.positions->size());
  const Pattern::Match match{*call.positions, call.allows_copies, tensors, readings};
  if (!call.pattern || !call.pattern->matches_arguments(arguments, count, match)) return nullptr;
  tensors.settle(endpoint.stream);
  if (index && endpoint.calls[index] == object) move_to_front(endpoint, index);
  Ref parts;
  Ref result = run_for_form(call, tensors, parts);
  if (result) return result.release();
  const Ref all = own(PyTuple_Pack(1, object));
  const Ref together = own(PySequence_Concat(all.get(), parts.get()));
  return own(PyObject_CallObject(endpoint.finish, together.get())).release();
}

PyObject *call_endpoint(PyObject *self, PyObject *const *arguments, size_t flags, PyObject *names) {
  return guarded([&]() -> PyObject * {
    Endpoint &endpoint = *as_endpoint(self);
    const auto count = static_cast<size_t>(PyVectorcall_NARGS(flags));
    if (names && PyTuple_GET_SIZE(names)) {
      PyErr_SetString(PyExc_TypeError, "an endpoint takes its arguments by position");
      throw PythonError{};
    }
    Readings readings(endpoint.stream);
    for (size_t i = 0; i < kRemembered && endpoint.calls[i]; i++) {
      if (PyObject *result = try_call(endpoint, i, arguments, count, readings)) return result;
    }
    Ref given = own(PyTuple_New(static_cast<Py_ssize_t>(count) + 1));
    PyTuple_SET_ITEM(given.get(), 0, Py_NewRef(self));
    for (size_t i = 0; i < count; i++) {
      PyTuple_SET_ITEM(given.get(), static_cast<Py_ssize_t>(i) + 1, Py_NewRef(arguments[i]));
    }
    return PyObject_CallObject(endpoint.general, given.get());
  });
}

PyObject *create(PyTypeObject *type, PyObject *arguments, PyObject *) {
  return guarded([&] {
    PyObject *general = nullptr, *finish = nullptr;
    unsigned long long stream = 0;
    if (!PyArg_ParseTuple(arguments, "OO|K", &general, &finish, &stream)) throw PythonError{};
    Ref object = own(type->tp_alloc(type, 0));
    Endpoint &endpoint = *as_endpoint(object.get());
    endpoint.call = call_endpoint;
    endpoint.general = Py_NewRef(general);
    endpoint.finish = Py_NewRef(finish);
    endpoint.stream = stream;
    return object.release();
  });
}

PyObject *remember(PyObject *self, PyObject *call) {
  return guarded([&]() -> PyObject * {
    if (!is_call(call) || !reinterpret_cast<Call *>(call)->pattern) {
      PyErr_SetString(PyExc_TypeError, "remember takes a Call that knows its arguments");
      throw PythonError{};
    }
    auto &calls = as_endpoint(self)->calls;
    const Ref last(calls[kRemembered - 1]);
    for (size_t i = kRemembered - 1; i > 0; i--) calls[i] = calls[i - 1];
    calls[0] = Py_NewRef(call);
    Py_RETURN_NONE;
  });
}

PyObject *remembered(PyObject *self, void *) {
  size_t count = 0;
  while (count < kRemembered && as_endpoint(self)->calls[count]) count++;
  return PyLong_FromSize_t(count);
}

int traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(as_endpoint(self)->general);
  Py_VISIT(as_endpoint(self)->finish);
  for (PyObject *call : as_endpoint(self)->calls) Py_VISIT(call);
  return 0;
}

int clear(PyObject *self) {
  Endpoint &endpoint = *as_endpoint(self);
  for (PyObject *&call : endpoint.calls) Py_CLEAR(call);
  Py_CLEAR(endpoint.general);
  Py_CLEAR(endpoint.finish);
  return 0;
}

void destroy(PyObject *self) {
  PyObject_GC_UnTrack(self);
  clear(self);
  PyTypeObject *type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMethodDef methods[] = {
    {"remember", remember, METH_O, "remember(call): the least recently used is forgotten for it."},
    {},
};

PyGetSetDef properties[] = {
    {"remembered", remembered, nullptr, "How many calls it remembers.", nullptr},
    {},
};

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Endpoint, call), READONLY, nullptr},
    {},
};

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void *>(create)},
    {Py_tp_dealloc, reinterpret_cast<void *>(destroy)},
    {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
    {Py_tp_clear, reinterpret_cast<void *>(clear)},
    {Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
    {Py_tp_getset, properties},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {},
};

PyType_Spec specification = {"tesseract_host._native._host.Endpoint", sizeof(Endpoint), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
                             slots};

}  // namespace

void add_endpoint_type(PyObject *module) {
  static PyObject *type = own(PyType_FromSpec(&specification)).release();
  check(PyModule_AddObjectRef(module, "Endpoint", type));
}

}  // namespace tesseract::binding
