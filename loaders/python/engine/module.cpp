#include "module.h"

#include <new>

#include "../../../python/arrays/device_array.h"
#include "../cp/constructor.h"
#include "../cp/turns.h"
#include "check.h"
#include "device_functions.h"
#include "endpoint.h"
#include "numpy.h"
#include "schema.h"
#include "thread_log.h"

namespace tesseract::python::engine {
namespace {

// As in tesseract_host/_engine.py.
constexpr const char *kName = "tesseract_host._native._engine";
constexpr long kRevision = 3;

// Runs a function and leaves the exception set where it throws.
template <typename Function>
PyObject *guarded(Function function) {
  try {
    return function().release();
  } catch (const PythonError &) {
  } catch (const std::bad_alloc &) {
    PyErr_NoMemory();
  }
  return nullptr;
}

PyObject *compile_function(PyObject *, PyObject *description) {
  return guarded([&] { return compile(description); });
}

PyObject *slot_offsets_function(PyObject *, PyObject *type) {
  return guarded([&] { return slot_offsets(type); });
}

PyObject *quicken_function(PyObject *, PyObject *schema) {
  return guarded([&] {
    const Node *node = node_of(schema);
    if (node) quicken(*node);
    return Ref(Py_NewRef(Py_None));
  });
}

PyObject *path_set_function(PyObject *, PyObject *arguments) {
  PyObject *ins = nullptr, *outs = nullptr;
  if (!PyArg_ParseTuple(arguments, "O!O!", &PyTuple_Type, &ins, &PyTuple_Type, &outs)) {
    return nullptr;
  }
  return guarded([&] { return make_path_set(ins, outs); });
}

PyObject *or_none(PyObject *log) {
  return log ? log : Py_None;
}

PyObject *exchange_log_function(PyObject *, PyObject *log) {
  // Who put the log there keeps it alive until it takes it away.
  return Py_NewRef(or_none(exchange_log(log == Py_None ? nullptr : log)));
}

PyObject *current_log_function(PyObject *, PyObject *) {
  return Py_NewRef(or_none(thread_log));
}

PyMethodDef functions[] = {
    {"path_set", path_set_function, METH_VARARGS, "The path set of two tuples of leaves."},
    {"exchange_log", exchange_log_function, METH_O,
     "Puts a log in place for this thread, which the caller keeps alive; returns the one before."},
    {"current_log", current_log_function, METH_NOARGS, "This thread's log, or None."},
    {"compile", compile_function, METH_O, "The compiled schema of a description."},
    {"quicken", quicken_function, METH_O,
     "Makes plain classes of a compiled result's quicker to make instances of."},
    {"slot_offsets", slot_offsets_function, METH_O,
     "Where pydantic's slots are in a class's instances, or None."},
    {"device_shape_and_dtype", device_shape_and_dtype, METH_O,
     "The shape of a device array, and its dtype's name; ValueError where it tells nonsense."},
    {"device_array", device_array_function, METH_VARARGS,
     "For tests: a DeviceArray of (address, shape, dtype's name, device, strides or None, stream, "
     "published, read-only, input)."},
    {"revoke", revoke_function, METH_O, "For tests: what the end of a call does to a DeviceArray."},
    {"open_exports", open_exports_function, METH_O,
     "For tests: how many DLPack imports of a DeviceArray are alive."},
    {"make_device_arrays", make_device_arrays, METH_VARARGS,
     "For benchmarks: makes and revokes so many views of one tensor, so many times."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "_engine",
    "Checks and endpoints of Python components, compiled.",
    -1,
    functions,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
};

}  // namespace

Ref module() {
  static PyObject *made = nullptr;
  if (made) return Ref(Py_NewRef(made));
  import_numpy();
  arrays::create_device_array_type();
  create_schema_type();
  Ref fresh = own(PyModule_Create(&definition));
  create_path_set_type();
  const Ref check_type = create_check_type();
  check(PyModule_AddObjectRef(fresh.get(), "Check", check_type.get()));
  const Ref state_type = create_state_type();
  check(PyModule_AddObjectRef(fresh.get(), "State", state_type.get()));
  const Ref turns_type = create_turns_type();
  check(PyModule_AddObjectRef(fresh.get(), "Turns", turns_type.get()));
  const Ref endpoint_type = create_endpoint_type();
  check(PyModule_AddObjectRef(fresh.get(), "Endpoint", endpoint_type.get()));
  auto *device_array = reinterpret_cast<PyObject *>(arrays::device_array_type());
  check(PyModule_AddObjectRef(fresh.get(), "DeviceArray", device_array));
  check(PyModule_AddIntConstant(fresh.get(), "REVISION", kRevision));
  made = Py_NewRef(fresh.get());
  return fresh;
}

void register_module() {
  PyObject *modules = PyImport_GetModuleDict();
  const Ref name = own(PyUnicode_FromString(kName));
  const int known = PyDict_Contains(modules, name.get());
  check(known);
  if (!known) check(PyDict_SetItem(modules, name.get(), module().get()));
}

}  // namespace tesseract::python::engine

// Python asks for this name.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" __attribute__((visibility("default"))) PyObject *PyInit__engine();

extern "C" PyObject *PyInit__engine() {
  return tesseract::python::engine::guarded([] { return tesseract::python::engine::module(); });
}
// NOLINTEND(bugprone-reserved-identifier)
