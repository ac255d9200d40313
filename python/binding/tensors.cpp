#include "tensors.h"

#include "dtypes.h"

namespace tesseract::binding {
namespace {

static_assert(sizeof(npy_intp) == sizeof(int64_t), "NumPy's lengths are read as DLPack's");

int64_t *lengths_of(PyArrayObject *array) {
  return reinterpret_cast<int64_t *>(PyArray_DIMS(array));
}

// Strides in elements; null where they are no whole number of elements.
std::unique_ptr<int64_t[]> strides_of(PyArrayObject *array) {
  const int ndim = PyArray_NDIM(array);
  const npy_intp size = PyArray_ITEMSIZE(array);
  auto strides = std::make_unique<int64_t[]>(static_cast<size_t>(ndim));
  for (int k = 0; k < ndim; k++) {
    if (PyArray_STRIDE(array, k) % size != 0) return nullptr;
    strides[static_cast<size_t>(k)] = PyArray_STRIDE(array, k) / size;
  }
  return strides;
}

}  // namespace

void Tensors::describe(size_t i, PyArrayObject *array, DLDataType dtype) {
  tensors_[i] = {nullptr, {kDLCPU, 0}, PyArray_NDIM(array), dtype, lengths_of(array), nullptr, 0};
  pointers_[i] = &tensors_[i];
}

void Tensors::set(size_t i, Ref array, DLDataType dtype) {
  auto *given = reinterpret_cast<PyArrayObject *>(array.get());
  std::unique_ptr<int64_t[]> strides;
  if (!PyArray_IS_C_CONTIGUOUS(given)) {
    strides = strides_of(given);
    if (!strides) {
      array = own(PyArray_NewCopy(given, NPY_CORDER));
      given = reinterpret_cast<PyArrayObject *>(array.get());
    }
  }
  describe(i, given, dtype);
  tensors_[i].data = PyArray_DATA(given);
  if (strides) {
    tensors_[i].strides = strides.get();
    strides_.push_back(std::move(strides));
  }
  kept_[i] = std::move(array);
}

void Tensors::set_shape(size_t i, Ref array, DLDataType dtype) {
  describe(i, reinterpret_cast<PyArrayObject *>(array.get()), dtype);
  kept_[i] = std::move(array);
}

void *Tensors::set_number(size_t i, DLDataType dtype) {
  tensors_[i] = {slots_[i].data(), {kDLCPU, 0}, 0, dtype, nullptr, nullptr, 0};
  pointers_[i] = &tensors_[i];
  return slots_[i].data();
}

DLDataType checked_dtype(PyObject *array) {
  if (!PyArray_Check(array)) {
    PyErr_Format(PyExc_TypeError, "expected a NumPy array, not %.100s", Py_TYPE(array)->tp_name);
    throw PythonError{};
  }
  PyArray_Descr *descr = PyArray_DESCR(reinterpret_cast<PyArrayObject *>(array));
  DLDataType dtype{};
  if (dtype_of(descr, dtype)) return dtype;
  PyErr_Format(PyExc_TypeError, "components take no arrays of the dtype %R", descr);
  throw PythonError{};
}

}  // namespace tesseract::binding
