#include "constructor.h"

#include <memory>
#include <unordered_map>
#include <vector>

#include "../engine/leaf.h"
#include "../engine/schema.h"

namespace tesseract::python {
namespace {

using engine::Kind;
using engine::Node;

// A field's check, without references to the class.
struct PlainField {
  Ref name;
  Kind kind;
  bool nullable;
  const engine::Leaf *leaf;  // of `owner`
  Ref owner;
};

struct Constructor {
  std::vector<PlainField> fields;
  Ref names;    // a set of them
  Ref expires;  // weak reference that ends this with the class
  Py_ssize_t fields_set, extra, private_attributes;
  unsigned int version;  // of the class, which may be changed
  ternaryfunc call;      // of its metaclass
};

// By class; never destroyed, as classes may outlive static objects.  Guarded by the GIL.
std::unordered_map<PyObject *, std::unique_ptr<Constructor>> &constructors() {
  static auto &all = *new std::unordered_map<PyObject *, std::unique_ptr<Constructor>>;
  return all;
}

PyTypeObject *as_type(PyObject *object) {
  return reinterpret_cast<PyTypeObject *>(object);
}

PyObject *ordinary(PyObject *type, PyObject *const *arguments, size_t nargs, PyObject *names) {
  const Py_ssize_t count = PyVectorcall_NARGS(nargs);
  const Ref positional(PyTuple_New(count));
  Ref keywords(names ? PyDict_New() : nullptr);
  if (!positional || (names && !keywords)) return nullptr;
  for (Py_ssize_t i = 0; i < count; i++) {
    PyTuple_SET_ITEM(positional.get(), i, Py_NewRef(arguments[i]));
  }
  for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++) {
    PyObject *name = PyTuple_GET_ITEM(names, i);
    if (PyDict_SetItem(keywords.get(), name, arguments[count + i]) < 0) return nullptr;
  }
  return Py_TYPE(type)->tp_call(type, positional.get(), keywords.get());
}

// The value as the field's check would pass it on; null for what is left to pydantic.
Ref passed(const PlainField &field, PyObject *value) {
  if (value == Py_None) return field.nullable ? Ref(Py_NewRef(value)) : Ref();
  bool fits = false;
  switch (field.kind) {
    case Kind::kArray:
      return engine::fitting(*field.leaf, value);
    case Kind::kBool:
      fits = PyBool_Check(value);
      break;
    case Kind::kInt:
      fits = PyLong_CheckExact(value);
      break;
    case Kind::kFloat:
      fits = PyFloat_CheckExact(value);
      break;
    case Kind::kStr:
      fits = PyUnicode_CheckExact(value) && PyUnicode_IS_ASCII(value);
      break;
    default:
      break;
  }
  return fits ? Ref(Py_NewRef(value)) : Ref();
}

// The argument of this name; null where there is none.
PyObject *argument(PyObject *const *arguments, PyObject *names, PyObject *name, Py_ssize_t likely) {
  if (PyTuple_GET_ITEM(names, likely) == name) return arguments[likely];
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
    if (PyTuple_GET_ITEM(names, i) == name) return arguments[i];
  }
  return nullptr;
}

void put(PyObject *instance, Py_ssize_t offset, PyObject *value) {
  *reinterpret_cast<PyObject **>(reinterpret_cast<char *>(instance) + offset) = value;
}

// Null, without an exception, where an argument is left to pydantic.
PyObject *construct(const Constructor &plain, PyObject *type, PyObject *const *arguments,
                    PyObject *names) {
  const Ref dict(PyDict_New());
  for (size_t i = 0; dict && i < plain.fields.size(); i++) {
    const PlainField &field = plain.fields[i];
    PyObject *given = argument(arguments, names, field.name.get(), static_cast<Py_ssize_t>(i));
    const Ref value = given ? passed(field, given) : Ref();
    if (!value) return nullptr;
    if (PyDict_SetItem(dict.get(), field.name.get(), value.get()) < 0) return nullptr;
  }
  Ref set(dict ? PySet_New(plain.names.get()) : nullptr);
  Ref instance(set ? as_type(type)->tp_alloc(as_type(type), 0) : nullptr);
  if (!instance) return nullptr;
  put(instance.get(), plain.fields_set, set.release());
  put(instance.get(), plain.extra, Py_NewRef(Py_None));
  put(instance.get(), plain.private_attributes, Py_NewRef(Py_None));
  if (PyObject_GenericSetDict(instance.get(), dict.get(), nullptr) < 0) return nullptr;
  return instance.release();
}

