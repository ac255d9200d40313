#include "outputs.h"

#include <algorithm>

#include "../engine/errors.h"
#include "dtype.h"
#include "errors.h"
#include "parts.h"
#include "results.h"

namespace tesseract::python {

using engine::Kind;
using engine::ModelClass;
using engine::Node;
using engine::Source;

namespace {

struct NotKnown {};

bool is_value(const Node &node) {
  switch (node.kind) {
    case Kind::kNone:
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kFloat:
    case Kind::kStr:
      return true;
    case Kind::kOptional:
      return is_value(node.inner[0]);
    default:
      return false;
  }
}

bool is_array(const Node &node) {
  return node.kind == Kind::kArray ||
         (node.kind == Kind::kOptional && node.inner[0].kind == Kind::kArray);
}

}  // namespace

struct Outputs::Compiler {
  Outputs &outputs;
  PyObject *wanted;
  size_t found = 0;

  Item model(const Node &node, std::vector<PyObject *> &path) {
    if (node.kind != Kind::kModel || node.runs_functions ||
        node.model->extras == engine::Extra::kAllow) {
      throw NotKnown{};
    }
    Item item;
    item.node = &node;
    for (const engine::Field &field : node.model->fields) {
      path.push_back(field.name.get());
      item.inner.push_back(of_field(field, path));
      path.pop_back();
    }
    return item;
  }

 private:
  Item of_field(const engine::Field &field, std::vector<PyObject *> &path) {
    Item item;
    if (is_array(field.node)) {
      item.is_array = true;
      item.leaf = field.node.kind == Kind::kArray ? field.node.leaf : field.node.inner[0].leaf;
      item.position = position_of(path);
      auto *descr = reinterpret_cast<PyArray_Descr *>(item.leaf->descriptor.get());
      if (!descr || !dtype_of(descr, item.dtype)) item.dtype = {};
      outputs.arrays_++;
    } else if (is_value(field.node)) {
      outputs.has_json_ = true;
    } else {
      item = model(field.node, path);
    }
    // A result is told apart by names; keys that differ are the general route's.
    if (PyObject_RichCompareBool(field.name.get(), field.key.get(), Py_EQ) != 1) throw NotKnown{};
    item.node = &field.node;
    item.name = field.name.get();
    return item;
  }

  // Where the array goes: kNowhere if it is not wanted.
  size_t position_of(const std::vector<PyObject *> &path) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(wanted); i++) {
      PyObject *steps = PyList_GET_ITEM(wanted, i);
      if (!PyTuple_Check(steps) || PyTuple_GET_SIZE(steps) != static_cast<Py_ssize_t>(path.size()))
        continue;
      bool same = true;
      for (size_t k = 0; same && k < path.size(); k++) {
        PyObject *step = PyTuple_GET_ITEM(steps, static_cast<Py_ssize_t>(k));
        same = PyUnicode_Check(step) && PyUnicode_Compare(step, path[k]) == 0;
      }
      if (!same) continue;
      found++;
      return static_cast<size_t>(i);
    }
    return kNowhere;
  }
};

std::unique_ptr<Outputs> Outputs::compile(const Node &node, PyObject *wanted) {
  try {
    auto outputs = std::make_unique<Outputs>();
    Compiler compiler{*outputs, wanted};
    std::vector<PyObject *> path;
    outputs->root_ = compiler.model(node, path);
    if (compiler.found != static_cast<size_t>(PyList_GET_SIZE(wanted))) return nullptr;
    return outputs;
  } catch (const NotKnown &) {
    return nullptr;
  }
}

// One result.
struct Outputs::Walk {
  Source source;
  engine::Context &context;
  struct Array {
    PyObject *value;  // owned by the walk
    const Item *item;
    bool is_exact;
  };
  Array *arrays;  // without values from `count` on
  size_t count = 0;

  ~Walk() {
    while (count > 0) const Ref dropped(arrays[--count].value);
  }

  bool any_may_be_taken() const {
    return std::any_of(arrays, arrays + count,
                       [](const Array &array) { return may_be_taken(array.value); });
  }

