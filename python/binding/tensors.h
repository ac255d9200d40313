// The tensors of one call, over the memory of NumPy's arrays and of other libraries'.
#pragma once

#include <tesseract_host/host.h>

#include <array>
#include <memory>
#include <vector>

#include "foreign.h"
#include "python.h"

namespace tesseract::binding {

// A fixed number of things, on the stack where they are few.
template <typename T, size_t kFew>
class Few {
 public:
  explicit Few(size_t count) {
    if (count > kFew) many_ = std::make_unique<T[]>(count);
  }
  T *data() { return many_ ? many_.get() : few_.data(); }
  T &operator[](size_t i) { return data()[i]; }

 private:
  std::array<T, kFew> few_{};
  std::unique_ptr<T[]> many_;
};

// Keeps the arrays; made and dropped with the GIL held, used without.
class Tensors {
 public:
  static constexpr size_t kFew = 12;

  explicit Tensors(size_t count) : tensors_(count), pointers_(count), slots_(count), kept_(count) {}

  // The tensor at a position is an array's, of this type.  Throws PythonError.
  void set(size_t i, Ref array, DLDataType dtype);

  // The tensor at a position is that of a foreign array, which the owner keeps.
  void set(size_t i, Ref owner, const Foreign &array);

  // Shape and type alone, for abstract evaluations.
  void set_shape(size_t i, Ref array, DLDataType dtype);

  // The tensor at a position is one number of this type; returns where to write it.
  void *set_number(size_t i, DLDataType dtype);

  // To be called when all are set, with the stream of the call, 0 for that of the producers:
  // arrays without elements are where the others are.
  void settle(uint64_t stream);

  // The stream of the call, afterwards: the one that was given; else the one that all producers
  // which named any have named; else the legacy default one.  0: no tensor is on a device.
  uint64_t stream() const { return stream_; }

  // Whether data are ready on another stream than the call's.
  bool waits() const { return waits_; }

  // Has the call's stream wait for those that data are ready on.  Called without the GIL, waits for
  // nothing.  A status, as the functions of ext/device.h.
  int32_t order(tesseract_error **error);

  const DLTensor &operator[](size_t i) { return tensors_[i]; }
  const DLTensor *const *pointers() { return pointers_.data(); }

 private:
  struct Source {
    size_t position;
    uint64_t ready_on;
    bool is_its_own, is_on_any;
  };

  void describe(size_t i, PyArrayObject *array, DLDataType dtype);
  void settle_sources(uint64_t stream);

  Few<DLTensor, kFew> tensors_;
  Few<const DLTensor *, kFew> pointers_;
  Few<std::array<double, 2>, kFew> slots_;
  Few<Ref, kFew> kept_;
  std::vector<std::unique_ptr<int64_t[]>> strides_;  // of arrays that are not compact
  std::vector<Source> sources_;                      // of tensors on a device
  uint64_t stream_ = 0;
  bool waits_ = false;
};

// The type of a NumPy array's elements; a TypeError, as a PythonError, where DLPack has none.
DLDataType checked_dtype(PyObject *array);

// Whether a NumPy array can be given as it is.
bool has_whole_strides(PyArrayObject *array);

}  // namespace tesseract::binding
