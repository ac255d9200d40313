#include "escape.h"

#include <cstdlib>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

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

// True for objects that hold references but no addresses of elements: Python's own containers and
// instances of classes written in Python.  Others, a memoryview's buffer or a tensor of some
// library, may read the memory without asking the array.
bool only_refers(PyTypeObject *type) {
  for (; type; type = type->tp_base) {
    const std::string_view name = type->tp_name;
    if (name == "memoryview" || name == "managedbuffer") return false;
    const bool written_in_python = (type->tp_flags & Py_TPFLAGS_HEAPTYPE) &&
                                   type->tp_traverse == support().traverse_of_python_classes;
    if (written_in_python) continue;  // what it inherits from decides
    for (std::string_view library : {"collections.", "functools.", "itertools."}) {
      if (name.starts_with(library)) return true;
    }
    return !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) && name.find('.') == std::string_view::npos;
  }
  return true;
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
  }

  // Every reference is accounted for, given one more to the origin; and all can be moved with it.
  bool complete() const {
    if (unsafe_) return false;
    const Extent whole(as_array(origin_));
    for (PyObject *array : arrays_) {
      const auto found = accounted_.find(array);
      const Py_ssize_t known = found == accounted_.end() ? 0 : found->second;
      if (Py_REFCNT(array) != known + (array == origin_)) return false;
      if (!whole.contains(Extent(as_array(array)))) return false;
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
    function(container, visit, this);
  }

  void note(PyObject *object) {
    if (PyArray_Check(object)) {
      if (!add(object)) return;
      ++accounted_[object];
      if (!only_refers(Py_TYPE(holder_))) unsafe_ = true;
    } else if (PyObject_IS_GC(object) && !PyObject_GC_IsTracked(object)) {
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
  PyObject *holder_ = nullptr;
  bool unsafe_ = false;
  std::vector<PyObject *> arrays_, untracked_;
  std::unordered_set<PyObject *> seen_;
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
  return true;
}

}  // namespace tesseract::python
