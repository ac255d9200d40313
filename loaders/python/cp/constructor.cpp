#include "constructor.h"

#include <memory>
#include <unordered_map>
#include <vector>

#include "../engine/leaf.h"
#include "../engine/schema.h"
#include "parts.h"
#include "spare_view.h"

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
  Ref copy;     // of that
  Ref expires;  // weak reference that ends this with the class
  Py_ssize_t fields_set, extra, private_attributes;
  unsigned int version;  // of the class, which may be changed
  ternaryfunc call;      // of its metaclass
  Ref spare;             // an instance that is nobody's, with None and spare views for values
};

// By class; never destroyed, as classes may outlive static objects.  Guarded by the GIL.
std::unordered_map<PyObject *, std::unique_ptr<Constructor>> &constructors() {
  static auto &all = *new std::unordered_map<PyObject *, std::unique_ptr<Constructor>>;
  return all;
}

// The last one asked for, which is mostly the next.
PyObject *last_type = nullptr;
Constructor *last = nullptr;

// Null where the class has none.
Constructor *constructor_of(PyObject *type) {
  if (type == last_type) return last;
  const auto found = constructors().find(type);
  if (found == constructors().end()) return nullptr;
  last_type = type;
  return last = found->second.get();
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
  PyObject *set = part(instance, plain.fields_set);
  if (is_own_copy(set, plain.copy.get())) return true;
  const auto count = static_cast<Py_ssize_t>(plain.fields.size());
  return is_own_set(set, count,
                    [&](Py_ssize_t i) { return plain.fields[static_cast<size_t>(i)].name.get(); });
}

// Before 3.14 a dict is known to the collector from the first value on that refers to others.
constexpr bool kTracksDicts = PY_VERSION_HEX >= 0x030E0000;

// True for a dict of exactly the fields, in order, that only its instance has.
bool is_spare_dict(const Constructor &plain, PyObject *dict) {
  if (!PyDict_CheckExact(dict) || Py_REFCNT(dict) != 2 ||
      PyDict_GET_SIZE(dict) != static_cast<Py_ssize_t>(plain.fields.size()) ||
      PyObject_GC_IsTracked(dict) != kTracksDicts) {
    return false;
  }
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t position = 0;
  for (const PlainField &field : plain.fields) {
    if (!PyDict_Next(dict, &position, &key, &value) || key != field.name.get()) return false;
  }
  return true;
}

// Takes the values out of the dict, which nobody can see meanwhile: views of arrays that nothing
// else refers to lose their array and stay, all others become None.
bool empty(const Constructor &plain, PyObject *dict) {
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t position = 0;
  for (const PlainField &field : plain.fields) {
    if (!PyDict_Next(dict, &position, &key, &value)) return false;
    if (is_spare_view(value)) {
      const Ref array = detach_spare_view(value);
    } else if (PyDict_SetItem(dict, field.name.get(), Py_None) < 0) {
      return false;
    }
  }
  return true;
}

// Gives the dict's value of a field; false where the argument is left to pydantic, or with an
// exception.  `before` is what `empty` left.
bool renew(const PlainField &field, PyObject *dict, PyObject *before, PyObject *given) {
  if (!given) return false;
  if (before != Py_None && field.kind == Kind::kArray && PyArray_CheckExact(given) &&
      engine::fits_writeable(*field.leaf, given) && attach_spare_view(before, given)) {
    return true;
  }
  const Ref value = passed(field, given);
  return value && PyDict_SetItem(dict, field.name.get(), value.get()) == 0;
}

// The spare instance with these values; null as `construct`.
PyObject *reconstruct(Constructor &plain, PyObject *const *arguments, PyObject *names) {
  const Ref instance = std::move(plain.spare);
  const Ref dict(PyObject_GenericGetDict(instance.get(), nullptr));
  if (!dict) return nullptr;
  PyObject *key = nullptr, *before = nullptr;
  Py_ssize_t position = 0;
  for (size_t i = 0; i < plain.fields.size(); i++) {
    const PlainField &field = plain.fields[i];
    if (!PyDict_Next(dict.get(), &position, &key, &before)) return nullptr;
    PyObject *given = argument(arguments, names, field.name.get(), static_cast<Py_ssize_t>(i));
    if (!renew(field, dict.get(), before, given)) return nullptr;
  }
  PyObject_GC_Track(instance.get());
  if (kTracksDicts) PyObject_GC_Track(dict.get());
  return Py_NewRef(instance.get());
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
  Constructor *found = constructor_of(type);
  if (found && names && PyVectorcall_NARGS(nargs) == 0) {
    Constructor &plain = *found;
    if (plain.version == as_type(type)->tp_version_tag && Py_TYPE(type)->tp_call == plain.call &&
        PyTuple_GET_SIZE(names) == static_cast<Py_ssize_t>(plain.fields.size())) {
      if (PyObject *made = construct(plain, type, arguments, names)) return made;
      PyErr_Clear();
    }
  }
  return ordinary(type, arguments, nargs, names);
}

PyObject *forget(PyObject *address, PyObject *) {
  last_type = nullptr;
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
  plain->copy = own(PySet_New(plain->names.get()));
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
  const Constructor *plain = constructor_of(type);
  if (!plain || !is_spare(*plain, type, instance.get())) return {};
  const Ref dict(PyObject_GenericGetDict(instance.get(), nullptr));
  if (!dict || !is_spare_dict(*plain, dict.get())) {
    PyErr_Clear();
    return {};
  }
  // Letting the values go may run anything, which does not see the instance, nor, without it, has
  // anything of the class.
  PyObject_GC_UnTrack(instance.get());
  if (kTracksDicts) PyObject_GC_UnTrack(dict.get());
  if (!empty(*plain, dict.get())) {
    PyErr_Clear();
    return {};
  }
  return instance;
}

Ref *offer(Ref &spare) {
  Constructor *found = constructor_of(reinterpret_cast<PyObject *>(Py_TYPE(spare.get())));
  if (!found || found->spare) return nullptr;
  found->spare = std::move(spare);
  return &found->spare;
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
