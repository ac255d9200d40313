// Arrays in CUDA memory, as Python sees them: `__cuda_array_interface__` and DLPack.
//
// A view shows memory of somebody else's, such as the caller's of an endpoint, and is revoked when
// that memory is no longer to be touched: every access raises RevokedArrayError from then on.  An
// owner has memory of its own, which lives until it and all that was imported from it by DLPack are
// gone; it is never revoked unless somebody asks for it.
//
// All functions need the GIL but those of a lease.
#pragma once

#include <tesseract_host/ext/device.h>

#include <atomic>
#include <new>
#include <string>

#include "reference.h"

namespace tesseract::arrays {

// What of the host device arrays need.  Set once, before anything else here is called.
struct DeviceApi {
  const tesseract_device_table *table = nullptr;  // null: nothing can be waited for or copied
  const char *(*error_message)(const tesseract_error *error, uint64_t *length) = nullptr;
  void (*error_free)(tesseract_error *error) = nullptr;
};

void set_device_api(const DeviceApi &api);
const DeviceApi &device_api();

// A function of the table failed.
struct DeviceFailure {
  int32_t status;
  std::string message;
};

// Throws DeviceFailure for a status other than TESSERACT_OK, and frees the error.
void check_device_call(int32_t status, tesseract_error *error);

// Runs a function of the table without the GIL.  Throws DeviceFailure.
template <typename Function>
void call_device(Function function) {
  const tesseract_device_table *table = device_api().table;
  if (!table) {
    throw DeviceFailure{TESSERACT_ERROR_UNAVAILABLE, "this host has no functions for devices"};
  }
  tesseract_error *error = nullptr;
  int32_t status = TESSERACT_OK;
  {
    const Pause pause;
    status = function(*table, &error);
  }
  check_device_call(status, error);
}

// Sets a failure as a Python exception: RuntimeError, or MemoryError.
void set_exception(const DeviceFailure &failure);

// Runs a function that Python calls; what it throws becomes the exception that is set.
template <typename Function>
PyObject *guarded(Function function) {
  try {
    return function().release();
  } catch (const PythonError &) {
  } catch (const DeviceFailure &failure) {
    set_exception(failure);
  } catch (const std::bad_alloc &) {
    PyErr_NoMemory();
  }
  return nullptr;
}

// Counts who may still reach an array's memory by DLPack, and has the memory where it is the
// array's own.  Its functions may be called on any thread, without the GIL and after Python's end.
struct Lease {
  std::atomic<int64_t> references{1};          // the array's, and one for each import that is alive
  DLManagedTensorVersioned *memory = nullptr;  // freed with the last reference; or null
  tesseract_owner owner{nullptr, nullptr, nullptr};  // released with it, where `retained`
  bool retained = false;

  void drop();
};

struct DeviceArray {
  PyObject_HEAD const DLTensor *tensor;  // borrowed from the call or from the lease; null: revoked
  uint64_t stream;                       // the data are ready on it; 0: they are ready
  Lease *lease;                          // null: nothing was exported and nothing is owned
  bool publishes;                        // the stream, by __cuda_array_interface__
  bool read_only;                        // as __cuda_array_interface__ has it
  bool is_input;                         // not to be written to, as DLPack has it
  PyObject *weak_references;
};

// How the data of an array are to be taken.
struct Access {
  uint64_t stream = 0;
  bool publishes = false;
  bool read_only = false;
  bool is_input = false;
};

// Creates the type; once.  Throws PythonError.
void create_device_array_type();
PyTypeObject *device_array_type();

inline bool is_device_array(PyObject *object) {
  return Py_IS_TYPE(object, device_array_type());
}
inline DeviceArray *as_device_array(PyObject *object) {
  return reinterpret_cast<DeviceArray *>(object);
}

// A view of a tensor, which lives until the view is revoked or pointed elsewhere.  Throws
// PythonError.
Ref make_view(const DLTensor &tensor, const Access &access);

// An owner, which takes the tensor over whatever happens.  Throws PythonError.
Ref make_owner(DLManagedTensorVersioned *memory, const Access &access);

// Has an array that nothing else refers to show other memory.
inline void point(PyObject *array, const DLTensor &tensor, const Access &access) {
  DeviceArray *self = as_device_array(array);
  self->tensor = &tensor;
  self->stream = access.stream;
  self->publishes = access.publishes;
  self->read_only = access.read_only;
  self->is_input = access.is_input;
}

inline void revoke(PyObject *array) {
  as_device_array(array)->tensor = nullptr;
}

// DLPack imports of the array that are alive.
inline int64_t open_exports(PyObject *array) {
  const Lease *lease = as_device_array(array)->lease;
  return lease ? lease->references.load(std::memory_order_acquire) - 1 : 0;
}

// True where nothing can know the array but by a reference to it.
inline bool is_unknown(PyObject *array) {
  const DeviceArray *self = as_device_array(array);
  return !self->weak_references &&
         (!self->lease || (open_exports(array) == 0 && !self->lease->retained));
}

// The array's lease, made where it has none.  Throws PythonError.
Lease *lease_of(DeviceArray *array);

// The array's tensor; throws PythonError (RevokedArrayError) where it was revoked.
const DLTensor &live(PyObject *array);

// DLPack's methods; see export.cpp.
PyObject *export_dlpack(PyObject *self, PyObject *arguments, PyObject *keywords);
PyObject *dlpack_device(PyObject *self, PyObject *);

// A NumPy array with a copy of the elements.  Throws PythonError or DeviceFailure.
Ref copy_to_host(PyObject *array);

}  // namespace tesseract::arrays
