// Whether inputs can serve another call.  What is found wrong only costs time: they are made anew.
#include "layout.h"
#include "parts.h"

namespace tesseract::python {
struct Layout::Keeper {
  const CallFrame *frame;

  bool is_same(const Item &item, PyObject *object) const {
    switch (item.kind) {
      case Kind::kSlot:
        return object == frame->object(item.slot);
      case Kind::kConstant:
        return object == item.value.get();
      case Kind::kList:
        return PyList_CheckExact(object) && Py_REFCNT(object) == 1 &&
               are_same(item, PySequence_Fast_ITEMS(object), PyList_GET_SIZE(object));
      case Kind::kTuple:
        return PyTuple_CheckExact(object) && Py_REFCNT(object) == 1 &&
               are_same(item, PySequence_Fast_ITEMS(object), PyTuple_GET_SIZE(object));
      case Kind::kDict:
        return PyDict_CheckExact(object) && Py_REFCNT(object) == 1 &&
               has_entries(item, object, [&](size_t i) {
                 return PyList_GET_ITEM(item.value.get(), static_cast<Py_ssize_t>(i));
               });
      case Kind::kModel:
        return is_same_model(item, object);
      default:
        return false;
    }
  }

  static void set_hidden(const Item &item, PyObject *object, bool hidden) {
    switch (item.kind) {
      case Kind::kList:
      case Kind::kTuple:
        for (size_t i = 0; i < item.inner.size(); i++) {
          set_hidden(item.inner[i], PySequence_Fast_ITEMS(object)[i], hidden);
        }
        break;
      case Kind::kDict:
        hide_entries(item, object, hidden);
        break;
      case Kind::kModel:
        if (item.holds_containers) {
          const Ref dict(PyObject_GenericGetDict(object, nullptr));
          hide_entries(item, dict.get(), hidden);
          track(dict.get(), hidden);
        }
        break;
      default:
        return;
    }
    if (item.kind != Kind::kDict || item.holds_containers) track(object, hidden);
  }

 private:
  // Dicts of nothing but arrays and scalars are the collector's to leave out.
  static void track(PyObject *object, bool hidden) {
    if (PyObject_GC_IsTracked(object) != hidden) return;
    if (hidden) {
      PyObject_GC_UnTrack(object);
    } else {
      PyObject_GC_Track(object);
    }
  }

  static void hide_entries(const Item &item, PyObject *dict, bool hidden) {
    if (!item.holds_containers) return;
    PyObject *key = nullptr, *value = nullptr;
    Py_ssize_t position = 0;
    for (size_t i = 0; i < item.inner.size() && PyDict_Next(dict, &position, &key, &value); i++) {
      set_hidden(item.inner[i], value, hidden);
    }
  }

  bool are_same(const Item &item, PyObject *const *objects, Py_ssize_t count) const {
    if (static_cast<size_t>(count) != item.inner.size()) return false;
    for (size_t i = 0; i < item.inner.size(); i++) {
      if (!is_same(item.inner[i], objects[i])) return false;
    }
    return true;
  }

  // The same keys in order, and the same values.
  template <typename Key>
  bool has_entries(const Item &item, PyObject *dict, Key key_of) const {
    if (PyDict_GET_SIZE(dict) != static_cast<Py_ssize_t>(item.inner.size())) return false;
    PyObject *key = nullptr, *value = nullptr;
    Py_ssize_t position = 0;
    for (size_t i = 0; i < item.inner.size(); i++) {
      if (!PyDict_Next(dict, &position, &key, &value) || key != key_of(i) ||
          !is_same(item.inner[i], value)) {
        return false;
      }
    }
    return true;
  }

  bool is_same_model(const Item &item, PyObject *object) const {
    const engine::ModelClass &model = *item.node->model;
    if (Py_REFCNT(object) != 1 || has_weak_references(object) ||
        !Py_IS_TYPE(object, reinterpret_cast<PyTypeObject *>(model.type.get()))) {
      return false;
    }
    if (part(object, model.extra) != Py_None || part(object, model.private_attributes) != Py_None) {
      return false;
    }
    if (!is_own_copy(part(object, model.fields_set), item.copy.get())) return false;
    const Ref dict(PyObject_GenericGetDict(object, nullptr));
    if (!dict || !PyDict_CheckExact(dict.get()) || Py_REFCNT(dict.get()) != 2) {
      PyErr_Clear();
      return false;
    }
    return has_entries(item, dict.get(), [&](size_t i) { return model.fields[i].name.get(); });
  }
};

bool Layout::can_keep(Item &item) {
  switch (item.kind) {
    case Kind::kDefault:
    case Kind::kAfter:
    case Kind::kChecked:
      return false;
    case Kind::kModel:
      if (item.node->model->extras == engine::Extra::kAllow) return false;
      break;
    default:
      break;
  }
  for (Item &inner : item.inner) {
    if (!can_keep(inner)) return false;
    item.holds_containers |= inner.kind != Kind::kSlot && inner.kind != Kind::kConstant;
  }
  return true;
}

bool Layout::is_untouched(PyObject *inputs, const CallFrame &frame) const {
  return Keeper{&frame}.is_same(root_, inputs);
}

void Layout::set_hidden(PyObject *inputs, bool hidden) const {
  Keeper::set_hidden(root_, inputs, hidden);
}

}  // namespace tesseract::python
