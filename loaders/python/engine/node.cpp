#include "node.h"

#include "entries.h"
#include "errors.h"
#include "leaf.h"

namespace tesseract::python::engine {
namespace {

// Text that UTF-8 can hold; pydantic refuses lone surrogates.
bool is_text(PyObject *value) {
  if (!PyUnicode_CheckExact(value)) return false;
  if (PyUnicode_IS_ASCII(value) || PyUnicode_AsUTF8(value)) return true;
  PyErr_Clear();
  return false;
}

bool is_small_int(PyObject *value) {
  if (!PyLong_CheckExact(value)) return false;
  int overflow = 0;
  PyLong_AsLongLongAndOverflow(value, &overflow);
  return overflow == 0;
}

// A float from a float, or from an int that it holds exactly.
Ref as_float(PyObject *value) {
  if (PyFloat_CheckExact(value)) return Ref(Py_NewRef(value));
  if (!PyLong_CheckExact(value)) return {};
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  constexpr long long exact = 1LL << 53;
  if (overflow || number < -exact || number > exact) return {};
  Ref result(PyFloat_FromDouble(static_cast<double>(number)));
  return result ? std::move(result) : missed();
}

bool is_plain_kind(const Node &node, PyObject *value) {
  switch (node.kind) {
    case Kind::kAny:
      return true;
    case Kind::kNone:
      return value == Py_None;
    case Kind::kBool:
      return PyBool_Check(value);
    case Kind::kInt:
      return is_small_int(value);
    case Kind::kStr:
      return is_text(value);
    default:
      return false;
  }
}

// ---- Containers --------------------------------------------------------------------------------

// Lists and tuples become each other in pydantic's lax mode.  Items are owned while user code may
// run, and the length is looked at again each time.
template <typename Item>
Ref listed(PyObject *value, Item item) {
  if (!PyList_CheckExact(value) && !PyTuple_CheckExact(value)) return {};
  Ref list(PyList_New(0));
  if (!list) return missed();
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); i++) {
    const Ref given(Py_NewRef(PySequence_Fast_GET_ITEM(value, i)));
    const Ref accepted = item(i, given.get());
    if (!accepted) return {};
    if (PyList_Append(list.get(), accepted.get()) < 0) return missed();
  }
  return list;
}

Ref accept_list(const Node &node, PyObject *value, Context &context) {
  return listed(value,
                [&](Py_ssize_t, PyObject *given) { return accept(node.inner[0], given, context); });
}

Ref accept_tuple(const Node &node, PyObject *value, Context &context) {
  const auto count = static_cast<Py_ssize_t>(node.inner.size());
  const Ref list = listed(value, [&](Py_ssize_t i, PyObject *given) {
    if (node.is_variadic) return accept(node.inner[0], given, context);
    if (i >= count) return Ref();
    return accept(node.inner[static_cast<size_t>(i)], given, context);
  });
  if (!list || (!node.is_variadic && PyList_GET_SIZE(list.get()) != count)) return {};
  Ref tuple(PyList_AsTuple(list.get()));
  return tuple ? std::move(tuple) : missed();
}

Ref accept_dict(const Node &node, PyObject *value, Context &context) {
  return each_entry(value, [&](PyObject *given) { return accept(node.inner[0], given, context); });
}

// ---- Models ------------------------------------------------------------------------------------

// The names of the fields given, as a set.
class Names {
 public:
  explicit Names(const ModelClass &model) : model_(model) {}

  bool skip(size_t index) {
    if (set_) return true;
    set_ = Ref(PySet_New(nullptr));
    for (size_t i = 0; set_ && i < index; i++) {
      if (PySet_Add(set_.get(), model_.fields[i].name.get()) < 0) set_ = Ref();
    }
    return static_cast<bool>(set_);
  }

  bool add(size_t index) {
    return !set_ || PySet_Add(set_.get(), model_.fields[index].name.get()) == 0;
  }

  Ref finish() { return set_ ? std::move(set_) : Ref(PySet_New(model_.names.get())); }

 private:
  const ModelClass &model_;
  Ref set_;  // null while all fields so far were given
};

Ref accept_model(const ModelClass &model, PyObject *value, Context &context) {
  if (!PyDict_CheckExact(value) || !model.made.holds()) return {};
  Ref dict(PyDict_New());
  if (!dict) return missed();
  Names names(model);
  Py_ssize_t given = 0;
  for (size_t i = 0; i < model.fields.size(); i++) {
    const Field &field = model.fields[i];
    const Ref item(Py_XNewRef(PyDict_GetItemWithError(value, field.key.get())));
    if (!item && PyErr_Occurred()) return missed();
    const Ref accepted = item ? accept(field.node, item.get(), context) : default_of(field);
    if (!accepted) return {};
    if (item) given++;
    if (!(item ? names.add(i) : names.skip(i))) return missed();
    if (PyDict_SetItem(dict.get(), field.name.get(), accepted.get()) < 0) return missed();
  }
  // A function of the user's may have emptied it meanwhile.
  const Py_ssize_t size = PyDict_GET_SIZE(value);
  if (model.extras != Extra::kIgnore && given != size && size != 0) return {};
  Ref set = names.finish();
  if (!set) return missed();
  Ref instance = new_instance(model, std::move(dict), std::move(set));
  return instance ? std::move(instance) : missed();
}

