#include "endpoint.h"

#include <structmember.h>

#include <cstddef>
#include <cstring>

#include "../cp/errors.h"
#include "check.h"
#include "errors.h"
#include "thread_log.h"

namespace tesseract::python::engine {
namespace {

PyTypeObject *endpoint_type = nullptr;

constexpr size_t kMaxParts = 4;  // inputs, ins, outs, vector

size_t count_parts(Product product) {
  if (product == Product::kApply) return 1;
  return product == Product::kJacobian ? 3 : 4;
}

// What the module's function is called with.
struct Request {
  Ref function;
  Ref parts[kMaxParts];
  Ref paths;  // a path set; null for apply

  const PathSet *path_set() const { return paths ? path_set_of(paths.get()) : nullptr; }
};

// ---- Before the module -------------------------------------------------------------------------

Ref accepted_inputs(const Endpoint &endpoint, PyObject *inputs, Context &context) {
  const Node &node = *node_of(endpoint.inputs);
  if (node.runs_functions && !provable(node, inputs)) return {};
  return accept(node, inputs, context);
}

bool all_exist(const PathSet &paths, PyObject *inputs) {
  for (const PathLeaf &leaf : paths.ins) {
    if (leaf.must_exist && !at(leaf, inputs)) return false;
  }
  return true;
}

// The module's function, looked up each time since the module may replace it.
Ref function_of(const Endpoint &endpoint) {
  Ref function(Py_XNewRef(PyDict_GetItemWithError(endpoint.namespace_, endpoint.name)));
  return function ? std::move(function) : missed();
}

// Cheap proofs come first, since the inputs may run functions of the user's.  False for a miss.
bool build(const Endpoint &endpoint, PyObject *const *given, Request &request, Context &context) {
  request.function = function_of(endpoint);
  if (!request.function) return false;
  if (endpoint.product != Product::kApply) {
    request.paths = path_set(endpoint, given[1], given[2]);
    if (!request.paths) return false;
  }
  request.parts[0] = accepted_inputs(endpoint, given[0], context);
  if (!request.parts[0]) return false;
  if (endpoint.product == Product::kApply) return true;
  const PathSet &paths = *request.path_set();
  if (!all_exist(paths, request.parts[0].get())) return false;
  request.parts[1] = Ref(PySet_New(paths.in_paths));
  request.parts[2] = Ref(PySet_New(paths.out_paths));
  if (!request.parts[1] || !request.parts[2]) {
    forget_exception();
    return false;
  }
  if (endpoint.product == Product::kJacobian) return true;
  request.parts[3] = checked_seeds(endpoint, given[3], paths, request.parts[0].get(), context);
  return static_cast<bool>(request.parts[3]);
}

// ---- The module and after ----------------------------------------------------------------------

// Puts the component's error in place of an Exception of the module's or of the check's.
PyObject *fail(const Endpoint &endpoint) {
  if (!PyErr_ExceptionMatches(PyExc_Exception)) return nullptr;
  const Ref raised = take_exception();
  Ref error(PyObject_CallOneArg(endpoint.failed, raised.get()));
  if (!error) return nullptr;
  PyObject *error_type = Py_NewRef(reinterpret_cast<PyObject *>(Py_TYPE(error.get())));
  PyErr_Restore(error_type, error.release(), nullptr);
  return nullptr;
}

Ref call_module(const Endpoint &endpoint, Request &request) {
  PyObject *arguments[1 + kMaxParts] = {};
  const size_t count = count_parts(endpoint.product);
  for (size_t i = 0; i < count; i++) arguments[1 + i] = request.parts[i].get();
  const size_t positional = endpoint.names ? 0 : count;
  return Ref(PyObject_Vectorcall(request.function.get(), arguments + 1,
                                 positional | PY_VECTORCALL_ARGUMENTS_OFFSET, endpoint.names));
}

Ref checked_by_python(const Endpoint &endpoint, PyObject *returned, const PathSet *paths,
                      Context &context) {
  PyObject *given = context.get();
  if (!given) return {};
  PyObject *arguments[] = {returned, paths ? paths->in_paths : Py_None,
                           paths ? paths->out_paths : Py_None, given};
  return Ref(PyObject_Vectorcall(endpoint.checked, arguments, 4, nullptr));
}

Ref call_and_check(const Endpoint &endpoint, Request &request, Context &context) {
  const Ref returned = call_module(endpoint, request);
  if (!returned) return {};
  const PathSet *paths = request.path_set();
  Ref result = checked_result(endpoint, returned.get(), paths, context);
  if (result || PyErr_Occurred()) return result;
  return checked_by_python(endpoint, returned.get(), paths, context);
}

// Ends the thread's open line whatever happened; an exception stays.
bool finish(const Endpoint &endpoint) {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  const Ref done(PyObject_CallNoArgs(endpoint.finish));
  if (!done) {
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return false;
  }
  PyErr_Restore(type, value, traceback);
  return true;
}

PyObject *invoke(const Endpoint &endpoint, Request &request, Context &context) {
  Ref result = call_and_check(endpoint, request, context);
  if (endpoint.state->unfinished && !finish(endpoint)) result = Ref();
  return result ? result.release() : fail(endpoint);
}

// ---- The surroundings --------------------------------------------------------------------------

// The second half of a call as a function for `surround`: ((parts..., path set)).
PyObject *endpoint_resume(PyObject *self, PyObject *packed) {
  const Endpoint &endpoint = *reinterpret_cast<Endpoint *>(self);
  Request request;
  const size_t count = count_parts(endpoint.product);
  if (!PyTuple_Check(packed) || static_cast<size_t>(PyTuple_GET_SIZE(packed)) != count + 1) {
    PyErr_SetString(PyExc_TypeError, "no request");
    return nullptr;
  }
  for (size_t i = 0; i < count; i++) {
    request.parts[i] = Ref(Py_NewRef(PyTuple_GET_ITEM(packed, static_cast<Py_ssize_t>(i))));
  }
  PyObject *paths = PyTuple_GET_ITEM(packed, static_cast<Py_ssize_t>(count));
  const bool has_paths = path_set_of(paths) != nullptr;
  if (has_paths != (endpoint.product != Product::kApply)) {
    PyErr_SetString(PyExc_TypeError, "no request");
    return nullptr;
  }
  if (has_paths) request.paths = Ref(Py_NewRef(paths));
  request.function = function_of(endpoint);
  if (!request.function) {
    if (!PyErr_Occurred()) PyErr_SetObject(PyExc_AttributeError, endpoint.name);
    return nullptr;
  }
  Context context(endpoint.make_context);
  Ref result = call_and_check(endpoint, request, context);
  return result ? result.release() : fail(endpoint);
}

// Runs the rest inside of what the Python side opens and closes around a call.
PyObject *invoke_surrounded(PyObject *self, Request &request) {
  const Endpoint &endpoint = *reinterpret_cast<Endpoint *>(self);
  const size_t count = count_parts(endpoint.product);
  const Ref packed(PyTuple_New(static_cast<Py_ssize_t>(count + 1)));
  const Ref resume(PyObject_GetAttrString(self, "resume"));
  if (!packed || !resume) return nullptr;
  for (size_t i = 0; i < count; i++) {
    PyTuple_SET_ITEM(packed.get(), static_cast<Py_ssize_t>(i), request.parts[i].release());
  }
  PyTuple_SET_ITEM(packed.get(), static_cast<Py_ssize_t>(count),
                   request.paths ? request.paths.release() : Py_NewRef(Py_None));
  PyObject *arguments[] = {resume.get(), packed.get()};
  return PyObject_Vectorcall(endpoint.surround, arguments, 2, nullptr);
}

PyObject *endpoint_call(PyObject *self, PyObject *const *arguments, size_t nargs, PyObject *names) {
  const Endpoint &endpoint = *reinterpret_cast<Endpoint *>(self);
  const size_t count = count_parts(endpoint.product);
  if (names || static_cast<size_t>(PyVectorcall_NARGS(nargs)) != count) {
    PyErr_Format(PyExc_TypeError, "%U takes %zu positional arguments", endpoint.name, count);
    return nullptr;
  }
  const LogScope scope(endpoint.log);
  Context context(endpoint.make_context);
  Request request;
  if (!build(endpoint, arguments, request, context)) {
    if (PyErr_Occurred()) return nullptr;
    return PyObject_Vectorcall(endpoint.general, arguments, count, nullptr);
  }
  if (endpoint.state->surround) return invoke_surrounded(self, request);
  return invoke(endpoint, request, context);
}

// A payload, a dict with exactly the names of what the endpoint takes; others are for `whole`.
PyObject *endpoint_payload(PyObject *self, PyObject *payload) {
  const Endpoint &endpoint = *reinterpret_cast<Endpoint *>(self);
  const size_t count = count_parts(endpoint.product);
  Ref held[kMaxParts];
  PyObject *given[kMaxParts] = {};
  bool fits = PyDict_CheckExact(payload) && static_cast<size_t>(PyDict_GET_SIZE(payload)) == count;
  for (size_t i = 0; fits && i < count; i++) {
    PyObject *name = PyTuple_GET_ITEM(endpoint.keys, static_cast<Py_ssize_t>(i));
    held[i] = Ref(Py_XNewRef(PyDict_GetItemWithError(payload, name)));
    if (!held[i] && PyErr_Occurred()) return nullptr;
    given[i] = held[i].get();
    fits = given[i] != nullptr;
  }
  return fits ? endpoint_call(self, given, count, nullptr)
              : PyObject_CallOneArg(endpoint.whole, payload);
}

// ---- The Python object -------------------------------------------------------------------------

struct Member {
  const char *name;
  PyObject *Endpoint::*member;
};

constexpr Member kObjects[] = {
    {"inputs", &Endpoint::inputs},
    {"outputs", &Endpoint::outputs},
    {"namespace", &Endpoint::namespace_},
    {"name", &Endpoint::name},
    {"names", &Endpoint::names},
    {"keys", &Endpoint::keys},
    {"whole", &Endpoint::whole},
    {"log", &Endpoint::log},
    {"make_context", &Endpoint::make_context},
    {"general", &Endpoint::general},
    {"checked", &Endpoint::checked},
    {"failed", &Endpoint::failed},
    {"surround", &Endpoint::surround},
    {"finish", &Endpoint::finish},
    {"resolve", &Endpoint::resolve},
    {"exact", &Endpoint::exact},
    {"any", &Endpoint::any},
};

[[noreturn]] void refuse(const char *what) {
  PyErr_Format(PyExc_TypeError, "no endpoint: %s", what);
  throw PythonError{};
}

Product product_of(PyObject *text) {
  constexpr const char *names[] = {"apply", "jvp", "vjp", "jacobian"};
  const char *name = text ? PyUnicode_AsUTF8(text) : nullptr;
  for (int i = 0; name && i < 4; i++) {
    if (std::strcmp(name, names[i]) == 0) return static_cast<Product>(i);
  }
  refuse("unknown name");
}

void check_members(const Endpoint &endpoint) {
  if (!endpoint.inputs || !node_of(endpoint.inputs)) refuse("inputs");
  if (endpoint.outputs && !node_of(endpoint.outputs)) refuse("outputs");
  if (!endpoint.namespace_ || !PyDict_Check(endpoint.namespace_)) refuse("namespace");
  if (!endpoint.name || !PyUnicode_Check(endpoint.name)) refuse("name");
  const auto count = static_cast<Py_ssize_t>(count_parts(endpoint.product));
  if (!endpoint.keys || !PyTuple_Check(endpoint.keys) || PyTuple_GET_SIZE(endpoint.keys) != count) {
    refuse("keys");
  }
  for (PyObject *needed : {endpoint.log, endpoint.whole, endpoint.make_context, endpoint.general,
                           endpoint.checked, endpoint.failed, endpoint.surround, endpoint.finish}) {
    if (!needed) refuse("something is missing");
  }
  if (endpoint.product == Product::kApply) {
    if (endpoint.names) refuse("names");
    return;
  }
  if (!endpoint.any || !leaf_of(endpoint.any) || !endpoint.resolve || !endpoint.exact) {
    refuse("no check of arrays");
  }
  if (!endpoint.names || !PyTuple_Check(endpoint.names) ||
      PyTuple_GET_SIZE(endpoint.names) != count) {
    refuse("names");
  }
}

// Endpoint(kind, state, **members); None for a member is none.
PyObject *endpoint_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  PyObject *kind = nullptr, *state = nullptr;
  if (!PyArg_ParseTuple(arguments, "UO", &kind, &state)) return nullptr;
  Ref made(type->tp_alloc(type, 0));
  if (!made) return nullptr;
  auto *endpoint = reinterpret_cast<Endpoint *>(made.get());
  endpoint->call = endpoint_call;
  try {
    endpoint->product = product_of(kind);
    endpoint->state = state_of(state);
    Py_INCREF(state);
    for (const Member &member : kObjects) {
      PyObject *value = keywords ? PyDict_GetItemString(keywords, member.name) : nullptr;
      const bool is_log = std::strcmp(member.name, "log") == 0;
      if (value && (value != Py_None || is_log)) endpoint->*member.member = Py_NewRef(value);
    }
    check_members(*endpoint);
    endpoint->cache = own(PyDict_New()).release();
  } catch (const PythonError &) {
    return nullptr;
  }
  return made.release();
}

int endpoint_traverse(PyObject *self, visitproc visit, void *arg) {
  auto *endpoint = reinterpret_cast<Endpoint *>(self);
  Py_VISIT(Py_TYPE(self));
  for (const Member &member : kObjects) Py_VISIT(endpoint->*member.member);
  Py_VISIT(endpoint->cache);
  return 0;
}

void endpoint_dealloc(PyObject *self) {
  PyObject_GC_UnTrack(self);
  auto *endpoint = reinterpret_cast<Endpoint *>(self);
  PyTypeObject *type = Py_TYPE(self);
  for (const Member &member : kObjects) Py_CLEAR(endpoint->*member.member);
  Py_CLEAR(endpoint->cache);
  Py_XDECREF(reinterpret_cast<PyObject *>(endpoint->state));
  type->tp_free(self);
  Py_DECREF(type);
}

PyMethodDef methods[] = {
    {"payload", endpoint_payload, METH_O, "The same of a dict of what the endpoint takes."},
    {"resume", endpoint_resume, METH_O, "The second half of a call."},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Endpoint, call), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void *>(endpoint_new)},
    {Py_tp_dealloc, reinterpret_cast<void *>(endpoint_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void *>(endpoint_traverse)},
    {Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {0, nullptr},
};

PyType_Spec spec = {"tesseract_host.loader.Endpoint", sizeof(Endpoint), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots};

}  // namespace

Ref create_endpoint_type() {
  if (!endpoint_type) {
    endpoint_type = reinterpret_cast<PyTypeObject *>(own(PyType_FromSpec(&spec)).release());
  }
  return Ref(Py_NewRef(reinterpret_cast<PyObject *>(endpoint_type)));
}

}  // namespace tesseract::python::engine
