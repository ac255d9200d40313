#include "paths.h"

#include <new>

#include "check.h"
#include "errors.h"

namespace tesseract::python::engine {
namespace {

PyTypeObject *path_set_type = nullptr;

PathSet *as_path_set(PyObject *self) {
  return reinterpret_cast<PathSet *>(self);
}

void path_set_dealloc(PyObject *self) {
  PathSet *set = as_path_set(self);
  PyTypeObject *type = Py_TYPE(self);
  set->ins.~vector();
  set->outs.~vector();
  Py_XDECREF(set->in_paths);
  Py_XDECREF(set->out_paths);
  PyObject_Free(self);
  Py_DECREF(type);
}

PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void *>(path_set_dealloc)}, {0, nullptr}};

PyType_Spec spec = {"tesseract_host.loader.PathSet", sizeof(PathSet), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

Step read_step(PyObject *description) {
  const char *kind = nullptr;
  PyObject *value = nullptr;
  if (!PyTuple_Check(description) || !PyArg_ParseTuple(description, "sO", &kind, &value)) {
    throw PythonError{};
  }
  Step step{};
  if (kind[0] == 'i') {
    step.kind = Step::Kind::kIndex;
    step.index = PyLong_AsSsize_t(value);
    if (step.index == -1 && PyErr_Occurred()) throw PythonError{};
    return step;
  }
  step.kind = kind[0] == 'n' ? Step::Kind::kName : Step::Kind::kKey;
  step.name = own(PyUnicode_FromObject(value));
  return step;
}

PathLeaf read_leaf(PyObject *description) {
  PyObject *path = nullptr, *check = nullptr, *steps = nullptr;
  int must_exist = 0;
  if (!PyArg_ParseTuple(description, "O!OO!p", &PyUnicode_Type, &path, &check, &PyTuple_Type,
                        &steps, &must_exist)) {
    throw PythonError{};
  }
  PathLeaf leaf;
  leaf.path = Ref(Py_NewRef(path));
  leaf.leaf = leaf_of(check);
  if (!leaf.leaf) {
    PyErr_SetString(PyExc_TypeError, "no CHECK");
    throw PythonError{};
  }
  leaf.owner = Ref(Py_NewRef(check));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(steps); i++) {
    leaf.steps.push_back(read_step(PyTuple_GET_ITEM(steps, i)));
  }
  leaf.must_exist = must_exist != 0;
  return leaf;
}

PyObject *read_leaves(std::vector<PathLeaf> &leaves, PyObject *descriptions) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(descriptions); i++) {
    leaves.push_back(read_leaf(PyTuple_GET_ITEM(descriptions, i)));
  }
  Ref paths = own(PyTuple_New(static_cast<Py_ssize_t>(leaves.size())));
  for (size_t i = 0; i < leaves.size(); i++) {
    PyTuple_SET_ITEM(paths.get(), static_cast<Py_ssize_t>(i), Py_NewRef(leaves[i].path.get()));
  }
  return paths.release();
}

Ref step_into(const Step &step, PyObject *value) {
  if (step.kind == Step::Kind::kName) {
    if (PyDict_Check(value)) return {};
    return Ref(PyObject_GetAttr(value, step.name.get()));
  }
  if (step.kind == Step::Kind::kKey) {
    if (!PyDict_CheckExact(value)) return {};
    return Ref(Py_XNewRef(PyDict_GetItemWithError(value, step.name.get())));
  }
  if (!PyList_CheckExact(value) && !PyTuple_CheckExact(value)) return {};
  if (step.index < 0 || step.index >= PySequence_Fast_GET_SIZE(value)) return {};
  return Ref(Py_NewRef(PySequence_Fast_GET_ITEM(value, step.index)));
}

}  // namespace

void create_path_set_type() {
  if (path_set_type) return;
  path_set_type = reinterpret_cast<PyTypeObject *>(own(PyType_FromSpec(&spec)).release());
}

Ref make_path_set(PyObject *ins, PyObject *outs) {
  auto *set = PyObject_New(PathSet, path_set_type);
  if (!set) throw PythonError{};
  new (&set->ins) std::vector<PathLeaf>;
  new (&set->outs) std::vector<PathLeaf>;
  set->in_paths = nullptr;
  set->out_paths = nullptr;
  Ref made(reinterpret_cast<PyObject *>(set));
  set->in_paths = read_leaves(set->ins, ins);
  set->out_paths = read_leaves(set->outs, outs);
  return made;
}

const PathSet *path_set_of(PyObject *object) {
  return Py_IS_TYPE(object, path_set_type) ? as_path_set(object) : nullptr;
}

const PathLeaf *find(const std::vector<PathLeaf> &leaves, PyObject *path) {
  for (const PathLeaf &leaf : leaves) {
    if (leaf.path.get() == path) return &leaf;
  }
  if (!PyUnicode_CheckExact(path)) return nullptr;
  for (const PathLeaf &leaf : leaves) {
    if (PyUnicode_Compare(leaf.path.get(), path) == 0) return &leaf;
  }
  return nullptr;
}

Ref at(const PathLeaf &leaf, PyObject *inputs) {
  Ref value(Py_NewRef(inputs));
  for (const Step &step : leaf.steps) {
    value = step_into(step, value.get());
    if (!value) return missed();
  }
  return value;
}

}  // namespace tesseract::python::engine
