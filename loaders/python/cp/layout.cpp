#include "layout.h"

#include <algorithm>

#include "../engine/errors.h"
#include "errors.h"

namespace tesseract::python {

using engine::Field;
using engine::ModelClass;
using engine::Node;

namespace {

// Thrown while compiling: the general route has to say what it makes of this.
struct NotKnown {};

bool is_immutable(PyObject *value) {
  return value == Py_None || PyBool_Check(value) || PyLong_CheckExact(value) ||
         PyFloat_CheckExact(value) || PyUnicode_CheckExact(value);
}

// A fresh tree with the objects of a frame in the place of slots.
struct Filler {
  PyObject *slot_type;
  const CallFrame &frame;

  Ref fill(PyObject *tree) const {
    if (PyDict_CheckExact(tree)) return fill_dict(tree);
    if (PyList_CheckExact(tree)) return fill_list(tree);
    if (Py_TYPE(tree) == reinterpret_cast<PyTypeObject *>(slot_type)) {
      return Ref(Py_NewRef(frame.object(position_of(tree))));
    }
    return Ref(Py_NewRef(tree));
  }

  static size_t position_of(PyObject *slot) {
    const Ref number = own(PyObject_GetAttrString(slot, "position"));
    const size_t position = PyLong_AsSize_t(number.get());
    if (PyErr_Occurred()) throw PythonError{};
    return position;
  }

 private:
  Ref fill_dict(PyObject *tree) const {
    Ref made = own(PyDict_New());
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t i = 0; PyDict_Next(tree, &i, &key, &value);) {
      check(PyDict_SetItem(made.get(), key, fill(value).get()));
    }
    return made;
  }

  Ref fill_list(PyObject *tree) const {
    Ref made = own(PyList_New(PyList_GET_SIZE(tree)));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(tree); i++) {
      PyList_SET_ITEM(made.get(), i, fill(PyList_GET_ITEM(tree, i)).release());
    }
    return made;
  }
};

}  // namespace

bool suits(const engine::Leaf &leaf, const Slot &slot) {
  const auto *descr = reinterpret_cast<PyArray_Descr *>(slot.descriptor.get());
  if (leaf.number >= 0 ? descr->type_num != leaf.number : descr->type_num >= NPY_USERDEF) {
    return false;
  }
  return leaf.rank < 0 || leaf.rank == slot.ndim;
}

struct Layout::Compiler {
  PyObject *slot_type;
  const std::vector<Slot> &slots;
  Layout &layout;

  Item compile(const Node &node, PyObject *tree) const {
    switch (node.kind) {
      case engine::Kind::kOptional:
        return tree == Py_None ? constant(node, tree) : compile(node.inner[0], tree);
      case engine::Kind::kAfter: {
        Item item = of(Kind::kAfter, node);
        item.inner.push_back(compile(node.inner[0], tree));
        return item;
      }
      case engine::Kind::kArray:
        if (is_slot(tree)) return slot(node, tree);
        break;
      case engine::Kind::kList:
      case engine::Kind::kTuple:
        if (PyList_CheckExact(tree)) return sequence(node, tree);
        break;
      case engine::Kind::kDict:
        if (PyDict_CheckExact(tree)) return dict(node, tree);
        break;
      case engine::Kind::kModel:
        if (PyDict_CheckExact(tree)) return model(node, tree);
        break;
      default:
        if (is_immutable(tree) && !node.runs_functions) return constant(node, tree);
        break;
    }
    return checked(node, tree);
  }

 private:
  bool is_slot(PyObject *tree) const {
    return Py_TYPE(tree) == reinterpret_cast<PyTypeObject *>(slot_type);
  }

  static Item of(Kind kind, const Node &node) {
    Item item;
    item.kind = kind;
    item.node = &node;
    return item;
  }

  static Item checked(const Node &node, PyObject *tree) {
    Item item = of(Kind::kChecked, node);
    item.value = Ref(Py_NewRef(tree));
    return item;
  }