PyObject *call(PyObject *type, PyObject *const *arguments, size_t nargs, PyObject *names) {
  const auto found = constructors().find(type);
  if (found != constructors().end() && names && PyVectorcall_NARGS(nargs) == 0) {
    const Constructor &plain = *found->second;
    if (plain.version == as_type(type)->tp_version_tag && Py_TYPE(type)->tp_call == plain.call &&
        PyTuple_GET_SIZE(names) == static_cast<Py_ssize_t>(plain.fields.size())) {
      if (PyObject *made = construct(plain, type, arguments, names)) return made;
      PyErr_Clear();
    }
  }
  return ordinary(type, arguments, nargs, names);
}

PyObject *forget(PyObject *address, PyObject *) {
  constructors().erase(static_cast<PyObject *>(PyLong_AsVoidPtr(address)));
  Py_RETURN_NONE;
}

PyMethodDef forget_definition = {"forget", forget, METH_O, nullptr};

// False for a field that only pydantic can check.
bool add_field(Constructor &plain, const engine::Field &field) {
  const bool nullable = field.node.kind == Kind::kOptional;
  const Node &node = nullable ? field.node.inner[0] : field.node;
  switch (node.kind) {
    case Kind::kArray:
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kFloat:
    case Kind::kStr:
      break;
    default:
      return false;
  }
  plain.fields.push_back({Ref(Py_NewRef(field.name.get())), node.kind, nullable, node.leaf,
                          Ref(Py_XNewRef(node.owner.get()))});
  return true;
}

[[maybe_unused]] void quicken_class(
    const engine::ModelClass &model) {  // before 3.12 the slot has no effect
  PyObject *type = model.base.get();
  PyTypeObject *object = as_type(type);
  if (object->tp_vectorcall || Py_TYPE(type)->tp_call != PyType_Type.tp_call ||
      !PyType_HasFeature(Py_TYPE(type), Py_TPFLAGS_HAVE_VECTORCALL) ||
      model.extras == engine::Extra::kAllow || model.fields.empty()) {
    return;
  }
  const Ref offsets = engine::slot_offsets(type);
  auto plain = std::make_unique<Constructor>();
  if (!PyTuple_Check(offsets.get())) return;
  if (!PyArg_ParseTuple(offsets.get(), "nnn", &plain->fields_set, &plain->extra,
                        &plain->private_attributes)) {
    throw PythonError{};
  }
  plain->names = own(PySet_New(nullptr));
  for (const engine::Field &field : model.fields) {
    if (!add_field(*plain, field)) return;
    check(PySet_Add(plain->names.get(), field.name.get()));
  }
  // Looking something up gives the class its version.
  own(PyObject_GetAttrString(type, "__pydantic_fields_set__"));
  plain->version = object->tp_version_tag;
  if (plain->version == 0) return;
  plain->call = Py_TYPE(type)->tp_call;
  const Ref address = own(PyLong_FromVoidPtr(type));
  const Ref expire = own(PyCFunction_New(&forget_definition, address.get()));
  plain->expires = own(PyWeakref_NewRef(type, expire.get()));
  constructors()[type] = std::move(plain);
  object->tp_vectorcall = call;
}

}  // namespace

void quicken(const Node &node) {
#if PY_VERSION_HEX >= 0x030C0000
  if (node.kind == Kind::kModel) {
    quicken_class(*node.model);
    for (const engine::Field &field : node.model->fields) quicken(field.node);
  }
  for (const Node &inner : node.inner) quicken(inner);
#else
  static_cast<void>(node);
#endif
}

}  // namespace tesseract::python
