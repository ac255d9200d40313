#include "schema.h"

#include <structmember.h>

#include <new>
#include <string_view>
#include <utility>

#include "check.h"

namespace tesseract::python::engine {
namespace {

PyTypeObject *schema_type = nullptr;

struct Schema {
  PyObject_HEAD Node node;
};

[[noreturn]] void refuse(const char *what) {
  PyErr_Format(PyExc_ValueError, "no description of a schema: %s", what);
  throw PythonError{};
}

constexpr std::pair<std::string_view, Kind> kKinds[] = {
    {"any", Kind::kAny},     {"none", Kind::kNone},         {"bool", Kind::kBool},
    {"int", Kind::kInt},     {"float", Kind::kFloat},       {"str", Kind::kStr},
    {"array", Kind::kArray}, {"optional", Kind::kOptional}, {"list", Kind::kList},
    {"tuple", Kind::kTuple}, {"dict", Kind::kDict},         {"model", Kind::kModel},
    {"after", Kind::kAfter}, {"foreign", Kind::kForeign},
};

Kind kind_of(PyObject *description) {
  if (!PyTuple_Check(description) || PyTuple_GET_SIZE(description) < 1) refuse("not a tuple");
  const char *name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(description, 0));
  if (!name) throw PythonError{};
  for (const auto &[text, kind] : kKinds) {
    if (text == name) return kind;
  }
  refuse("unknown kind");
}

PyObject *part(PyObject *description, Py_ssize_t index) {
  if (!PyTuple_Check(description) || index >= PyTuple_GET_SIZE(description)) refuse("too short");
  return PyTuple_GET_ITEM(description, index);
}

PyObject *callable_part(PyObject *description, Py_ssize_t index) {
  PyObject *function = part(description, index);
  if (!PyCallable_Check(function)) refuse("no callable");
  return function;
}

Node read(PyObject *description);

void read_function(Node &node, PyObject *description, Py_ssize_t index) {
  node.function = Ref(Py_NewRef(callable_part(description, index)));
  node.runs_functions = true;
}

void read_array(Node &node, PyObject *description) {
  PyObject *check = part(description, 1);
  node.leaf = leaf_of(check);
  if (!node.leaf) refuse("no CHECK");
  node.owner = Ref(Py_NewRef(check));
}

void add_inner(Node &node, PyObject *description) {
  node.inner.push_back(read(description));
  node.runs_functions |= node.inner.back().runs_functions;
}

Ref interned(PyObject *text) {
  if (!PyUnicode_CheckExact(text)) refuse("a name is no str");
  PyObject *name = Py_NewRef(text);
  PyUnicode_InternInPlace(&name);
  return Ref(name);
}

// (name, key, node, kind of default, default)
Field read_field(PyObject *description) {
  Field field;
  field.name = interned(part(description, 0));
  field.key = interned(part(description, 1));
  field.node = read(part(description, 2));
  const long absent = PyLong_AsLong(part(description, 3));
  if (absent < 0 || absent > static_cast<long>(Default::kFactory)) refuse("unknown default");
  field.absent = static_cast<Default>(absent);
  if (field.absent == Default::kFactory) callable_part(description, 4);
  field.value = Ref(Py_NewRef(part(description, 4)));
  return field;
}

// True for a factory that is a function of the user's.
bool has_own_factory(const Field &field) {
  if (field.absent != Default::kFactory) return false;
  const auto *factory = reinterpret_cast<PyTypeObject *>(field.value.get());
  return factory != &PyDict_Type && factory != &PyList_Type && factory != &PySet_Type;
}

// ("model", class, user's class, extra, fields)
void read_model(Node &node, PyObject *description) {
  auto model = std::make_unique<ModelClass>();
  model->type = Ref(Py_NewRef(part(description, 1)));
  model->base = Ref(Py_NewRef(part(description, 2)));
  if (!PyType_Check(model->base.get())) refuse("no class");
  const Ref offsets = slot_offsets(model->type.get());
  if (!PyTuple_Check(offsets.get())) refuse("instances of the class can't be made");
  check(PyArg_ParseTuple(offsets.get(), "nnn", &model->fields_set, &model->extra,
                         &model->private_attributes)
            ? 0
            : -1);
  model->made.note(model->type.get(), false);
  model->dumped.note(model->base.get(), true);
  const long extra = PyLong_AsLong(part(description, 3));
  if (extra < 0 || extra > static_cast<long>(Extra::kAllow)) refuse("unknown extra");
  model->extras = static_cast<Extra>(extra);
  PyObject *fields = part(description, 4);
  if (!PyTuple_Check(fields)) refuse("no fields");
  const Ref names = own(PyList_New(0));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fields); i++) {
    model->fields.push_back(read_field(PyTuple_GET_ITEM(fields, i)));
    const Field &field = model->fields.back();
    node.runs_functions |= field.node.runs_functions || has_own_factory(field);
    check(PyList_Append(names.get(), field.name.get()));
  }
  model->names = own(PyFrozenSet_New(names.get()));
  node.model = std::move(model);
}

void read_tuple(Node &node, PyObject *description) {
  PyObject *items = part(description, 1);
  if (!PyTuple_Check(items)) refuse("no items");
  node.is_variadic = PyObject_IsTrue(part(description, 2)) == 1;
  if (node.is_variadic && PyTuple_GET_SIZE(items) != 1) refuse("no single item");
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items); i++) {
    add_inner(node, PyTuple_GET_ITEM(items, i));
  }
}