  Item slot(const Node &node, PyObject *tree) const {
    const size_t position = Filler::position_of(tree);
    if (position >= slots.size()) throw NotKnown{};
    if (!suits(*node.leaf, slots[position])) return checked(node, tree);
    Item item = of(Kind::kSlot, node);
    item.slot = position;
    layout.shown_.push_back(position);
    for (size_t k = 0; k < node.leaf->axes.size(); k++) {
      if (node.leaf->axes[k] < 0) continue;
      layout.lengths_.push_back({position, k, node.leaf->axes[k]});
    }
    return item;
  }

  static Item constant(const Node &node, PyObject *tree) {
    engine::Context context(nullptr);
    Ref value = engine::accept(node, tree, context);
    if (!value) {
      if (PyErr_Occurred()) throw PythonError{};
      throw NotKnown{};
    }
    if (!is_immutable(value.get())) return checked(node, tree);
    Item item = of(Kind::kConstant, node);
    item.value = std::move(value);
    return item;
  }

  Item sequence(const Node &node, PyObject *tree) const {
    const bool each = node.kind == engine::Kind::kTuple && !node.is_variadic;
    const Py_ssize_t count = PyList_GET_SIZE(tree);
    if (each && static_cast<size_t>(count) != node.inner.size()) throw NotKnown{};
    Item item = of(node.kind == engine::Kind::kList ? Kind::kList : Kind::kTuple, node);
    for (Py_ssize_t i = 0; i < count; i++) {
      const Node &inner = node.inner[each ? static_cast<size_t>(i) : 0];
      item.inner.push_back(compile(inner, PyList_GET_ITEM(tree, i)));
    }
    return item;
  }

  Item dict(const Node &node, PyObject *tree) const {
    Item item = of(Kind::kDict, node);
    item.value = own(PyDict_Keys(tree));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(item.value.get()); i++) {
      PyObject *key = PyList_GET_ITEM(item.value.get(), i);
      if (!PyUnicode_CheckExact(key)) throw NotKnown{};
      item.inner.push_back(compile(node.inner[0], PyDict_GetItem(tree, key)));
    }
    return item;
  }

  Item model(const Node &node, PyObject *tree) const {
    Item item = of(Kind::kModel, node);
    layout.models_.push_back(node.model.get());
    item.value = own(PySet_New(nullptr));
    for (const Field &field : node.model->fields) {
      if (PyObject *value = PyDict_GetItem(tree, field.key.get())) {
        check(PySet_Add(item.value.get(), field.name.get()));
        item.inner.push_back(compile(field.node, value));
        continue;
      }
      if (field.absent == engine::Default::kRequired) throw NotKnown{};
      item.inner.push_back(absent(field));
    }
    item.copy = own(PySet_New(item.value.get()));
    const bool unknown = PySet_GET_SIZE(item.value.get()) != PyDict_GET_SIZE(tree);
    if (unknown && node.model->extras != engine::Extra::kIgnore) throw NotKnown{};
    return item;
  }

  static Item absent(const Field &field) {
    const bool constant = field.absent == engine::Default::kConstant;
    Item item = of(constant ? Kind::kConstant : Kind::kDefault, field.node);
    item.field = &field;
    if (constant) item.value = Ref(Py_NewRef(field.value.get()));
    return item;
  }
};

std::unique_ptr<Layout> Layout::compile(const Node &node, PyObject *tree, PyObject *slot_type,
                                        const std::vector<Slot> &slots) {
  try {
    auto layout = std::make_unique<Layout>();
    layout->root_ = Compiler{slot_type, slots, *layout}.compile(node, tree);
    layout->slot_type_ = Ref(Py_NewRef(slot_type));
    if (node.runs_functions) layout->find_checked(layout->root_);
    layout->can_be_kept_ = !node.runs_functions && can_keep(layout->root_);
    return layout;
  } catch (const NotKnown &) {
    return nullptr;
  }
}

