#include "tensors.h"

#include "../arrays/device_array.h"
#include "dtypes.h"

namespace tesseract::binding {
namespace {

static_assert(sizeof(npy_intp) == sizeof(int64_t), "NumPy's lengths are read as DLPack's");

int64_t *lengths_of(PyArrayObject *array) {
  return reinterpret_cast<int64_t *>(PyArray_DIMS(array));
}

// Strides in elements; null where they are no whole number of elements.
std::unique_ptr<int64_t[]> strides_of(PyArrayObject *array) {
  if (!has_whole_strides(array)) return nullptr;
  const int ndim = PyArray_NDIM(array);
  const npy_intp size = PyArray_ITEMSIZE(array);
  auto strides = std::make_unique<int64_t[]>(static_cast<size_t>(ndim));
  for (int k = 0; k < ndim; k++) {
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

void Tensors::set(size_t i, Ref owner, const Foreign &array) {
  tensors_[i] = array.tensor();
  pointers_[i] = &tensors_[i];
  kept_[i] = std::move(owner);
  if (array.on_device()) {
    sources_.push_back({i, array.ready_on(), array.is_its_own(), array.is_on_any()});
  }
}

void Tensors::settle(uint64_t stream) {
  if (!sources_.empty()) settle_sources(stream);
}

void Tensors::settle_sources(uint64_t stream) {
  const Source *first = nullptr;
  uint64_t chosen = 0;
  bool agree = true;
  for (const Source &source : sources_) {
    if (!first || (first->is_on_any && !source.is_on_any)) first = &source;
    if (!source.is_its_own || !source.ready_on) continue;
    agree = agree && (!chosen || chosen == source.ready_on);
    chosen = source.ready_on;
  }
  stream_ = stream ? stream : agree && chosen ? chosen : 1;
  const DLDevice device = tensors_[first->position].device;
  for (const Source &source : sources_) {
    if (source.is_on_any) tensors_[source.position].device = device;
    waits_ = waits_ || (source.ready_on && source.ready_on != stream_);
  }
}

int32_t Tensors::order(tesseract_error **error) {
  const tesseract_device_table *table = arrays::device_api().table;
  for (size_t i = 0; i < sources_.size(); i++) {
    const uint64_t before = sources_[i].ready_on;
    bool is_known = !before || before == stream_;
    for (size_t k = 0; k < i && !is_known; k++) is_known = sources_[k].ready_on == before;
    if (is_known) continue;
    const DLDevice device = tensors_[sources_[i].position].device;
    if (const int32_t status = table->order(device, before, stream_, error)) return status;
  }
  return TESSERACT_OK;
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

bool has_whole_strides(PyArrayObject *array) {
  for (int k = 0; k < PyArray_NDIM(array); k++) {
    if (PyArray_STRIDE(array, k) % PyArray_ITEMSIZE(array) != 0) return false;
  }
  return true;
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
