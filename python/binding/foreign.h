// Arrays that are none of NumPy's: read by DLPack or `__cuda_array_interface__`, not copied.
#pragma once

#include <dlpack/dlpack.h>

#include <memory>
#include <vector>

#include "../arrays/producer.h"
#include "python.h"

namespace tesseract::binding {

// One array.  Borrows the object, which must not change meanwhile.
class Foreign {
 public:
  using Where = arrays::Producer::Where;

  // False for an object that is no such array.  By DLPack the data are asked for on `stream`, on
  // the legacy default one if it is 0.  Runs the object's code.  `thoroughly`: the last byte, too,
  // must be memory of the device.  Throws arrays::BadArray, arrays::DeviceFailure, PythonError for
  // what the object raised, or std::bad_alloc.
  bool read(PyObject *object, uint64_t stream, Where where, bool thoroughly);

  // As the host takes it: in memory that the processor reads, or of a device that the driver names.
  const DLTensor &tensor() const { return tensor_; }
  bool on_device() const { return tensor_.device.device_type != kDLCPU; }

  // Whether nothing tells which device it is on, since it has no elements.
  bool is_on_any() const { return is_on_any_; }

  // The stream that the data are ready on; 0: they are ready.
  uint64_t ready_on() const { return ready_on_; }

  // Whether the producer chose it, so that a call may run there.
  bool is_its_own() const { return is_its_own_; }

 private:
  void settle_device(bool thoroughly);

  arrays::Producer producer_;
  DLTensor tensor_{};
  uint64_t ready_on_ = 0;
  bool is_its_own_ = false;
  bool is_on_any_ = false;
};

// What the arguments of one call say of themselves: each is asked once, whatever it is compared to.
class Readings {
 public:
  explicit Readings(uint64_t stream) : stream_(stream) {}

  // Null for what is no such array, or one that can't be used: then no exception is set.  Throws
  // PythonError for what is no Exception, an interrupt, alone.
  const Foreign *of(PyObject *object, Foreign::Where where);

 private:
  struct Reading {
    Ref object;
    Foreign::Where where;
    std::unique_ptr<Foreign> found;
  };

  uint64_t stream_;  // of the call; 0: the producers say
  std::vector<Reading> readings_;
};

// given(object, stream, anywhere) -> Given, which keeps the object; None if it is no such array; or
// a text that says what is wrong with it.  Raises what the object raised.
PyObject *read_given(PyObject *module, PyObject *const *arguments, Py_ssize_t count);

// The array of a Given; null for any other object.
const Foreign *given(PyObject *object);

// Another object read as a Given; null where it is no array.  Throws PythonError, a ValueError for
// one that can't be used.
Ref make_given(PyObject *object);

void add_given_type(PyObject *module);

}  // namespace tesseract::binding
