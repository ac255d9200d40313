#include "device_array.h"

#include <array>
#include <cstddef>
#include <new>

#include <structmember.h>

#include "dtypes.h"
#include "layout.h"

namespace tesseract::arrays {
namespace {

PyTypeObject *type = nullptr;
DeviceApi installed;

// Objects that were deallocated, for the next ones.  Guarded by the GIL.
constexpr size_t kMostIdle = 64;
std::array<DeviceArray *, kMostIdle> idle;
size_t n_idle = 0;

Ref fresh() {
  DeviceArray *made =
      n_idle ? idle[--n_idle] : static_cast<DeviceArray *>(PyObject_Malloc(sizeof(DeviceArray)));
  if (!made) {
    PyErr_NoMemory();
    throw PythonError{};
  }
  PyObject_Init(reinterpret_cast<PyObject *>(made), type);
  made->tensor = nullptr;
  made->stream = 0;
  made->lease = nullptr;
  made->publishes = false;
  made->read_only = false;
  made->is_input = false;
  made->weak_references = nullptr;
  return Ref(reinterpret_cast<PyObject *>(made));
}

void destroy(PyObject *self) {
  DeviceArray *array = as_device_array(self);
  if (array->weak_references) PyObject_ClearWeakRefs(self);
  Lease *lease = array->lease;
  PyTypeObject *its_type = Py_TYPE(self);
  if (n_idle < kMostIdle) {
    idle[n_idle++] = array;
  } else {
    PyObject_Free(self);
  }
  Py_DECREF(its_type);
  if (lease) lease->drop();
}

// Whether this thread holds the GIL: not after Python's end.
bool holds_gil() {
#if PY_VERSION_HEX >= 0x030D0000
  PyThreadState *const current = PyThreadState_GetUnchecked();
#else
  PyThreadState *const current = _PyThreadState_UncheckedGet();
#endif
  return current && current == PyGILState_GetThisThreadState();
}

void free_lease(Lease *lease) {
  if (lease->memory && lease->memory->deleter) lease->memory->deleter(lease->memory);
  if (lease->retained) lease->owner.release(lease->owner.object);
  delete lease;
}

void set_revoked_error() {
  constexpr const char *text =
      "this device array was valid only during the call that it was given to, which has returned: "
      "keep a copy of it instead";
  const Ref errors(PyImport_ImportModule("tesseract_host.runtime.errors"));
  const Ref error(errors ? PyObject_GetAttrString(errors.get(), "RevokedArrayError") : nullptr);
  if (!error) PyErr_Clear();
  PyErr_SetString(error ? error.get() : PyExc_RuntimeError, text);
}

// ---- Attributes --------------------------------------------------------------------------------

Ref tuple_of(const int64_t *values, int32_t count, int64_t factor) {
  Ref made = own(PyTuple_New(count));
  for (int32_t i = 0; i < count; i++) {
    PyTuple_SET_ITEM(made.get(), i, own(PyLong_FromLongLong(values[i] * factor)).release());
  }
  return made;
}

Ref shape_of(const DLTensor &tensor) {
  return tuple_of(tensor.shape, tensor.ndim, 1);
}

// In bytes, whether they are written out in the tensor or not.
Ref strides_of(const DLTensor &tensor) {
  const int64_t item = item_bytes(tensor.dtype);
  if (tensor.strides) return tuple_of(tensor.strides, tensor.ndim, item);
  Ref made = own(PyTuple_New(tensor.ndim));
  int64_t step = item;
  for (int32_t i = tensor.ndim - 1; i >= 0; i--) {
    PyTuple_SET_ITEM(made.get(), i, own(PyLong_FromLongLong(step)).release());
    step *= tensor.shape[i];
  }
  return made;
}

void set(const Ref &dict, const char *name, const Ref &value) {
  check(PyDict_SetItemString(dict.get(), name, value.get()));
}

Ref interface_of(const DeviceArray &array, const DLTensor &tensor) {
  const char *typestr = typestr_of(tensor.dtype);
  if (!typestr) {
    const char *name = name_of(tensor.dtype);
    PyErr_Format(PyExc_TypeError,
                 "__cuda_array_interface__ has no type for %s: take this array by DLPack, "
                 "from_dlpack(array)",
                 name ? name : "this dtype");
    throw PythonError{};
  }
  Ref made = own(PyDict_New());
  set(made, "shape", shape_of(tensor));
  set(made, "typestr", own(PyUnicode_FromString(typestr)));
  const auto address = size_of(tensor) ? reinterpret_cast<uintptr_t>(address_of(tensor)) : 0;
  const Ref pointer = own(PyLong_FromUnsignedLongLong(address));
  set(made, "data", own(PyTuple_Pack(2, pointer.get(), array.read_only ? Py_True : Py_False)));
  set(made, "strides", is_row_major(tensor) ? Ref(Py_NewRef(Py_None)) : strides_of(tensor));
  set(made, "version", own(PyLong_FromLong(3)));
  if (array.publishes && array.stream) {
    set(made, "stream", own(PyLong_FromUnsignedLongLong(array.stream)));
  }
  return made;
}

PyObject *get_interface(PyObject *self, void *) {
  return guarded([&] { return interface_of(*as_device_array(self), live(self)); });
}

PyObject *get_shape(PyObject *self, void *) {
  return guarded([&] { return shape_of(live(self)); });
}

PyObject *get_dtype(PyObject *self, void *) {
  return guarded([&] { return numpy_dtype(live(self).dtype); });
}

PyObject *get_ndim(PyObject *self, void *) {
  return guarded([&] { return own(PyLong_FromLong(live(self).ndim)); });
}

PyObject *get_strides(PyObject *self, void *) {
  return guarded([&] { return strides_of(live(self)); });
}

PyObject *get_nbytes(PyObject *self, void *) {
  return guarded([&] { return own(PyLong_FromLongLong(bytes_in(live(self)))); });
}

PyObject *get_size(PyObject *self, void *) {
  return guarded([&] { return own(PyLong_FromLongLong(size_of(live(self)))); });
}

Py_ssize_t length(PyObject *self) {
  try {
    const DLTensor &tensor = live(self);
    if (tensor.ndim > 0) return tensor.shape[0];
    PyErr_SetString(PyExc_TypeError, "an array of rank 0 has no length");
  } catch (const PythonError &) {
  }
  return -1;
}

PyObject *represent(PyObject *self) {
  const DLTensor *tensor = as_device_array(self)->tensor;
  if (!tensor) return PyUnicode_FromString("<DeviceArray, its memory is no longer valid>");
  return guarded([&] {
    const Ref shape = shape_of(*tensor);
    const char *name = name_of(tensor->dtype);
    return own(PyUnicode_FromFormat("<DeviceArray %R %s on cuda:%d>", shape.get(),
                                    name ? name : "of unknown dtype", tensor->device.device_id));
  });
}

PyObject *get(PyObject *self, PyObject *) {
  return guarded([&] { return copy_to_host(self); });
}

// NumPy would make an array of one object of anything that has no answer for it.
PyObject *as_numpy(PyObject *self, PyObject *arguments, PyObject *keywords) {
  PyObject *dtype = Py_None, *copies = Py_None;
  static const char *names[] = {"dtype", "copy", nullptr};
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|OO", const_cast<char **>(names), &dtype,
                                   &copies)) {
    return nullptr;
  }
  if (copies != Py_True) {
    PyErr_SetString(PyExc_TypeError,
                    "a device array is not copied to the host unasked: call its .get()");
    return nullptr;
  }
  return guarded([&] {
    Ref array = copy_to_host(self);
    if (dtype == Py_None) return array;
    return own(PyObject_CallMethod(array.get(), "astype", "O", dtype));
  });
}

