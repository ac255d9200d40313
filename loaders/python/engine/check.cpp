#include "check.h"

#include <cstddef>
#include <new>

#include <structmember.h>

#include "errors.h"
#include "leaf.h"

namespace tesseract::python::engine {
namespace {

PyTypeObject *check_type = nullptr;

// True where the validation context may ask for more than the leaf does.
bool is_strict(PyObject *info) {
  static PyObject *const name = PyUnicode_InternFromString("context");
  static PyObject *const keys[] = {PyUnicode_InternFromString("strict_shapes"),
                                   PyUnicode_InternFromString("strict_types")};
  const Ref context(PyObject_GetAttr(info, name));
  if (!context) {
    PyErr_Clear();
    return true;
  }
  if (context.get() == Py_None) return false;
  if (!PyDict_CheckExact(context.get())) return true;
  for (PyObject *key : keys) {
    if (PyDict_Contains(context.get(), key) != 0) return true;
  }
  return false;
}

// The tiers in C; null with no exception, or with one that is no Exception.
Ref quick(const Leaf &leaf, PyObject *value, PyObject *info) {
  Ref result = fitting(leaf, value);
  if (result || PyErr_Occurred()) return result;
  if (PyDict_Check(value) || is_strict(info)) return {};
  return converted(leaf, value);
}

PyObject *call_slow(PyObject *function, PyObject *value, PyObject *info) {
  if (PyErr_Occurred()) return nullptr;
  PyObject *arguments[] = {value, info};
  return PyObject_Vectorcall(function, arguments, 2, nullptr);
}

PyObject *check_call(PyObject *self, PyObject *const *arguments, size_t count, PyObject *names) {
  if (names || PyVectorcall_NARGS(count) != 2) {
    PyErr_SetString(PyExc_TypeError, "an array check takes a value and a validation info");
    return nullptr;
  }
  auto *check = reinterpret_cast<Check *>(self);
  Ref result = quick(check->leaf, arguments[0], arguments[1]);
  if (result) return result.release();
  return call_slow(check->leaf.slow.get(), arguments[0], arguments[1]);
}

PyObject *check_dumped(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
  if (count != 2) {
    PyErr_SetString(PyExc_TypeError, "dumped() takes a value and a serialization info");
    return nullptr;
  }
  auto *check = reinterpret_cast<Check *>(self);
  Ref result = quick(check->leaf, arguments[0], arguments[1]);
  if (result) return result.release();
  return call_slow(check->dumped, arguments[0], arguments[1]);
}

PyObject *check_reduce(PyObject *self, PyObject *) {
  // By a name that a process without the engine has too.
  const Ref home(PyImport_ImportModule("tesseract_host.runtime._check"));
  const Ref make(home ? PyObject_GetAttrString(home.get(), "compiled") : nullptr);
  if (!make) return nullptr;
  auto *check = reinterpret_cast<Check *>(self);
  return Py_BuildValue("O(O)", make.get(), check->leaf.slow.get());
}

PyObject *check_get_array_check(PyObject *self, void *) {
  return Py_NewRef(reinterpret_cast<Check *>(self)->leaf.slow.get());
}

PyObject *check_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  PyObject *array_check = nullptr;
  static const char *names[] = {"array_check", nullptr};
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O", const_cast<char **>(names),
                                   &array_check)) {
    return nullptr;
  }
  Ref made(type->tp_alloc(type, 0));
  if (!made) return nullptr;
  auto *check = reinterpret_cast<Check *>(made.get());
  new (&check->leaf) Leaf;
  check->call = check_call;
  check->dumped = nullptr;
  try {
    read_leaf(check->leaf, array_check);
    check->dumped = own(PyObject_GetAttrString(array_check, "dumped")).release();
  } catch (const PythonError &) {
    return nullptr;
  } catch (const std::bad_alloc &) {
    PyErr_NoMemory();
    return nullptr;
  }
  return made.release();
}

void check_dealloc(PyObject *self) {
  auto *check = reinterpret_cast<Check *>(self);
  PyTypeObject *type = Py_TYPE(self);
  check->leaf.~Leaf();
  Py_XDECREF(check->dumped);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMethodDef methods[] = {
    {"dumped", reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(check_dumped)), METH_FASTCALL,
     "The array that a dump of a model gives for a field."},
    {"__reduce__", check_reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Check, call), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyGetSetDef properties[] = {
    {"array_check", check_get_array_check, nullptr, "What decides where this can't.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void *>(check_new)},
    {Py_tp_dealloc, reinterpret_cast<void *>(check_dealloc)},
    {Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_getset, properties},
    {0, nullptr},
};

PyType_Spec spec = {"tesseract_host.runtime.Check", sizeof(Check), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, slots};

}  // namespace

Ref create_check_type() {
  if (!check_type)
    check_type = reinterpret_cast<PyTypeObject *>(own(PyType_FromSpec(&spec)).release());
  return Ref(Py_NewRef(reinterpret_cast<PyObject *>(check_type)));
}

const Leaf *leaf_of(PyObject *check) {
  return Py_IS_TYPE(check, check_type) ? &reinterpret_cast<Check *>(check)->leaf : nullptr;
}

}  // namespace tesseract::python::engine
