#include "escape.h"

#include <cstdlib>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "errors.h"
#include "support.h"

namespace tesseract::python {
namespace {

PyArrayObject *as_array(PyObject *object) {
  return reinterpret_cast<PyArrayObject *>(object);
}

PyObject *base_of(PyObject *array) {
  return PyArray_BASE(as_array(array));
}

// The bytes from the first to behind the last element; strides may put them before the pointer.
struct Extent {
  char *begin;
  char *end;

  explicit Extent(PyArrayObject *array) : begin(PyArray_BYTES(array)), end(begin) {
    for (int i = 0; i < PyArray_NDIM(array); i++) {
      if (PyArray_DIM(array, i) == 0) return;
    }
    for (int i = 0; i < PyArray_NDIM(array); i++) {
      const npy_intp reach = (PyArray_DIM(array, i) - 1) * PyArray_STRIDE(array, i);
      (reach < 0 ? begin : end) += reach;
    }
    end += PyArray_ITEMSIZE(array);
  }

  bool contains(const Extent &other) const { return begin <= other.begin && other.end <= end; }
};

bool written_in_python(PyTypeObject *type) {
  return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) &&
         type->tp_traverse == support().traverse_of_python_classes;
}

// NumPy's own classes in Python: the bases of stride tricks, `array.ctypes`.
bool is_of_numpy(PyTypeObject *type) {
  PyObject *module = type->tp_dict ? PyDict_GetItemString(type->tp_dict, "__module__") : nullptr;
  return module && PyUnicode_Check(module) && text_of(module).starts_with("numpy.");
}

// What makes an object lend an address that it or somebody else has noted.
constexpr const char *kInterfaces[] = {"__array_interface__", "__array_struct__"};

bool has_interface(PyTypeObject *type) {
  const Ref mro(Py_XNewRef(type->tp_mro));
  for (Py_ssize_t i = 0; mro && i < PyTuple_GET_SIZE(mro.get()); i++) {
    PyObject *members = reinterpret_cast<PyTypeObject *>(PyTuple_GET_ITEM(mro.get(), i))->tp_dict;
    for (const char *name : kInterfaces) {
      if (members && PyDict_GetItemString(members, name)) return true;
    }
  }
  return false;
}

// True for types whose instances hold references but no addresses of elements: Python's own
// containers and classes written in Python.  Others, a memoryview's buffer, a pointer of ctypes or
// a tensor of some library, may read the memory without asking the array.
bool only_refers(PyTypeObject *type) {
  if (has_interface(type)) return false;
  for (; type; type = type->tp_base) {
    const std::string_view name = type->tp_name;
    if (name == "memoryview" || name == "managedbuffer") return false;
    if (written_in_python(type)) {
      if (is_of_numpy(type)) return false;
      continue;  // what it inherits from decides
    }
    for (std::string_view library : {"collections.", "functools.", "itertools."}) {
      if (name.starts_with(library)) return true;
    }
    return !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) && name.find('.') == std::string_view::npos;
  }
  return true;
}

// An array whose pointer is the only one it has: of NumPy's type or a class in Python from it.
bool is_movable(PyObject *array) {
  PyTypeObject *type = Py_TYPE(array);
  while (type && type != &PyArray_Type && written_in_python(type)) type = type->tp_base;
  return type == &PyArray_Type;
}

// True when an instance's own attributes lend an address.  Runs no code of the module's.
bool lends_by_attribute(PyObject *object) {
  if (PyDict_Check(object)) {
    for (const char *name : kInterfaces) {
      if (PyDict_GetItemString(object, name)) return true;
    }
    return false;
  }
  if (!written_in_python(Py_TYPE(object))) return false;
  // The type has none of these names, so that this looks into the instance only.
  for (const char *name : kInterfaces) {
    const Ref text = own(PyUnicode_FromString(name));
    const Ref value(PyObject_GenericGetAttr(object, text.get()));
    if (value) return true;
    PyErr_Clear();
  }
  return false;
}

// All NumPy arrays that read the memory of one array, and how many of the references to them are
// accounted for.
class Readers {
 public:
  explicit Readers(PyObject *origin) : origin_(origin) { add(origin); }