Node read(PyObject *description) {
  if (Py_EnterRecursiveCall(" in a schema")) throw PythonError{};
  struct Leave {
    ~Leave() { Py_LeaveRecursiveCall(); }
  } leave;
  Node node;
  node.kind = kind_of(description);
  switch (node.kind) {
    case Kind::kArray:
      read_array(node, description);
      break;
    case Kind::kOptional:
    case Kind::kList:
    case Kind::kDict:
      add_inner(node, part(description, 1));
      break;
    case Kind::kTuple:
      read_tuple(node, description);
      break;
    case Kind::kModel:
      read_model(node, description);
      break;
    case Kind::kAfter:
      add_inner(node, part(description, 1));
      read_function(node, description, 2);
      break;
    case Kind::kForeign:
      read_function(node, description, 1);
      break;
    default:
      break;
  }
  return node;
}

// ---- The Python object -------------------------------------------------------------------------

Schema *as_schema(PyObject *self) {
  return reinterpret_cast<Schema *>(self);
}

void schema_dealloc(PyObject *self) {
  PyObject_GC_UnTrack(self);
  PyTypeObject *type = Py_TYPE(self);
  as_schema(self)->node.~Node();
  type->tp_free(self);
  Py_DECREF(type);
}

int schema_traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  return traverse(as_schema(self)->node, visit, arg);
}

PyObject *or_none(Ref result) {
  if (result) return result.release();
  return PyErr_Occurred() ? nullptr : Py_NewRef(Py_None);
}

// A tuple of what was made, or None: a result may be None itself.
PyObject *packed(Ref result) {
  if (!result) return or_none(std::move(result));
  return PyTuple_Pack(1, result.get());
}

PyObject *schema_accept(PyObject *self, PyObject *arguments) {
  PyObject *value = nullptr, *make = nullptr;
  if (!PyArg_ParseTuple(arguments, "O|O", &value, &make)) return nullptr;
  Context context(make);
  const Node &node = as_schema(self)->node;
  if (node.runs_functions && !provable(node, value)) return or_none({});
  return packed(accept(node, value, context));
}

PyObject *schema_plain(PyObject *self, PyObject *arguments) {
  PyObject *value = nullptr, *make = nullptr;
  int dumped = 0;
  if (!PyArg_ParseTuple(arguments, "Op|O", &value, &dumped, &make)) return nullptr;
  Context context(make);
  return packed(
      plain(as_schema(self)->node, value, dumped ? Source::kDumped : Source::kGiven, context));
}

PyMethodDef methods[] = {
    {"accept", schema_accept, METH_VARARGS,
     "accept(value, make_context=None): (what a module is given,), or None for a miss."},
    {"plain", schema_plain, METH_VARARGS,
     "plain(value, is_instance, make_context=None): (what a caller is given,), or None."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void *>(schema_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void *>(schema_traverse)},
    {Py_tp_methods, methods},
    {0, nullptr},
};

PyType_Spec spec = {"tesseract_host.loader.CompiledSchema", sizeof(Schema), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                    slots};

// The offset of a class's slot; -1 where it is no plain one.
Py_ssize_t slot_offset(PyObject *type, const char *name) {
  const Ref descriptor(PyObject_GetAttrString(type, name));
  if (!descriptor) {
    PyErr_Clear();
    return -1;
  }
  if (!Py_IS_TYPE(descriptor.get(), &PyMemberDescr_Type)) return -1;
  const PyMemberDef *member = reinterpret_cast<PyMemberDescrObject *>(descriptor.get())->d_member;
  return member->type == T_OBJECT_EX ? member->offset : -1;
}

}  // namespace

void create_schema_type() {
  if (schema_type) return;
  schema_type = reinterpret_cast<PyTypeObject *>(own(PyType_FromSpec(&spec)).release());
}

Ref compile(PyObject *description) {
  Node node = read(description);
  auto *schema = PyObject_GC_New(Schema, schema_type);
  if (!schema) throw PythonError{};
  new (&schema->node) Node(std::move(node));
  PyObject_GC_Track(schema);
  return Ref(reinterpret_cast<PyObject *>(schema));
}

Ref slot_offsets(PyObject *type) {
  if (!PyType_Check(type)) return Ref(Py_NewRef(Py_None));
  auto *object = reinterpret_cast<PyTypeObject *>(type);
  const bool is_plain = object->tp_new == PyBaseObject_Type.tp_new &&
                        object->tp_alloc == PyType_GenericAlloc && object->tp_itemsize == 0 &&
                        !(object->tp_flags & Py_TPFLAGS_IS_ABSTRACT);
  const Py_ssize_t fields_set = slot_offset(type, "__pydantic_fields_set__");
  const Py_ssize_t extra = slot_offset(type, "__pydantic_extra__");
  const Py_ssize_t private_attributes = slot_offset(type, "__pydantic_private__");
  if (!is_plain || fields_set < 0 || extra < 0 || private_attributes < 0) {
    return Ref(Py_NewRef(Py_None));
  }
  return own(Py_BuildValue("(nnn)", fields_set, extra, private_attributes));
}

const Node *node_of(PyObject *schema) {
  return Py_IS_TYPE(schema, schema_type) ? &as_schema(schema)->node : nullptr;
}

}  // namespace tesseract::python::engine
