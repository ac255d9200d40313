// The tensors of one call, over the memory of NumPy's arrays.
#pragma once

#include <dlpack/dlpack.h>

#include <array>
#include <memory>
#include <vector>

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

  // Shape and type alone, for abstract evaluations.
  void set_shape(size_t i, Ref array, DLDataType dtype);

  // The tensor at a position is one number of this type; returns where to write it.
  void *set_number(size_t i, DLDataType dtype);

  const DLTensor &operator[](size_t i) { return tensors_[i]; }
  const DLTensor *const *pointers() { return pointers_.data(); }

 private:
  void describe(size_t i, PyArrayObject *array, DLDataType dtype);

  Few<DLTensor, kFew> tensors_;
  Few<const DLTensor *, kFew> pointers_;
  Few<std::array<double, 2>, kFew> slots_;
  Few<Ref, kFew> kept_;
  std::vector<std::unique_ptr<int64_t[]>> strides_;  // of arrays that are not compact
};

// The array, with the type of its elements; a TypeError, as a PythonError, where DLPack has none.
DLDataType checked_dtype(PyObject *array);

}  // namespace tesseract::binding