  // Looks through everything Python's collector knows, and what is reachable from there.
  void search() {
    const Ref module = own(PyImport_ImportModule("gc"));
    const Ref all = own(PyObject_CallMethod(module.get(), "get_objects", nullptr));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(all.get()); i++) {
      traverse(PyList_GET_ITEM(all.get(), i));
    }
    while (!untracked_.empty()) {
      PyObject *container = untracked_.back();
      untracked_.pop_back();
      traverse(container);
    }
    for (PyObject *array : arrays_) {
      if (array != origin_) ++accounted_[base_of(array)];
    }
    for (PyObject *holder : holders_) {
      if (foreign_dicts_.count(holder) || lends_by_attribute(holder)) unsafe_ = true;
    }
  }

  // Every reference is accounted for, given one more to the origin; and all can be moved with it.
  bool complete() const {
    if (unsafe_) return false;
    const Extent whole(as_array(origin_));
    for (PyObject *array : arrays_) {
      const auto found = accounted_.find(array);
      const Py_ssize_t known = found == accounted_.end() ? 0 : found->second;
      if (Py_REFCNT(array) != known + (array == origin_)) return false;
      if (!is_movable(array) || !whole.contains(Extent(as_array(array)))) return false;
    }
    return true;
  }

  const std::vector<PyObject *> &arrays() const { return arrays_; }

 private:
  static int visit(PyObject *object, void *data) {
    static_cast<Readers *>(data)->note(object);
    return 0;
  }

  void traverse(PyObject *container) {
    const traverseproc function = Py_TYPE(container)->tp_traverse;
    if (!function) return;
    holder_ = container;
    holder_only_refers_ = refers(Py_TYPE(container));
    function(container, visit, this);
  }

  bool refers(PyTypeObject *type) {
    const auto [found, added] = only_refers_.try_emplace(type, true);
    if (added) found->second = only_refers(type);
    return found->second;
  }

  void note(PyObject *object) {
    if (PyArray_Check(object)) {
      if (!add(object)) return;
      ++accounted_[object];
      if (!holder_only_refers_) unsafe_ = true;
      holders_.insert(holder_);
      return;
    }
    // Possibly the attributes of an object that knows more than these.
    if (!holder_only_refers_ && PyDict_Check(object)) foreign_dicts_.insert(object);
    if (PyObject_IS_GC(object) && !PyObject_GC_IsTracked(object)) {
      // The collector leaves out containers that can't be part of a cycle: those of arrays.
      if (seen_.insert(object).second) untracked_.push_back(object);
    }
  }

  // Adds an array that derives from the origin, and what lies between; false when it does not.
  bool add(PyObject *array) {
    PyObject *origin = array;
    while (origin && origin != origin_) origin = PyArray_Check(origin) ? base_of(origin) : nullptr;
    if (!origin) return false;
    for (PyObject *each = array; seen_.insert(each).second; each = base_of(each)) {
      arrays_.push_back(each);
      if (each == origin_) break;
    }
    return true;
  }

  PyObject *origin_;
  PyObject *holder_ = nullptr;  // whose references are being noted
  bool holder_only_refers_ = true;
  bool unsafe_ = false;
  std::vector<PyObject *> arrays_, untracked_;
  std::unordered_set<PyObject *> seen_;
  std::unordered_set<PyObject *> holders_;        // of the arrays
  std::unordered_set<PyObject *> foreign_dicts_;  // referred to by objects that don't only refer
  std::unordered_map<PyTypeObject *, bool> only_refers_;
  std::unordered_map<PyObject *, Py_ssize_t> accounted_;
};

// Calls a function of a module if that is loaded; false if not.
bool call_if_loaded(const char *module, const char *function) {
  const Ref name = own(PyUnicode_FromString(module));
  const Ref loaded(PyImport_GetModule(name.get()));
  if (!loaded) return false;
  return static_cast<bool>(Ref(PyObject_CallMethod(loaded.get(), function, nullptr)));
}

}  // namespace

bool is_held(const View &view) {
  return Py_REFCNT(view.array.get()) > 1;
}

void collect_garbage(bool thorough) {
  const bool by_jax = call_if_loaded("jaxlib._jax", "collect_garbage") ||
                      call_if_loaded("jaxlib.xla_extension", "collect_garbage");
  PyErr_Clear();
  if (by_jax && !thorough) return;
  const Ref module(PyImport_ImportModule("gc"));
  if (module) Ref(PyObject_CallMethod(module.get(), "collect", "i", thorough ? 2 : 0));
  PyErr_Clear();
}

bool move_to_own_memory(View &view) {
  Readers readers(view.array.get());
  readers.search();
  if (!readers.complete()) return false;

  const Extent extent(as_array(view.array.get()));
  const auto size = static_cast<size_t>(extent.end - extent.begin);
  auto *buffer = static_cast<char *>(std::malloc(size ? size : 1));
  if (!buffer) return false;
  std::memcpy(buffer, extent.begin, size);
  for (PyObject *array : readers.arrays()) {
    auto *fields = reinterpret_cast<PyArrayObject_fields *>(array);
    fields->data = buffer + (fields->data - extent.begin);
  }
  view.exporter->buffer = buffer;
  view.exporter->bytes = size;
  return true;
}

}  // namespace tesseract::python
