// DLPack out of device arrays, and copies to the host.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "device_array.h"
#include "dtypes.h"
#include "layout.h"

namespace tesseract::arrays {
namespace {

// What a capsule holds, with shape and strides of its own behind it.  Versioned capsules carry the
// one, others the other managed tensor.
struct Exported {
  DLManagedTensorVersioned versioned;
  DLManagedTensor plain;
  Lease *lease;
  int64_t lengths[1];  // shape, then strides
};

// Called by whoever imported it, on any thread, with the GIL or without.
void free_exported(Exported *exported) {
  exported->lease->drop();
  std::free(exported);
}

void free_versioned(DLManagedTensorVersioned *tensor) {
  free_exported(static_cast<Exported *>(tensor->manager_ctx));
}

void free_plain(DLManagedTensor *tensor) {
  free_exported(static_cast<Exported *>(tensor->manager_ctx));
}

constexpr const char *kVersioned = "dltensor_versioned";
constexpr const char *kPlain = "dltensor";

// A capsule that nobody has taken from keeps its name.
void destroy_versioned(PyObject *capsule) {
  if (!PyCapsule_IsValid(capsule, kVersioned)) return;
  auto *tensor = static_cast<DLManagedTensorVersioned *>(PyCapsule_GetPointer(capsule, kVersioned));
  tensor->deleter(tensor);
}

void destroy_plain(PyObject *capsule) {
  if (!PyCapsule_IsValid(capsule, kPlain)) return;
  auto *tensor = static_cast<DLManagedTensor *>(PyCapsule_GetPointer(capsule, kPlain));
  tensor->deleter(tensor);
}

// Takes over one reference to the lease, whatever happens.
Ref capsule_of(const DLTensor &tensor, Lease *lease, bool is_versioned, uint64_t flags) {
  const auto rank = static_cast<size_t>(tensor.ndim);
  auto *made =
      static_cast<Exported *>(std::calloc(1, sizeof(Exported) + 2 * rank * sizeof(int64_t)));
  if (!made) {
    lease->drop();
    throw std::bad_alloc();
  }
  made->lease = lease;
  int64_t step = 1;
  for (size_t i = rank; i-- > 0;) {
    made->lengths[i] = tensor.shape[i];
    made->lengths[rank + i] = tensor.strides ? tensor.strides[i] : step;
    step *= tensor.shape[i];
  }
  DLTensor shown = tensor;
  shown.shape = made->lengths;
  shown.strides = made->lengths + rank;
  PyObject *capsule = nullptr;
  if (is_versioned) {
    made->versioned.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    made->versioned.manager_ctx = made;
    made->versioned.deleter = free_versioned;
    made->versioned.flags = flags;
    made->versioned.dl_tensor = shown;
    capsule = PyCapsule_New(&made->versioned, kVersioned, destroy_versioned);
  } else {
    made->plain.dl_tensor = shown;
    made->plain.manager_ctx = made;
    made->plain.deleter = free_plain;
    capsule = PyCapsule_New(&made->plain, kPlain, destroy_plain);
  }
  if (!capsule) free_exported(made);
  return own(capsule);
}

[[noreturn]] void refuse(PyObject *type, const char *text) {
  PyErr_SetString(type, text);
  throw PythonError{};
}

bool accepts_versions(PyObject *max_version) {
  if (max_version == Py_None) return false;
  int major = 0, minor = 0;
  if (!PyTuple_Check(max_version) || !PyArg_ParseTuple(max_version, "ii", &major, &minor)) {
    PyErr_Clear();
    refuse(PyExc_TypeError, "max_version must be a tuple of two integers, or None");
  }
  return major >= 1;
}

void check_device_wanted(PyObject *wanted, DLDevice device) {
  if (wanted == Py_None) return;
  int kind = 0, number = 0;
  if (!PyTuple_Check(wanted) || !PyArg_ParseTuple(wanted, "ii", &kind, &number)) {
    PyErr_Clear();
    refuse(PyExc_TypeError, "dl_device must be a tuple of device type and number, or None");
  }
  if (kind == device.device_type && number == device.device_id) return;
  refuse(PyExc_BufferError,
         "a device array is not moved by DLPack: call its .get() for a NumPy array");
}

// The consumer's stream is ready for the data from here on.
void make_ready(DLDevice device, uint64_t ready_on, PyObject *consumer) {
  long long stream = 0;
  if (consumer != Py_None) {
    stream = PyLong_AsLongLong(consumer);
    if (stream == -1 && PyErr_Occurred()) throw PythonError{};
    if (stream < -1 || stream == 0) {
      refuse(PyExc_ValueError,
             "the consumer's stream must be 1 (legacy default), 2 (per-thread default), a handle, "
             "or -1 for none; 0 is ambiguous");
    }
  }
  const auto after = static_cast<uint64_t>(stream);
  if (!ready_on || stream == -1 || after == ready_on) return;
  device.device_type = kDLCUDA;
  call_device([&](const tesseract_device_table &table, tesseract_error **error) {
    // Who names no stream may use any.
    return after ? table.order(device, ready_on, after, error)
                 : table.synchronize(device, ready_on, error);
  });
}

// A tensor with lengths of its own: without the GIL, others may revoke the array.
struct Noted {
  explicit Noted(const DLTensor &from) : tensor(from), lengths(from.shape, from.shape + from.ndim) {
    if (from.strides) lengths.insert(lengths.end(), from.strides, from.strides + from.ndim);
    tensor.shape = lengths.data();
    if (from.strides) tensor.strides = lengths.data() + from.ndim;
  }
  Noted(const Noted &) = delete;
  Noted &operator=(const Noted &) = delete;

