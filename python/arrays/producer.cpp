#include "producer.h"

#include <limits>

#include "device_array.h"
#include "dtypes.h"
#include "layout.h"

namespace tesseract::arrays {
namespace {

constexpr Py_ssize_t kMostAxes = 64;
constexpr const char *kInterface = "__cuda_array_interface__";

[[noreturn]] void refuse(const std::string &what) {
  throw BadArray{std::string("its ") + kInterface + " " + what};
}

std::string type_name(PyObject *object) {
  return Py_TYPE(object)->tp_name;
}

// The attribute, or null where there is none.  Throws PythonError for anything else it raises.
Ref attribute(PyObject *object, const char *name) {
  Ref found(PyObject_GetAttrString(object, name));
  if (found) return found;
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw PythonError{};
  PyErr_Clear();
  return {};
}

// Python integers only; throws BadArray for others, and for those that don't fit.
template <typename Integer>
Integer integer(PyObject *value, const char *what) {
  const Ref number(value && !PyBool_Check(value) ? PyNumber_Index(value) : nullptr);
  if (number) {
    if constexpr (std::is_signed_v<Integer>) {
      const Integer found = PyLong_AsLongLong(number.get());
      if (found != -1 || !PyErr_Occurred()) return found;
    } else {
      const Integer found = PyLong_AsUnsignedLongLong(number.get());
      if (found != std::numeric_limits<Integer>::max() || !PyErr_Occurred()) return found;
    }
  }
  PyErr_Clear();
  refuse(std::string("has a ") + what + " that is no integer of 64 bits");
}

// An entry, null where there is none or None.
PyObject *entry(PyObject *dict, const char *name) {
  PyObject *found = PyDict_GetItemString(dict, name);
  return found == Py_None ? nullptr : found;
}

Ref lengths_tuple(PyObject *value, const char *what) {
  Ref tuple(value && (PyTuple_Check(value) || PyList_Check(value)) ? PySequence_Tuple(value)
                                                                   : nullptr);
  if (!tuple) {
    PyErr_Clear();
    refuse(std::string("has no tuple as ") + what);
  }
  return tuple;
}

// Whether the bytes of the elements fit in 63 bits.
bool has_possible_size(const DLTensor &tensor) {
  int64_t bytes = item_bytes(tensor.dtype);
  bool is_empty = false;
  for (int32_t i = 0; i < tensor.ndim; i++) is_empty |= tensor.shape[i] == 0;
  for (int32_t i = 0; !is_empty && i < tensor.ndim; i++) {
    if (__builtin_mul_overflow(bytes, tensor.shape[i], &bytes)) return false;
  }
  return true;
}

constexpr int64_t kFar = int64_t{1} << 46;  // more than any address space has

// Whether steps of so many bytes along an axis stay within an address space.
bool is_near(int64_t step, int64_t length) {
  int64_t reach = 0;
  return !__builtin_mul_overflow(step, length, &reach) && reach <= kFar && reach >= -kFar;
}

// Strides that are no multiple of the element's size, or reach too far, are nothing we can say.
void read_strides(PyObject *value, DLTensor &tensor, int64_t *strides) {
  const Ref tuple = lengths_tuple(value, "strides");
  if (PyTuple_GET_SIZE(tuple.get()) != tensor.ndim) refuse("has strides of another rank");
  const int64_t item = item_bytes(tensor.dtype);
  for (int32_t i = 0; i < tensor.ndim; i++) {
    const auto step = integer<long long>(PyTuple_GET_ITEM(tuple.get(), i), "stride");
    const bool matters = tensor.shape[i] > 1;
    if (matters && step % item != 0) refuse("has a stride that is no multiple of the element size");
    if (matters && !is_near(step, tensor.shape[i])) refuse("has an impossible stride");
    strides[i] = matters ? step / item : 1;
  }
  tensor.strides = strides;
}

// (type, number) of the object's device; false where it has none.
bool read_device(PyObject *object, DLDevice &device) {
  const Ref method = attribute(object, "__dlpack_device__");
  if (!method) return false;
  const Ref answer = own(PyObject_CallNoArgs(method.get()));
  if (!PyTuple_Check(answer.get()) || PyTuple_GET_SIZE(answer.get()) != 2) {
    throw BadArray{"its __dlpack_device__() gave no pair of type and number"};
  }
  // Types may be members of an enumeration.
  const long kind = PyLong_AsLong(PyTuple_GET_ITEM(answer.get(), 0));
  const long number = PyErr_Occurred() ? 0 : PyLong_AsLong(PyTuple_GET_ITEM(answer.get(), 1));
  if (PyErr_Occurred()) throw PythonError{};
  device = {static_cast<DLDeviceType>(kind), static_cast<int32_t>(number)};
  return true;
}

// Whether DLPack says so, with an exception set that is none of this.
bool is_on_cuda(PyObject *object) {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  DLDevice device{};
  bool found = false;
  try {
    found = read_device(object, device);
  } catch (const PythonError &) {
    PyErr_Clear();
  } catch (const BadArray &) {
  }
  PyErr_Restore(type, value, traceback);
  return found && is_cuda(device);
}

}  // namespace

bool Producer::read(PyObject *object, uint64_t consumer, Where where) {
  if (device_array_type() && is_device_array(object)) {
    tensor_ = live(object);
    stream_ = as_device_array(object)->stream;
    tells_device_ = true;
    return true;
  }
  // A class is not an array of its instances' kind.
  if (PyType_Check(object)) return false;
  Ref interface;
  try {
    interface = attribute(object, kInterface);
  } catch (const PythonError &) {
    // For types that the interface lacks, say.
    if (!is_on_cuda(object)) throw;
    PyErr_Clear();
    return read_dlpack(object, consumer, where);
  }
  if (!interface) return read_dlpack(object, consumer, where);
  // Version 2 knows no streams: work may be pending that only DLPack's exchange waits for.
  const bool tells_stream =
      !PyDict_Check(interface.get()) || PyDict_GetItemString(interface.get(), "stream");
  if (!tells_stream && read_dlpack(object, consumer, Where::device)) return true;
  read_interface(interface.get());
  return true;
}

void Producer::read_interface(PyObject *interface) {
  if (!PyDict_Check(interface)) refuse("is no dict but of type " + type_name(interface));
  PyObject *typestr = entry(interface, "typestr");
  Py_ssize_t length = 0;
  const char *text =
      typestr && PyUnicode_Check(typestr) ? PyUnicode_AsUTF8AndSize(typestr, &length) : nullptr;
  if (!text) {
    PyErr_Clear();
    refuse("has no text as typestr");
  }
  const std::string_view type(text, static_cast<size_t>(length));
  if (!read_typestr(type, tensor_.dtype)) {
    refuse("has the typestr \"" + std::string(type) + "\", which names no known dtype");
  }
  if (entry(interface, "mask")) refuse("has a mask, which is not supported");

  const Ref shape = lengths_tuple(entry(interface, "shape"), "shape");
  const Py_ssize_t rank = PyTuple_GET_SIZE(shape.get());
  if (rank > kMostAxes) refuse("has a shape of rank " + std::to_string(rank));
  lengths_.reset(new int64_t[static_cast<size_t>(2 * rank + 1)]);
  tensor_.ndim = static_cast<int32_t>(rank);
  tensor_.shape = lengths_.get();
  for (Py_ssize_t i = 0; i < rank; i++) {
    lengths_[static_cast<size_t>(i)] =
        integer<long long>(PyTuple_GET_ITEM(shape.get(), i), "length");
    if (lengths_[static_cast<size_t>(i)] < 0) refuse("has a negative length");
  }
  if (!has_possible_size(tensor_)) refuse("has an impossible shape");
  if (PyObject *strides = entry(interface, "strides")) {
    read_strides(strides, tensor_, lengths_.get() + rank);
  }

  PyObject *data = entry(interface, "data");
  if (!data || !PyTuple_Check(data) || PyTuple_GET_SIZE(data) != 2) {
    refuse("has no pair of pointer and flag as data");
  }
  PyObject *pointer = PyTuple_GET_ITEM(data, 0);
  const auto address = pointer == Py_None ? 0ull : integer<unsigned long long>(pointer, "pointer");
  tensor_.data = reinterpret_cast<void *>(static_cast<uintptr_t>(address));
  tensor_.device = {kDLCUDA, 0};
  if (size_of(tensor_) > 0 && !address) refuse("has a null pointer");
  if (PyObject *stream = entry(interface, "stream")) {
    stream_ = integer<unsigned long long>(stream, "stream");
    if (stream_ == 0) refuse("has the stream 0, which is ambiguous: 1 is the legacy default");
  }
}

// ---- DLPack ------------------------------------------------------------------------------------

namespace {

// Some producers know nothing of versions.
Ref ask_for_capsule(PyObject *method, uint64_t consumer, bool on_device) {
  const Ref none = own(PyTuple_New(0));
  const Ref keywords = own(PyDict_New());
  if (on_device) {
    // What comes from the legacy default stream waits for all that wait for others.
    const Ref stream = own(PyLong_FromUnsignedLongLong(consumer ? consumer : 1));
    check(PyDict_SetItemString(keywords.get(), "stream", stream.get()));
  }
  const Ref version = own(Py_BuildValue("(ii)", DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION));
  check(PyDict_SetItemString(keywords.get(), "max_version", version.get()));
  Ref capsule(PyObject_Call(method, none.get(), keywords.get()));
  if (capsule) return capsule;
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw PythonError{};
  PyErr_Clear();
  check(PyDict_DelItemString(keywords.get(), "max_version"));
  return own(PyObject_Call(method, none.get(), keywords.get()));
}

bool is_read_by_processor(DLDevice device) {
  return device.device_type == kDLCPU || device.device_type == kDLCUDAHost ||
         device.device_type == kDLROCMHost;
}

}  // namespace

bool Producer::read_dlpack(PyObject *object, uint64_t consumer, Where where) {
  const Ref method = attribute(object, "__dlpack__");
  DLDevice device{};
  if (!method || !read_device(object, device)) return false;
  if (!is_cuda(device)) {
    if (where == Where::device) return false;
    if (!is_read_by_processor(device)) {
      throw BadArray{"it is on a device of the type " + std::to_string(device.device_type) +
                     " (of DLPack): only the host and CUDA devices are known"};
    }
  }
  capsule_ = ask_for_capsule(method.get(), consumer, is_cuda(device));
  if (PyCapsule_IsValid(capsule_.get(), "dltensor_versioned")) {
    const auto *managed = static_cast<const DLManagedTensorVersioned *>(
        PyCapsule_GetPointer(capsule_.get(), "dltensor_versioned"));
    if (managed->version.major != DLPACK_MAJOR_VERSION) {
      throw BadArray{"its __dlpack__ gave a tensor of DLPack " +
                     std::to_string(managed->version.major) + ", which is not known here"};
    }
    take(managed->dl_tensor);
  } else if (PyCapsule_IsValid(capsule_.get(), "dltensor")) {
    take(static_cast<const DLManagedTensor *>(PyCapsule_GetPointer(capsule_.get(), "dltensor"))
             ->dl_tensor);
  } else {
    throw BadArray{"its __dlpack__ gave no DLPack capsule but " + type_name(capsule_.get())};
  }
  if (is_cuda(device) != is_cuda(tensor_.device)) {
    throw BadArray{"its __dlpack__ gave memory of another device than __dlpack_device__ says"};
  }
  return true;
}

void Producer::take(const DLTensor &tensor) {
  tensor_ = tensor;
  tells_device_ = true;
  if (tensor.ndim < 0 || tensor.ndim > kMostAxes) {
    throw BadArray{"its __dlpack__ gave a tensor of rank " + std::to_string(tensor.ndim)};
  }
  if (!name_of(tensor.dtype)) throw BadArray{"its __dlpack__ gave elements of an unknown dtype"};
  if (tensor.ndim > 0 && !tensor.shape) throw BadArray{"its __dlpack__ gave no shape"};
  for (int32_t i = 0; i < tensor.ndim; i++) {
    if (tensor.shape[i] < 0) throw BadArray{"its __dlpack__ gave a negative length"};
  }
  if (!has_possible_size(tensor)) throw BadArray{"its __dlpack__ gave an impossible shape"};
  for (int32_t i = 0; tensor.strides && i < tensor.ndim; i++) {
    int64_t step = 0;
    if (tensor.shape[i] > 1 &&
        (__builtin_mul_overflow(tensor.strides[i], item_bytes(tensor.dtype), &step) ||
         !is_near(step, tensor.shape[i]))) {
      throw BadArray{"its __dlpack__ gave an impossible stride"};
    }
  }
  if (size_of(tensor) > 0 && !tensor.data) throw BadArray{"its __dlpack__ gave a null pointer"};
  if (!is_cuda(tensor.device) && !is_read_by_processor(tensor.device)) {
    throw BadArray{"its __dlpack__ gave memory of an unknown kind of device"};
  }
}

}  // namespace tesseract::arrays
