#include "views.h"

#include <cstdlib>
#include <cstring>

#include "dtype.h"
#include "errors.h"

namespace tesseract::python {
namespace {

PyTypeObject *exporter_type = nullptr;
bool poisons = false;

void destroy_exporter(PyObject *self) {
  auto *exporter = reinterpret_cast<Exporter *>(self);
  if (poisons && exporter->buffer) std::memset(exporter->buffer, kPoison, exporter->bytes);
  std::free(exporter->buffer);
  if (exporter->retained) exporter->owner.release(exporter->owner.object);
  PyTypeObject *type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

// Where arrays without elements point: NumPy takes null for "allocate".
alignas(16) char nowhere[16];

// The same with a buffer, which the exporter takes over whatever happens.
Ref export_buffer(void *buffer, size_t bytes) {
  try {
    Ref made = make_exporter();
    auto *exporter = reinterpret_cast<Exporter *>(made.get());
    exporter->buffer = buffer;
    exporter->bytes = bytes;
    return made;
  } catch (const PythonError &) {
    std::free(buffer);
    throw;
  }
}

void check_place(const DLTensor &tensor, const std::string &path) {
  if (is_on_host(tensor)) return;
  throw CallFailure{TESSERACT_ERROR_DEVICE, path,
                    "the Python loader takes arrays in host memory, not on device type " +
                        std::to_string(tensor.device.device_type)};
}

void check_rank(const DLTensor &tensor, const std::string &path) {
  if (tensor.ndim >= 0 && tensor.ndim <= NPY_MAXDIMS) return;
  throw CallFailure{TESSERACT_ERROR_SCHEMA, path,
                    "NumPy can't hold an array of rank " + std::to_string(tensor.ndim)};
}

// An array over memory that the caller of this function answers for.
Ref over(const DLTensor &tensor, PyObject *type, char *data, const int64_t *strides, int flags) {
  static_assert(sizeof(npy_intp) == sizeof(int64_t));
  npy_intp steps[NPY_MAXDIMS];
  auto *descr = reinterpret_cast<PyArray_Descr *>(Py_NewRef(type));
  const npy_intp size = PyDataType_ELSIZE(descr);
  if (strides) {
    for (int32_t i = 0; i < tensor.ndim; i++) steps[i] = strides[i] * size;
  }
  Ref array = own(PyArray_NewFromDescr(&PyArray_Type, descr, tensor.ndim,
                                       reinterpret_cast<const npy_intp *>(tensor.shape),
                                       strides ? steps : nullptr, data, flags, nullptr));
  // NumPy finds that out only where it is given strides.
  PyArray_UpdateFlags(reinterpret_cast<PyArrayObject *>(array.get()), NPY_ARRAY_ALIGNED);
  return array;
}

// Makes the exporter the array's base, which takes it over.
Exporter *attach(const Ref &array, Ref exporter) {
  auto *object = reinterpret_cast<Exporter *>(exporter.get());
  check(PyArray_SetBaseObject(reinterpret_cast<PyArrayObject *>(array.get()), exporter.release()));
  return object;
}

}  // namespace

Ref make_exporter() {
  auto *exporter = PyObject_New(Exporter, exporter_type);
  if (!exporter) throw PythonError{};
  exporter->buffer = nullptr;
  exporter->bytes = 0;
  exporter->owner = {nullptr, nullptr, nullptr};
  exporter->retained = 0;
  return Ref(reinterpret_cast<PyObject *>(exporter));
}

void create_exporter_type() {
  if (exporter_type) return;
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void *>(destroy_exporter)}, {0, nullptr}};
  PyType_Spec spec = {"tesseract_host.loader.Exporter", sizeof(Exporter), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  exporter_type = reinterpret_cast<PyTypeObject *>(own(PyType_FromSpec(&spec)).release());
}

char *data_of(const DLTensor &tensor) {
  if (!tensor.data) return nowhere;
  return static_cast<char *>(tensor.data) + tensor.byte_offset;
}

namespace {

uint64_t mix(uint64_t sum, const char *data, uint64_t bytes) {
  constexpr uint64_t prime = 0x100000001b3;
  for (; bytes >= sizeof(uint64_t); bytes -= sizeof(uint64_t), data += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, data, sizeof word);
    sum = ((sum ^ word) * prime) ^ (sum >> 29);
  }
  for (; bytes > 0; bytes--, data++) sum = (sum ^ static_cast<uint8_t>(*data)) * prime;
  return sum;
}

uint64_t mix_axis(uint64_t sum, const DLTensor &tensor, int32_t axis, const char *data,
                  uint64_t item) {
  if (axis == tensor.ndim) return mix(sum, data, item);
  for (int64_t i = 0; i < tensor.shape[axis]; i++) {
    sum = mix_axis(sum, tensor, axis + 1,
                   data + i * tensor.strides[axis] * static_cast<int64_t>(item), item);
  }
  return sum;
}

}  // namespace

uint64_t checksum(const DLTensor &tensor) {
  constexpr uint64_t begin = 0xcbf29ce484222325;
  const uint64_t item = (tensor.dtype.bits * tensor.dtype.lanes + 7u) / 8u;
  if (is_compact(tensor)) return mix(begin, data_of(tensor), bytes_of(tensor));
  return mix_axis(begin, tensor, 0, data_of(tensor), item);
}

View borrow(const DLTensor &tensor, const std::string &path) {
  check_place(tensor, path);
  check_rank(tensor, path);
  const Ref type = descriptor(tensor.dtype, path);
  Ref array = over(tensor, type.get(), data_of(tensor), tensor.strides, 0);
  Exporter *exporter = attach(array, make_exporter());
  return {std::move(array), exporter};
}

Ref copy_of(const DLTensor &tensor, PyObject *type) {
  const uint64_t bytes = bytes_of(tensor);
  auto *buffer = static_cast<char *>(std::malloc(bytes ? bytes : 1));
  if (!buffer) throw std::bad_alloc();
  Ref exporter = export_buffer(buffer, bytes);
  Ref array = over(tensor, type, buffer, nullptr, NPY_ARRAY_WRITEABLE);
  auto *target = reinterpret_cast<PyArrayObject *>(array.get());
  if (bytes && is_compact(tensor)) {
    std::memcpy(buffer, data_of(tensor), bytes);
  } else if (bytes) {
    const Ref source = over(tensor, type, data_of(tensor), tensor.strides, 0);
    check(PyArray_CopyInto(target, reinterpret_cast<PyArrayObject *>(source.get())));
  }
  PyArray_CLEARFLAGS(target, NPY_ARRAY_WRITEABLE);
  attach(array, std::move(exporter));
  return array;
}

View copy(const DLTensor &tensor, const std::string &path) {
  check_place(tensor, path);
  check_rank(tensor, path);
  Ref array = copy_of(tensor, descriptor(tensor.dtype, path).get());
  PyObject *base = PyArray_BASE(reinterpret_cast<PyArrayObject *>(array.get()));
  return {std::move(array), reinterpret_cast<Exporter *>(base)};
}

Ref destination(const DLTensor &tensor, const std::string &path) {
  check_place(tensor, path);
  check_rank(tensor, path);
  const Ref type = descriptor(tensor.dtype, path);
  return over(tensor, type.get(), data_of(tensor), tensor.strides, NPY_ARRAY_WRITEABLE);
}

void poison_copies() {
  poisons = true;
}

void keep_owner(Exporter &exporter, const tesseract_owner &owner) {
  if (exporter.retained) return;
  owner.retain(owner.object);
  exporter.owner = owner;
  exporter.retained = 1;
}

}  // namespace tesseract::python
