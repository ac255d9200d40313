#include "results.h"

#include <array>
#include <vector>

#include "../arrays/device_array.h"
#include "../arrays/dtypes.h"
#include "../arrays/layout.h"

namespace tesseract::binding {
namespace {

void free_tensor(PyObject *capsule) {
  auto *tensor = static_cast<DLManagedTensorVersioned *>(PyCapsule_GetPointer(capsule, nullptr));
  if (tensor && tensor->deleter) tensor->deleter(tensor);
}

// Of arrays without elements the capsule still needs a pointer that is not null: the tensor's.
Ref capsule_of(DLManagedTensorVersioned *tensor) {
  PyObject *capsule = PyCapsule_New(tensor, nullptr, free_tensor);
  if (!capsule && tensor->deleter) tensor->deleter(tensor);
  return own(capsule);
}

Ref array_over(const DLTensor &tensor, Ref descr, Ref owner) {
  std::array<npy_intp, NPY_MAXDIMS> lengths{}, strides{};
  const auto *type = reinterpret_cast<PyArray_Descr *>(descr.get());
  const npy_intp size = PyDataType_ELSIZE(type);
  for (int k = 0; k < tensor.ndim; k++) {
    const auto at = static_cast<size_t>(k);
    lengths[at] = tensor.shape[k];
    strides[at] = tensor.strides ? tensor.strides[k] * size : 0;
  }
  Ref array = own(
      PyArray_NewFromDescr(&PyArray_Type, reinterpret_cast<PyArray_Descr *>(descr.release()),
                           tensor.ndim, lengths.data(), tensor.strides ? strides.data() : nullptr,
                           tensor.data ? tensor.data : owner.get(), NPY_ARRAY_WRITEABLE, nullptr));
  check(PyArray_SetBaseObject(reinterpret_cast<PyArrayObject *>(array.get()), owner.release()));
  return array;
}

}  // namespace

DLManagedTensorVersioned *Result::take(int64_t index) {
  DLManagedTensorVersioned *taken = nullptr;
  if (tesseract_result_take(result_, index, &taken) == TESSERACT_OK) return taken;
  PyErr_SetString(PyExc_RuntimeError, "the host does not give an output away");
  throw PythonError{};
}

Ref Result::value(int64_t index, uint64_t stream) {
  const DLTensor *tensor = tesseract_result_tensor(result_, index);
  if (!tensor) return Ref(Py_NewRef(Py_None));
  if (arrays::is_on_device(*tensor)) {
    return arrays::make_owner(take(index), {.stream = stream, .publishes = true});
  }
  if (tensor->ndim > NPY_MAXDIMS) {
    PyErr_Format(PyExc_ValueError, "NumPy has no arrays of rank %d", tensor->ndim);
    throw PythonError{};
  }
  Ref descr = arrays::numpy_dtype(tensor->dtype);
  if (tensor->ndim == 0) {
    return own(
        PyArray_Scalar(tensor->data, reinterpret_cast<PyArray_Descr *>(descr.get()), nullptr));
  }
  DLManagedTensorVersioned *taken = take(index);
  Ref owner = capsule_of(taken);
  return array_over(taken->dl_tensor, std::move(descr), std::move(owner));
}

Ref Result::shape(int64_t index) const {
  const DLTensor *tensor = tesseract_result_tensor(result_, index);
  if (!tensor) return Ref(Py_NewRef(Py_None));
  Ref lengths = own(PyTuple_New(tensor->ndim));
  for (int32_t k = 0; k < tensor->ndim; k++) {
    PyObject *length = tensor->shape[k] < 0 ? Py_NewRef(Py_None)
                                            : own(PyLong_FromLongLong(tensor->shape[k])).release();
    PyTuple_SET_ITEM(lengths.get(), k, length);
  }
  const Ref descr = arrays::numpy_dtype(tensor->dtype);
  const Ref name = own(PyObject_GetAttrString(descr.get(), "name"));
  return own(Py_BuildValue("{sOsO}", "shape", lengths.get(), "dtype", name.get()));
}

}  // namespace tesseract::binding