struct Layout::Builder {
  const CallFrame &frame;
  engine::Context &context;
  PyObject *slot_type;

  Ref build(const Item &item) const {
    switch (item.kind) {
      case Kind::kSlot:
        return Ref(Py_NewRef(frame.object(item.slot)));
      case Kind::kConstant:
        return Ref(Py_NewRef(item.value.get()));
      case Kind::kDefault:
        return engine::default_of(*item.field);
      case Kind::kList:
        return list(item);
      case Kind::kTuple:
        return tuple(item);
      case Kind::kDict:
        return dict(item);
      case Kind::kModel:
        return model(item);
      case Kind::kAfter:
        return after(item);
      case Kind::kChecked: {
        const Ref tree = Filler{slot_type, frame}.fill(item.value.get());
        return engine::accept(*item.node, tree.get(), context);
      }
    }
    return {};
  }

 private:
  Ref list(const Item &item) const {
    Ref made = own(PyList_New(static_cast<Py_ssize_t>(item.inner.size())));
    for (size_t i = 0; i < item.inner.size(); i++) {
      Ref value = build(item.inner[i]);
      if (!value) return {};
      PyList_SET_ITEM(made.get(), static_cast<Py_ssize_t>(i), value.release());
    }
    return made;
  }

  Ref tuple(const Item &item) const {
    Ref made = own(PyTuple_New(static_cast<Py_ssize_t>(item.inner.size())));
    for (size_t i = 0; i < item.inner.size(); i++) {
      Ref value = build(item.inner[i]);
      if (!value) return {};
      PyTuple_SET_ITEM(made.get(), static_cast<Py_ssize_t>(i), value.release());
    }
    return made;
  }

  Ref dict(const Item &item) const {
    Ref made = own(PyDict_New());
    for (size_t i = 0; i < item.inner.size(); i++) {
      const Ref value = build(item.inner[i]);
      if (!value) return {};
      PyObject *key = PyList_GET_ITEM(item.value.get(), static_cast<Py_ssize_t>(i));
      check(PyDict_SetItem(made.get(), key, value.get()));
    }
    return made;
  }

  Ref model(const Item &item) const {
    const ModelClass &type = *item.node->model;
    Ref dict = own(PyDict_New());
    for (size_t i = 0; i < item.inner.size(); i++) {
      const Ref value = build(item.inner[i]);
      if (!value) return {};
      check(PyDict_SetItem(dict.get(), type.fields[i].name.get(), value.get()));
    }
    return engine::new_instance(type, std::move(dict), own(PySet_New(item.value.get())));
  }

  Ref after(const Item &item) const {
    const Ref value = build(item.inner[0]);
    if (!value) return {};
    Ref result(PyObject_CallOneArg(item.node->function.get(), value.get()));
    return result ? std::move(result) : engine::refused();
  }
};

void Layout::find_checked(const Item &item) {
  if (item.kind == Kind::kChecked) checked_.push_back(&item);
  for (const Item &inner : item.inner) find_checked(inner);
}

bool Layout::fits(const DLTensor *const *tensors) const {
  for (const ModelClass *model : models_) {
    if (!model->made.holds()) return false;
  }
  for (const Length &wanted : lengths_) {
    if (tensors[wanted.slot]->shape[wanted.axis] != wanted.length) return false;
  }
  return true;
}

bool Layout::shows(size_t slot) const {
  return std::find(shown_.begin(), shown_.end(), slot) != shown_.end();
}

Ref Layout::build(const CallFrame &frame, engine::Context &context) const {
  for (const Item *item : checked_) {
    const Ref tree = Filler{slot_type_.get(), frame}.fill(item->value.get());
    if (!engine::provable(*item->node, tree.get())) return {};
  }
  return Builder{frame, context, slot_type_.get()}.build(root_);
}

}  // namespace tesseract::python
