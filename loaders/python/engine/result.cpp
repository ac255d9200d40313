// What a module returned, as the plain tree that its caller gets.
#include "../cp/parts.h"
#include "entries.h"
#include "errors.h"
#include "leaf.h"
#include "node.h"

namespace tesseract::python::engine {
namespace {

// The attributes of an instance of exactly the user's class, borrowed from `held`, as long as they
// are those of a validated one.
Ref attributes(const ModelClass &model, PyObject *value) {
  if (!Py_IS_TYPE(value, reinterpret_cast<PyTypeObject *>(model.base.get()))) return {};
  PyObject *extra = part(value, model.extra);
  if (extra && extra != Py_None && !(PyDict_CheckExact(extra) && PyDict_GET_SIZE(extra) == 0)) {
    return {};
  }
  Ref dict(PyObject_GenericGetDict(value, nullptr));
  if (!dict || !PyDict_CheckExact(dict.get())) return missed();
  const auto expected = static_cast<Py_ssize_t>(model.fields.size());
  return PyDict_GET_SIZE(dict.get()) == expected ? std::move(dict) : Ref();
}

// What a default comes to in a result: dumped, which checks arrays and nothing else.
Ref plain_default(const Field &field, Context &context) {
  if (field.absent == Default::kFactory) return {};
  const Ref value = default_of(field);
  if (!value) return {};
  return plain(field.node, value.get(), Source::kDumped, context);
}

Ref plain_model(const ModelClass &model, PyObject *value, Source source, Context &context) {
  Ref held;
  if (!model.holds(source)) return {};
  if (source == Source::kDumped) {
    held = attributes(model, value);
    if (!held) return {};
    value = held.get();
  } else if (!PyDict_CheckExact(value)) {
    return {};
  }
  Ref dict(PyDict_New());
  if (!dict) return missed();
  Py_ssize_t given = 0;
  for (const Field &field : model.fields) {
    const Ref item(Py_XNewRef(PyDict_GetItemWithError(value, field.name.get())));
    if (!item && (PyErr_Occurred() || source == Source::kDumped)) return missed();
    const Ref accepted =
        item ? plain(field.node, item.get(), source, context) : plain_default(field, context);
    if (!accepted) return {};
    if (item) given++;
    if (PyDict_SetItem(dict.get(), field.name.get(), accepted.get()) < 0) return missed();
  }
  if (model.extras != Extra::kIgnore && given != PyDict_GET_SIZE(value)) return {};
  return dict;
}

// Containers: lists for lists and tuples for tuples, as pydantic dumps them.
Ref plain_items(const Node &node, PyObject *value, Source source, Context &context) {
  const bool is_list = node.kind == Kind::kList;
  if (!(is_list ? PyList_CheckExact(value) : PyTuple_CheckExact(value))) return {};
  Ref list(PyList_New(0));
  if (!list) return missed();
  const bool is_same = is_list || node.is_variadic;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); i++) {
    const auto position = is_same ? 0 : static_cast<size_t>(i);
    if (position >= node.inner.size()) return {};
    const Ref given(Py_NewRef(PySequence_Fast_GET_ITEM(value, i)));
    const Ref accepted = plain(node.inner[position], given.get(), source, context);
    if (!accepted) return {};
    if (PyList_Append(list.get(), accepted.get()) < 0) return missed();
  }
  if (is_list) return list;
  if (!is_same && PyList_GET_SIZE(list.get()) != static_cast<Py_ssize_t>(node.inner.size())) {
    return {};
  }
  Ref tuple(PyList_AsTuple(list.get()));
  return tuple ? std::move(tuple) : missed();
}

// What pydantic hands on as it is, whatever the field's type.
bool is_opaque(PyObject *value) {
  return value == Py_None || PyBool_Check(value) || PyLong_CheckExact(value) ||
         PyFloat_CheckExact(value) || PyUnicode_CheckExact(value) || PyBytes_CheckExact(value) ||
         PyArray_CheckExact(value);
}

Ref plain_foreign(const Node &node, PyObject *value, Source source, Context &context) {
  Ref result = accept(node, value, context);
  // A value of another type in an instance makes pydantic warn.
  if (result && source == Source::kDumped && Py_TYPE(result.get()) != Py_TYPE(value)) return {};
  return result;
}

}  // namespace

Ref plain(const Node &node, PyObject *value, Source source, Context &context) {
  switch (node.kind) {
    case Kind::kAny:
      return is_opaque(value) ? Ref(Py_NewRef(value)) : Ref();
    case Kind::kArray:
      // A dump takes no encoded arrays.
      if (source == Source::kDumped && PyDict_Check(value)) return {};
      return read_only(accept_leaf(*node.leaf, value, context));
    case Kind::kFloat:
      if (source == Source::kDumped && !PyFloat_CheckExact(value)) return {};
      return accept(node, value, context);
    case Kind::kOptional:
      if (value == Py_None) return Ref(Py_NewRef(value));
      return plain(node.inner[0], value, source, context);
    case Kind::kList:
    case Kind::kTuple:
      return plain_items(node, value, source, context);
    case Kind::kDict:
      return each_entry(
          value, [&](PyObject *given) { return plain(node.inner[0], given, source, context); });
    case Kind::kModel:
      return plain_model(*node.model, value, source, context);
    case Kind::kAfter:
      return {};
    case Kind::kForeign:
      return plain_foreign(node, value, source, context);
    default:
      return accept(node, value, context);
  }
}

}  // namespace tesseract::python::engine
