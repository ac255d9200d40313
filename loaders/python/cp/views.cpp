#include "views.h"

#include <cstdlib>
#include <cstring>

#include "dtype.h"
#include "errors.h"

namespace tesseract::python {
namespace {

PyTypeObject *exporter_type = nullptr;

void destroy_exporter(PyObject *self) {
  auto *exporter = reinterpret_cast<Exporter *>(self);
  std::free(exporter->buffer);
  if (exporter->retained) exporter->owner.release(exporter->owner.object);
  PyTypeObject *type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

Ref make_exporter(void *buffer) {
  auto *exporter = PyObject_New(Exporter, exporter_type);
  if (!exporter) {
    std::free(buffer);
    throw PythonError{};
  }
  exporter->buffer = buffer;
  exporter->owner = {nullptr, nullptr, nullptr};
  exporter->retained = 0;
  return Ref(reinterpret_cast<PyObject *>(exporter));
}

// Where arrays without elements point: NumPy takes null for "allocate".
char nowhere[16];

char *data_of(const DLTensor &tensor) {
  if (!tensor.data) return nowhere;
  return static_cast<char *>(tensor.data) + tensor.byte_offset;
}

void check_place(const DLTensor &tensor, const std::string &path) {
  if (tensor.device.device_type == kDLCPU || tensor.device.device_type == kDLCUDAHost) return;
  throw CallFailure{TESSERACT_ERROR_DEVICE, path,
                    "the Python loader takes arrays in host memory, not on device type " +
                        std::to_string(tensor.device.device_type)};
}

// An array over memory that the caller of this function answers for.
Ref over(const DLTensor &tensor, char *data, const int64_t *strides, int flags,
         const std::string &path) {
  static_assert(sizeof(npy_intp) == sizeof(int64_t));
  if (tensor.ndim < 0 || tensor.ndim > NPY_MAXDIMS) {
    throw CallFailure{TESSERACT_ERROR_SCHEMA, path,
                      "NumPy can't hold an array of rank " + std::to_string(tensor.ndim)};
  }
  npy_intp steps[NPY_MAXDIMS];
  Ref type = descriptor(tensor.dtype, path);
  const npy_intp size = PyDataType_ELSIZE(reinterpret_cast<PyArray_Descr *>(type.get()));
  if (strides) {
    for (int32_t i = 0; i < tensor.ndim; i++) steps[i] = strides[i] * size;
  }
  return own(PyArray_NewFromDescr(&PyArray_Type, reinterpret_cast<PyArray_Descr *>(type.release()),
                                  tensor.ndim, reinterpret_cast<const npy_intp *>(tensor.shape),
                                  strides ? steps : nullptr, data, flags, nullptr));
}

// Makes the exporter the array's base, which takes it over.
Exporter *attach(const Ref &array, Ref exporter) {
  auto *object = reinterpret_cast<Exporter *>(exporter.get());
  check(PyArray_SetBaseObject(reinterpret_cast<PyArrayObject *>(array.get()), exporter.release()));
  return object;
}

}  // namespace

void create_exporter_type() {
  if (exporter_type) return;
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void *>(destroy_exporter)}, {0, nullptr}};
  PyType_Spec spec = {"tesseract_host.loader.Exporter", sizeof(Exporter), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  exporter_type = reinterpret_cast<PyTypeObject *>(own(PyType_FromSpec(&spec)).release());
}

uint64_t bytes_of(const DLTensor &tensor) {
  uint64_t count = 1;
  for (int32_t i = 0; i < tensor.ndim; i++) count *= static_cast<uint64_t>(tensor.shape[i]);
  return count * ((tensor.dtype.bits * tensor.dtype.lanes + 7u) / 8u);
}

bool is_compact(const DLTensor &tensor) {
  if (!tensor.strides) return true;
  int64_t step = 1;
  for (int32_t i = tensor.ndim - 1; i >= 0; i--) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != step) return false;
    step *= tensor.shape[i];
  }
  return true;
}

View borrow(const DLTensor &tensor, const std::string &path) {
  check_place(tensor, path);
  Ref array = over(tensor, data_of(tensor), tensor.strides, 0, path);
  Exporter *exporter = attach(array, make_exporter(nullptr));
  return {std::move(array), exporter};
}

View copy(const DLTensor &tensor, const std::string &path) {
  check_place(tensor, path);
  const uint64_t bytes = bytes_of(tensor);
  auto *buffer = static_cast<char *>(std::malloc(bytes ? bytes : 1));
  if (!buffer) throw std::bad_alloc();
  Ref exporter = make_exporter(buffer);
  Ref array = over(tensor, buffer, nullptr, NPY_ARRAY_WRITEABLE, path);
  auto *target = reinterpret_cast<PyArrayObject *>(array.get());
  if (bytes && is_compact(tensor)) {
    std::memcpy(buffer, data_of(tensor), bytes);
  } else if (bytes) {
    const Ref source = over(tensor, data_of(tensor), tensor.strides, 0, path);
    check(PyArray_CopyInto(target, reinterpret_cast<PyArrayObject *>(source.get())));
  }
  PyArray_CLEARFLAGS(target, NPY_ARRAY_WRITEABLE);
  Exporter *base = attach(array, std::move(exporter));
  return {std::move(array), base};
}

Ref destination(const DLTensor &tensor, const std::string &path) {
  check_place(tensor, path);
  return over(tensor, data_of(tensor), tensor.strides, NPY_ARRAY_WRITEABLE, path);
}

void keep_owner(Exporter &exporter, const tesseract_owner &owner) {
  if (exporter.retained) return;
  owner.retain(owner.object);
  exporter.owner = owner;
  exporter.retained = 1;
}

}  // namespace tesseract::python
