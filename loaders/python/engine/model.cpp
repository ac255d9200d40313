// Models without pydantic's help: instances, defaults, and what the collector must know.
#include "../cp/parts.h"
#include "errors.h"
#include "node.h"

namespace tesseract::python::engine {
namespace {

PyObject *deep_copy_function() {
  static PyObject *function = nullptr;
  if (!function) {
    const Ref module(PyImport_ImportModule("copy"));
    if (module) function = PyObject_GetAttrString(module.get(), "deepcopy");
  }
  return function;
}

Ref deep_copy(PyObject *value) {
  PyObject *function = deep_copy_function();
  Ref copy(function ? PyObject_CallOneArg(function, value) : nullptr);
  return copy ? std::move(copy) : missed();
}

int visit_model(const ModelClass &model, visitproc visit, void *arg) {
  for (const Ref *held : {&model.type, &model.base, &model.names}) Py_VISIT(held->get());
  for (const Unchanged *watched : {&model.made, &model.dumped}) {
    if (const int stop = watched->traverse(visit, arg)) return stop;
  }
  for (const Field &field : model.fields) {
    for (const Ref *held : {&field.name, &field.key, &field.value}) Py_VISIT(held->get());
    if (const int stop = traverse(field.node, visit, arg)) return stop;
  }
  return 0;
}

}  // namespace

Ref default_of(const Field &field) {
  switch (field.absent) {
    case Default::kConstant:
      return Ref(Py_NewRef(field.value.get()));
    case Default::kCopied:
      return deep_copy(field.value.get());
    case Default::kFactory: {
      Ref made(PyObject_CallNoArgs(field.value.get()));
      return made ? std::move(made) : refused();
    }
    case Default::kRequired:
      break;
  }
  return {};
}

Ref new_instance(const ModelClass &model, Ref dict, Ref fields_set) {
  auto *type = reinterpret_cast<PyTypeObject *>(model.type.get());
  Ref instance(type->tp_alloc(type, 0));
  if (!instance) return {};
  part(instance.get(), model.fields_set) = fields_set.release();
  part(instance.get(), model.private_attributes) = Py_NewRef(Py_None);
  if (PyObject_GenericSetDict(instance.get(), dict.get(), nullptr) < 0) return {};
  PyObject *extra = model.extras == Extra::kAllow ? PyDict_New() : Py_NewRef(Py_None);
  if (!extra) return {};
  part(instance.get(), model.extra) = extra;
  return instance;
}

int traverse(const Node &node, visitproc visit, void *arg) {
  Py_VISIT(node.owner.get());
  Py_VISIT(node.function.get());
  for (const Node &inner : node.inner) {
    if (const int stop = traverse(inner, visit, arg)) return stop;
  }
  return node.model ? visit_model(*node.model, visit, arg) : 0;
}

}  // namespace tesseract::python::engine
