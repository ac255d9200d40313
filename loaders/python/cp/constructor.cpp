#include "constructor.h"

#include <memory>
#include <unordered_map>
#include <vector>

#include "../engine/leaf.h"
#include "../engine/schema.h"
#include "parts.h"

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
  Ref spare;             // an instance that is nobody's, without values
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

bool is_own(PyObject *object) {
  return object && Py_REFCNT(object) == 1;
}

// An instance of the class as it was made, which nobody else has.
bool is_spare(const Constructor &plain, PyObject *type, PyObject *instance) {
  if (!Py_IS_TYPE(instance, as_type(type)) || !is_own(instance) || has_weak_references(instance) ||
      as_type(type)->tp_version_tag != plain.version || part(instance, plain.extra) != Py_None ||
      part(instance, plain.private_attributes) != Py_None) {
    return false;
  }
  const auto count = static_cast<Py_ssize_t>(plain.fields.size());
  return is_own_set(part(instance, plain.fields_set), count,
                    [&](Py_ssize_t i) { return plain.fields[static_cast<size_t>(i)].name.get(); });
}

// Takes the values out of a dict of exactly the fields, in order, that only its instance has.
bool empty(const Constructor &plain, PyObject *dict) {
  if (!PyDict_CheckExact(dict) || Py_REFCNT(dict) != 2 ||
      PyDict_GET_SIZE(dict) != static_cast<Py_ssize_t>(plain.fields.size())) {
    return false;
  }
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t position = 0;
  for (size_t i = 0; PyDict_Next(dict, &position, &key, &value); i++) {
    if (key != plain.fields[i].name.get()) return false;
  }
  for (const PlainField &field : plain.fields) {
    if (PyDict_SetItem(dict, field.name.get(), Py_None) < 0) return false;
  }
  return true;
}

// The spare instance with these values; null as `construct`.
PyObject *reconstruct(Constructor &plain, PyObject *const *arguments, PyObject *names) {
  Ref instance = std::move(plain.spare);
  PyObject_GC_Track(instance.get());
  const Ref dict(PyObject_GenericGetDict(instance.get(), nullptr));
  for (size_t i = 0; dict && i < plain.fields.size(); i++) {
    const PlainField &field = plain.fields[i];
    PyObject *given = argument(arguments, names, field.name.get(), static_cast<Py_ssize_t>(i));
    const Ref value = given ? passed(field, given) : Ref();
    if (!value || PyDict_SetItem(dict.get(), field.name.get(), value.get()) < 0) return nullptr;
  }
  return dict ? instance.release() : nullptr;
}

// Null, without an exception, where an argument is left to pydantic.
PyObject *construct(Constructor &plain, PyObject *type, PyObject *const *arguments,
                    PyObject *names) {
  if (plain.spare) return reconstruct(plain, arguments, names);
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
  part(instance.get(), plain.fields_set) = set.release();
  part(instance.get(), plain.extra) = Py_NewRef(Py_None);
  part(instance.get(), plain.private_attributes) = Py_NewRef(Py_None);
  if (PyObject_GenericSetDict(instance.get(), dict.get(), nullptr) < 0) return nullptr;
  return instance.release();
}

PyObject *call(PyObject *type, PyObject *const *arguments, size_t nargs, PyObject *names) {
  const auto found = constructors().find(type);
  if (found != constructors().end() && names && PyVectorcall_NARGS(nargs) == 0) {
    Constructor &plain = *found->second;
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

bool recycles = true;

Ref recycle(Ref instance) {
  PyObject *type = reinterpret_cast<PyObject *>(Py_TYPE(instance.get()));
  if (!recycles || as_type(type)->tp_vectorcall != call || as_type(type)->tp_finalize) return {};
  const auto found = constructors().find(type);
  if (found == constructors().end() || !is_spare(*found->second, type, instance.get())) return {};
  {
    const Ref dict(PyObject_GenericGetDict(instance.get(), nullptr));
    if (!dict || !empty(*found->second, dict.get())) {
      PyErr_Clear();
      return {};
    }
  }
  // Letting the values go may have run anything.
  if (!is_own(instance.get())) return {};
  PyObject_GC_UnTrack(instance.get());
  return instance;
}

Ref *offer(Ref &spare) {
  const auto found = constructors().find(reinterpret_cast<PyObject *>(Py_TYPE(spare.get())));
  if (found == constructors().end() || found->second->spare) return nullptr;
  found->second->spare = std::move(spare);
  return &found->second->spare;
}

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