  // True for an array whose memory the frame has taken.
  static bool gave(Array &array, tesseract_frame *frame, Transfers &transfers) {
    if (!may_be_taken(array.value)) return false;
    Ref value(std::exchange(array.value, nullptr));
    if (was_taken(value, array.item->dtype, frame, array.item->position, transfers)) return true;
    array.value = value.release();
    return false;
  }

  // Notes the arrays of a model and its other values, in `values` unless that is null.
  bool model(const Item &item, PyObject *value, PyObject *values) {
    if (!item.node->model->holds(source)) return false;
    const Ref held = attributes(*item.node->model, value);
    if (!held || PyDict_GET_SIZE(held.get()) != static_cast<Py_ssize_t>(item.inner.size())) {
      return false;
    }
    PyObject *name = nullptr, *value_of = nullptr;
    Py_ssize_t place = 0;
    for (const Item &inner : item.inner) {
      // Mostly they are in the order of the fields.
      if (!PyDict_Next(held.get(), &place, &name, &value_of) || name != inner.name) {
        value_of = PyDict_GetItemWithError(held.get(), inner.name);
      }
      const Ref found(Py_XNewRef(value_of));
      if (!found || !field(inner, found.get(), values)) return false;
    }
    return true;
  }

 private:
  bool field(const Item &item, PyObject *value, PyObject *values) {
    if (item.is_array) {
      if (item.leaf && is_exactly(*item.leaf, value)) {
        arrays[count++] = {Py_NewRef(value), &item, true};
        return true;
      }
      Ref accepted = engine::accept(*item.node, value, context);
      if (!accepted) return false;
      arrays[count++] = {accepted.release(), &item, false};
      return true;
    }
    if (item.node->kind == Kind::kModel) {
      const Ref below = own(PyDict_New());
      if (!model(item, value, below.get())) return false;
      // A model of arrays only is no part of the JSON.
      if (PyDict_GET_SIZE(below.get()) == 0 && !item.inner.empty()) return true;
      return PyDict_SetItem(values, item.name, below.get()) == 0;
    }
    const Ref accepted = engine::accept(*item.node, value, context);
    return accepted && PyDict_SetItem(values, item.name, accepted.get()) == 0;
  }

  // The fields of a model: a dict, or those of an instance of exactly the user's class.
  Ref attributes(const ModelClass &type, PyObject *value) const {
    if (source == Source::kGiven) {
      return PyDict_CheckExact(value) ? Ref(Py_NewRef(value)) : Ref();
    }
    if (!Py_IS_TYPE(value, reinterpret_cast<PyTypeObject *>(type.base.get()))) return {};
    PyObject *extra = part(value, type.extra);
    if (extra && extra != Py_None) return {};
    return Ref(PyObject_GenericGetDict(value, nullptr));
  }
};

bool Outputs::write(Ref &returned, PyObject *encode, engine::Context &context,
                    tesseract_frame *frame, Transfers &transfers) const {
  constexpr size_t kFew = 16;
  Walk::Array few[kFew];
  std::unique_ptr<Walk::Array[]> many(arrays_ > kFew ? new Walk::Array[arrays_] : nullptr);
  Walk walk{PyDict_CheckExact(returned.get()) ? Source::kGiven : Source::kDumped, context,
            many ? many.get() : few};
  const Ref values = has_json_ ? own(PyDict_New()) : Ref();
  if (!walk.model(root_, returned.get(), values.get())) {
    engine::forget_exception();
    return false;
  }
  if (walk.any_may_be_taken()) returned = Ref();
  for (size_t i = 0; i < walk.count; i++) {
    Walk::Array &array = walk.arrays[i];
    const size_t position = array.item->position;
    if (position == kNowhere || !frame->outputs[position]) continue;
    if (!returned && walk.gave(array, frame, transfers)) continue;
    if (array.is_exact && wrote_exactly(array.value, array.item->dtype, *frame->outputs[position]))
      continue;
    if (array.value == Py_None) continue;
    write_result(array.value, frame, position, transfers);
  }
  transfers.finish();
  if (has_json_ && PyDict_GET_SIZE(values.get()) > 0) {
    const Ref text = own(PyObject_CallOneArg(encode, values.get()));
    write_json(text.get(), frame);
  }
  return true;
}

}  // namespace tesseract::python
