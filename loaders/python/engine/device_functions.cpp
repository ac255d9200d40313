#include "device_functions.h"

#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "../../../python/arrays/device_array.h"
#include "../../../python/arrays/dtypes.h"
#include "../../../python/arrays/producer.h"

namespace tesseract::python::engine {

using arrays::guarded;

namespace {

// A tensor over an address that is a test's business, freed with its array.
struct Shown {
  DLTensor tensor;
  int64_t lengths[1];  // shape, then strides
};

void keep_nothing(void *) {}

void read_lengths(PyObject *sequence, int64_t *lengths, Py_ssize_t count) {
  const Ref tuple = own(PySequence_Tuple(sequence));
  if (PyTuple_GET_SIZE(tuple.get()) != count) {
    PyErr_SetString(PyExc_ValueError, "shape and strides differ in length");
    throw PythonError{};
  }
  for (Py_ssize_t i = 0; i < count; i++) {
    lengths[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple.get(), i));
    if (lengths[i] == -1 && PyErr_Occurred()) throw PythonError{};
  }
}

Ref make_array(unsigned long long address, PyObject *shape, const char *dtype, int device,
               PyObject *strides, const arrays::Access &access) {
  const Py_ssize_t rank = PySequence_Size(shape);
  if (rank < 0) throw PythonError{};
  auto *shown = static_cast<Shown *>(
      std::calloc(1, sizeof(Shown) + static_cast<size_t>(2 * rank) * sizeof(int64_t)));
  if (!shown) throw std::bad_alloc();
  auto lease = std::make_unique<arrays::Lease>();
  lease->owner = {shown, keep_nothing, std::free};
  lease->retained = true;
  arrays::Lease *const held = lease.release();
  try {
    shown->tensor.data = reinterpret_cast<void *>(static_cast<uintptr_t>(address));
    shown->tensor.device = {kDLCUDA, device};
    shown->tensor.ndim = static_cast<int32_t>(rank);
    if (!arrays::read_name(dtype, shown->tensor.dtype)) {
      PyErr_Format(PyExc_ValueError, "unknown dtype %s", dtype);
      throw PythonError{};
    }
    read_lengths(shape, shown->lengths, rank);
    shown->tensor.shape = shown->lengths;
    if (strides != Py_None) {
      read_lengths(strides, shown->lengths + rank, rank);
      shown->tensor.strides = shown->lengths + rank;
    }
    Ref made = arrays::make_view(shown->tensor, access);
    arrays::as_device_array(made.get())->lease = held;
    return made;
  } catch (const PythonError &) {
    held->drop();
    throw;
  }
}

bool is_no_device_array(PyObject *object) {
  if (arrays::is_device_array(object)) return false;
  PyErr_SetString(PyExc_TypeError, "this needs a DeviceArray");
  return true;
}

}  // namespace

PyObject *device_shape_and_dtype(PyObject *, PyObject *object) {
  return guarded([&] {
    arrays::Producer producer;
    try {
      if (producer.read(object, 1)) {
        const DLTensor &tensor = producer.tensor();
        const Ref shape = own(PyTuple_New(tensor.ndim));
        for (int32_t i = 0; i < tensor.ndim; i++) {
          PyTuple_SET_ITEM(shape.get(), i, own(PyLong_FromLongLong(tensor.shape[i])).release());
        }
        return own(Py_BuildValue("(Os)", shape.get(), arrays::name_of(tensor.dtype)));
      }
      PyErr_SetString(PyExc_ValueError, "it is no device array");
    } catch (const arrays::BadArray &bad) {
      PyErr_SetString(PyExc_ValueError, bad.message.c_str());
    }
    throw PythonError{};
  });
}

PyObject *device_array_function(PyObject *, PyObject *arguments) {
  unsigned long long address = 0, stream = 0;
  PyObject *shape = nullptr, *strides = Py_None;
  const char *dtype = nullptr;
  int device = 0, publishes = 0, read_only = 0, is_input = 1;
  if (!PyArg_ParseTuple(arguments, "KOs|iOKppp", &address, &shape, &dtype, &device, &strides,
                        &stream, &publishes, &read_only, &is_input)) {
    return nullptr;
  }
  const arrays::Access access{stream, publishes != 0, read_only != 0, is_input != 0};
  return guarded([&] { return make_array(address, shape, dtype, device, strides, access); });
}

PyObject *revoke_function(PyObject *, PyObject *array) {
  if (is_no_device_array(array)) return nullptr;
  arrays::revoke(array);
  Py_RETURN_NONE;
}

PyObject *open_exports_function(PyObject *, PyObject *array) {
  if (is_no_device_array(array)) return nullptr;
  return PyLong_FromLongLong(arrays::open_exports(array));
}

PyObject *make_device_arrays(PyObject *, PyObject *arguments) {
  int count = 0, rounds = 0;
  if (!PyArg_ParseTuple(arguments, "ii", &count, &rounds)) return nullptr;
  return guarded([&] {
    int64_t shape[1] = {3};
    DLTensor tensor = tesseract_float64(nullptr, 1, shape);
    tensor.device = {kDLCUDA, 0};
    arrays::Access access;
    access.is_input = true;
    std::vector<Ref> made(static_cast<size_t>(count));
    for (int i = 0; i < rounds; i++) {
      for (Ref &array : made) array = arrays::make_view(tensor, access);
      for (Ref &array : made) arrays::revoke(array.get());
      for (Ref &array : made) array = Ref();
    }
    return Ref(Py_NewRef(Py_None));
  });
}

}  // namespace tesseract::python::engine