  DLTensor tensor;
  std::vector<int64_t> lengths;
};

// A copy in fresh device memory, with a lease of its own.
Lease *copied(const DLTensor &tensor, uint64_t ready_on) {
  const uint64_t stream = ready_on ? ready_on : 1;
  const DLDevice device = {kDLCUDA, tensor.device.device_id};
  const Noted noted(tensor);
  const DLTensor &from = noted.tensor;
  DLManagedTensorVersioned *memory = nullptr;
  auto lease = std::make_unique<Lease>();
  call_device([&](const tesseract_device_table &table, tesseract_error **error) {
    int32_t status =
        table.allocate(device, &from.dtype, from.ndim, from.shape, stream, &memory, error);
    if (status == TESSERACT_OK) status = table.copy(&from, &memory->dl_tensor, stream, error);
    if (status == TESSERACT_OK) status = table.synchronize(device, stream, error);
    if (status != TESSERACT_OK && memory) memory->deleter(memory);
    return status;
  });
  lease->memory = memory;
  return lease.release();
}

Ref export_array(PyObject *self, PyObject *stream, PyObject *max_version, PyObject *dl_device,
                 PyObject *copy) {
  DeviceArray *array = as_device_array(self);
  const bool is_versioned = accepts_versions(max_version);
  check_device_wanted(dl_device, live(self).device);
  if (copy == Py_True) {
    Lease *lease = copied(live(self), array->stream);
    const DLTensor &made = lease->memory->dl_tensor;
    return capsule_of(made, lease, is_versioned, DLPACK_FLAG_BITMASK_IS_COPIED);
  }
  make_ready(live(self).device, array->stream, stream);
  const DLTensor &tensor = live(self);  // asked again: others may have run while this waited
  Lease *lease = lease_of(array);
  lease->references.fetch_add(1, std::memory_order_relaxed);
  return capsule_of(tensor, lease, is_versioned,
                    array->is_input || array->read_only ? DLPACK_FLAG_BITMASK_READ_ONLY : 0);
}

}  // namespace

PyObject *export_dlpack(PyObject *self, PyObject *arguments, PyObject *keywords) {
  PyObject *stream = Py_None, *max_version = Py_None, *dl_device = Py_None, *copy = Py_None;
  static const char *names[] = {"stream", "max_version", "dl_device", "copy", nullptr};
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|$OOOO", const_cast<char **>(names),
                                   &stream, &max_version, &dl_device, &copy)) {
    return nullptr;
  }
  return guarded([&] { return export_array(self, stream, max_version, dl_device, copy); });
}

PyObject *dlpack_device(PyObject *self, PyObject *) {
  return guarded([&] {
    const DLDevice device = live(self).device;
    return own(Py_BuildValue("(ii)", static_cast<int>(device.device_type), device.device_id));
  });
}

Ref copy_to_host(PyObject *self) {
  const DeviceArray *array = as_device_array(self);
  const Ref dtype = numpy_dtype(live(self).dtype);
  const Ref shape = own(PyObject_GetAttrString(self, "shape"));
  const Ref numpy = own(PyImport_ImportModule("numpy"));
  Ref made = own(PyObject_CallMethod(numpy.get(), "empty", "OO", shape.get(), dtype.get()));
  const Ref interface = own(PyObject_GetAttrString(made.get(), "__array_interface__"));
  PyObject *data = PyDict_GetItemString(interface.get(), "data");
  PyObject *address = data && PyTuple_Check(data) ? PyTuple_GetItem(data, 0) : nullptr;
  if (!address) refuse(PyExc_RuntimeError, "NumPy gave no address of an array");
  const Noted noted(live(self));
  const DLTensor &from = noted.tensor;
  if (size_of(from) == 0) return made;
  DLTensor to = from;
  to.data = PyLong_AsVoidPtr(address);
  to.device = {kDLCPU, 0};
  to.strides = nullptr;
  to.byte_offset = 0;
  const uint64_t stream = array->stream ? array->stream : 1;
  call_device([&](const tesseract_device_table &table, tesseract_error **error) {
    return table.copy(&from, &to, stream, error);
  });
  return made;
}

}  // namespace tesseract::arrays