Ref accept_after(const Node &node, PyObject *value, Context &context) {
  const Ref inner = accept(node.inner[0], value, context);
  if (!inner) return {};
  Ref result(PyObject_CallOneArg(node.function.get(), inner.get()));
  return result ? std::move(result) : refused();
}

// What another validator makes of the value, given the context.
Ref accept_foreign(const Node &node, PyObject *value, Context &context) {
  PyObject *given = context.get();
  if (!given) return missed();
  static PyObject *const names = Py_BuildValue("(s)", "context");
  PyObject *arguments[] = {value, given};
  if (!names) return missed();
  Ref result(PyObject_Vectorcall(node.function.get(), arguments, 1, names));
  return result ? std::move(result) : refused();
}

}  // namespace

Node::Node() = default;
Node::Node(Node &&) noexcept = default;
Node &Node::operator=(Node &&) noexcept = default;
Node::~Node() = default;

PyObject *Context::get() {
  if (!made_) made_ = make_ ? Ref(PyObject_CallNoArgs(make_)) : Ref(Py_NewRef(Py_None));
  return made_.get();
}

Ref accept(const Node &node, PyObject *value, Context &context) {
  switch (node.kind) {
    case Kind::kArray:
      return accept_leaf(*node.leaf, value, context);
    case Kind::kFloat:
      return as_float(value);
    case Kind::kOptional:
      if (value == Py_None) return Ref(Py_NewRef(value));
      return accept(node.inner[0], value, context);
    case Kind::kList:
      return accept_list(node, value, context);
    case Kind::kTuple:
      return accept_tuple(node, value, context);
    case Kind::kDict:
      return accept_dict(node, value, context);
    case Kind::kModel:
      return accept_model(*node.model, value, context);
    case Kind::kAfter:
      return accept_after(node, value, context);
    case Kind::kForeign:
      return accept_foreign(node, value, context);
    default:
      return is_plain_kind(node, value) ? Ref(Py_NewRef(value)) : Ref();
  }
}

namespace {

bool provable_items(const Node &node, PyObject *value) {
  if (!PyList_CheckExact(value) && !PyTuple_CheckExact(value)) return false;
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(value);
  if (node.kind == Kind::kTuple && !node.is_variadic &&
      size != static_cast<Py_ssize_t>(node.inner.size())) {
    return false;
  }
  const bool is_same = node.kind == Kind::kList || node.is_variadic;
  for (Py_ssize_t i = 0; i < size; i++) {
    const Node &inner = node.inner[is_same ? 0 : static_cast<size_t>(i)];
    if (!provable(inner, PySequence_Fast_GET_ITEM(value, i))) return false;
  }
  return true;
}

bool provable_dict(const Node &node, PyObject *value) {
  if (!PyDict_CheckExact(value)) return false;
  Py_ssize_t position = 0;
  PyObject *key = nullptr, *item = nullptr;
  while (PyDict_Next(value, &position, &key, &item)) {
    if (!is_text(key) || !provable(node.inner[0], item)) return false;
  }
  return true;
}

bool provable_model(const ModelClass &model, PyObject *value) {
  if (!PyDict_CheckExact(value) || !model.made.holds()) return false;
  Py_ssize_t position = 0, given = 0;
  PyObject *key = nullptr, *ignored = nullptr;
  while (PyDict_Next(value, &position, &key, &ignored)) {
    if (!PyUnicode_CheckExact(key)) return false;  // comparing others may run user code
  }
  for (const Field &field : model.fields) {
    PyObject *item = PyDict_GetItemWithError(value, field.key.get());
    if (!item && field.absent == Default::kRequired) return false;
    if (!item) continue;
    given++;
    if (!provable(field.node, item)) return false;
  }
  return model.extras == Extra::kIgnore || given == PyDict_GET_SIZE(value);
}

}  // namespace

bool provable(const Node &node, PyObject *value) {
  switch (node.kind) {
    case Kind::kArray: {
      if (fitting(*node.leaf, value)) return true;
      const bool is_known = PyArray_CheckExact(value) || PyFloat_CheckExact(value) ||
                            PyLong_CheckExact(value) || PyList_CheckExact(value);
      return is_known && converted(*node.leaf, value);
    }
    case Kind::kFloat:
      return static_cast<bool>(as_float(value));
    case Kind::kOptional:
      return value == Py_None || provable(node.inner[0], value);
    case Kind::kList:
    case Kind::kTuple:
      return provable_items(node, value);
    case Kind::kDict:
      return provable_dict(node, value);
    case Kind::kModel:
      return provable_model(*node.model, value);
    case Kind::kAfter:
      return provable(node.inner[0], value);
    case Kind::kForeign:
      return true;  // what it refuses, pydantic refuses: the call fails
    default:
      return is_plain_kind(node, value);
  }
}

}  // namespace tesseract::python::engine