PyCFunction with_keywords(PyObject *(*function)(PyObject *, PyObject *, PyObject *)) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(function));
}

PyMethodDef methods[] = {
    {"__dlpack__", with_keywords(export_dlpack), METH_VARARGS | METH_KEYWORDS,
     "A DLPack capsule; the consumer's stream waits for what the array waits for."},
    {"__dlpack_device__", dlpack_device, METH_NOARGS, "DLPack's device type and number."},
    {"__array__", with_keywords(as_numpy), METH_VARARGS | METH_KEYWORDS,
     "TypeError, unless a copy is asked for."},
    {"get", get, METH_NOARGS, "A NumPy array with a copy of the elements."},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef properties[] = {
    {"__cuda_array_interface__", get_interface, nullptr, "Version 3 of the interface.", nullptr},
    {"shape", get_shape, nullptr, "The lengths.", nullptr},
    {"dtype", get_dtype, nullptr, "NumPy's dtype; of bfloat16 and float8 that of ml_dtypes.",
     nullptr},
    {"ndim", get_ndim, nullptr, "The rank.", nullptr},
    {"strides", get_strides, nullptr, "In bytes.", nullptr},
    {"nbytes", get_nbytes, nullptr, "Bytes of the elements, without gaps.", nullptr},
    {"size", get_size, nullptr, "The number of elements.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(DeviceArray, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

constexpr const char *kText =
    "An array in the memory of a CUDA device.\n\n"
    "What a call returned has memory of its own, which lives as long as the array and what was\n"
    "imported from it by DLPack.\n\n"
    "What an endpoint is given is valid during the call: afterwards every access raises\n"
    "tesseract_host.exceptions.RevokedArrayError.  It must not be written to.";

PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void *>(destroy)},
    {Py_tp_repr, reinterpret_cast<void *>(represent)},
    {Py_sq_length, reinterpret_cast<void *>(length)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_members, members},
    {Py_tp_doc, const_cast<char *>(kText)},
    {0, nullptr},
};

PyType_Spec spec = {"tesseract_host.DeviceArray", sizeof(DeviceArray), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

}  // namespace

void set_device_api(const DeviceApi &api) {
  installed = api;
}

const DeviceApi &device_api() {
  return installed;
}

void check_device_call(int32_t status, tesseract_error *error) {
  if (status == TESSERACT_OK) return;
  const bool has_text = error && installed.error_message;
  DeviceFailure failure{status, has_text ? installed.error_message(error, nullptr)
                                         : "the CUDA driver refused a request"};
  if (error && installed.error_free) installed.error_free(error);
  throw failure;
}

void set_exception(const DeviceFailure &failure) {
  PyObject *type_of_error =
      failure.status == TESSERACT_ERROR_OUT_OF_MEMORY ? PyExc_MemoryError : PyExc_RuntimeError;
  PyErr_SetString(type_of_error, failure.message.c_str());
}

void Lease::drop() {
  if (references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if ((memory || retained) && holds_gil()) {
    const Pause pause;  // freeing memory waits for the device
    free_lease(this);
  } else {
    free_lease(this);
  }
}

void create_device_array_type() {
  if (!type) type = reinterpret_cast<PyTypeObject *>(own(PyType_FromSpec(&spec)).release());
}

PyTypeObject *device_array_type() {
  return type;
}

Ref make_view(const DLTensor &tensor, const Access &access) {
  Ref made = fresh();
  point(made.get(), tensor, access);
  return made;
}

Ref make_owner(DLManagedTensorVersioned *memory, const Access &access) {
  auto *lease = new (std::nothrow) Lease;
  if (!lease) {
    if (memory->deleter) memory->deleter(memory);
    throw std::bad_alloc();
  }
  lease->memory = memory;
  try {
    Ref made = make_view(memory->dl_tensor, access);
    as_device_array(made.get())->lease = lease;
    return made;
  } catch (const PythonError &) {
    lease->drop();
    throw;
  }
}

Lease *lease_of(DeviceArray *array) {
  if (!array->lease) array->lease = new Lease;
  return array->lease;
}

const DLTensor &live(PyObject *array) {
  const DLTensor *tensor = as_device_array(array)->tensor;
  if (tensor) return *tensor;
  set_revoked_error();
  throw PythonError{};
}

}  // namespace tesseract::arrays
