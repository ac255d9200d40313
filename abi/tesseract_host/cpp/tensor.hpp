// tesseract_host/cpp/tensor.hpp: C++ arrays as tensors and tensors as C++ arrays.
//
// A Tensor or Destination describes memory of the caller's for a call; a View reads or writes a
// tensor that somebody else made.  None of them owns an array.
#ifndef TESSERACT_HOST_CPP_TENSOR_HPP
#define TESSERACT_HOST_CPP_TENSOR_HPP

#include <algorithm>
#include <array>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <ranges>
#include <span>
#include <type_traits>

#include "error.hpp"

namespace tesseract {

// ---- Element types ------------------------------------------------------------------------------

namespace detail {

template <class T, class... Others>
inline constexpr bool is_one_of = (std::same_as<T, Others> || ...);

template <class T>
inline constexpr bool is_complex = is_one_of<T, std::complex<float>, std::complex<double>>;

template <class T>
inline constexpr bool is_text = is_one_of<T, char, wchar_t, char8_t, char16_t, char32_t>;

template <class Range>
using element_of = std::remove_cvref_t<std::ranges::range_reference_t<Range>>;

}  // namespace detail

/// A C++ type with a dtype: float, double, their std::complex, bool, and the integers of 8 to 64
/// bits, char excluded.  Other dtypes (bfloat16, …) are given by a DLDataType.
template <class T>
concept Element = detail::is_one_of<T, float, double> || detail::is_complex<T> ||
                  (std::integral<T> && !detail::is_text<T> && sizeof(T) <= 8);

/// The dtype of an element type.
template <Element T>
constexpr DLDataType dtype_of() noexcept {
  std::uint8_t code = kDLUInt;
  if constexpr (std::same_as<T, bool>) {
    code = kDLBool;
  } else if constexpr (std::floating_point<T>) {
    code = kDLFloat;
  } else if constexpr (detail::is_complex<T>) {
    code = kDLComplex;
  } else if constexpr (std::signed_integral<T>) {
    code = kDLInt;
  }
  return {code, static_cast<std::uint8_t>(8 * sizeof(T)), 1};
}

/// A sized, contiguous range of elements: std::vector, std::array, std::span, double[3], ….
template <class R>
concept ElementRange = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
                       Element<detail::element_of<R>>;

// ---- Shapes -------------------------------------------------------------------------------------

/// The longest shape that a Shape, and so a Tensor, holds.  A DLTensor may have a longer one.
inline constexpr std::size_t max_rank = 8;

/// One length or stride, from any integer type.
struct Length {
  template <std::integral I>
  constexpr Length(I length) noexcept : value(static_cast<std::int64_t>(length)) {}
  std::int64_t value;
};

/// A list of at most max_rank lengths, or strides in elements: `{n, m}`.  More throw an Error.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<Length> lengths) : rank_(checked(lengths.size())) {
    std::ranges::transform(lengths, lengths_.begin(), &Length::value);
  }
  Shape(std::span<const std::int64_t> lengths) : rank_(checked(lengths.size())) {
    std::ranges::copy(lengths, lengths_.begin());
  }
  std::int32_t rank() const noexcept { return static_cast<std::int32_t>(rank_); }
  const std::int64_t *data() const noexcept { return lengths_.data(); }
  std::int64_t *data() noexcept { return lengths_.data(); }

 private:
  static std::size_t checked(std::size_t rank) {
    if (rank <= max_rank) return rank;
    throw Error(TESSERACT_ERROR_INVALID_ARGUMENT,
                "a tesseract::Shape holds at most 8 lengths, got " + std::to_string(rank) +
                    "; give a DLTensor instead");
  }
  std::array<std::int64_t, max_rank> lengths_{};
  std::size_t rank_ = 0;
};

// ---- Tensors given to calls ---------------------------------------------------------------------

/// An array that a call reads.  Borrows the elements, which must stay where they are while a call
/// may use them; but a single number is copied into the Tensor.  Converts implicitly from what the
/// constructors say, so that it is rarely written out.  Copies refer to the same elements.
class Tensor {
 public:
  /// A number, copied: a tensor of rank 0.
  template <Element T>
  Tensor(const T &value) noexcept : tensor_(describe(nullptr, dtype_of<T>())) {
    static_assert(sizeof(T) <= sizeof value_);
    std::memcpy(value_, &value, sizeof(T));
    tensor_.data = value_;
  }

  /// A contiguous range: rank 1.
  template <ElementRange R>
  Tensor(const R &range) noexcept
      : Tensor(std::ranges::data(range), Shape{std::ranges::size(range)}) {}

  /// Elements at `data`, compact row-major, or with `strides` counted in elements.  `data` may be
  /// null where the size is zero, or unread (signatures, abstract evaluation).  Throws an Error
  /// unless there is one stride per length.
  template <Element T>
  Tensor(const T *data, const Shape &shape, const Shape &strides = {})
      : Tensor(data, dtype_of<T>(), shape, strides) {}

  /// The same for any dtype and device.
  Tensor(const void *data, DLDataType dtype, const Shape &shape, const Shape &strides = {},
         DLDevice device = {kDLCPU, 0})
      : tensor_(describe(data, dtype)), shape_(shape), strides_(strides) {
    if (strides.rank() != 0 && strides.rank() != shape.rank()) {
      throw Error(TESSERACT_ERROR_INVALID_ARGUMENT,
                  "a tensor of rank " + std::to_string(shape.rank()) + " has " +
                      std::to_string(strides.rank()) + " strides");
    }
    tensor_.device = device;
    tensor_.ndim = shape.rank();
    if (shape.rank() > 0) tensor_.shape = shape_.data();
    if (strides.rank() > 0) tensor_.strides = strides_.data();
  }

  /// A tensor described elsewhere, whose shape and strides are borrowed too.
  Tensor(const DLTensor &tensor) noexcept : tensor_(tensor) {}

  Tensor(const Tensor &other) noexcept { assign(other); }
  Tensor &operator=(const Tensor &other) noexcept {
    if (this != &other) assign(other);
    return *this;
  }
  ~Tensor() = default;

  /// The tensor as C sees it, valid as long as this object stays in place.
  const DLTensor *get() const noexcept { return &tensor_; }

 protected:
  DLTensor tensor_;

 private:
  static DLTensor describe(const void *data, DLDataType dtype) noexcept {
    // DLPack has no const data; that nothing is written is what host.h promises of inputs.
    return tesseract_tensor(dtype, const_cast<void *>(data), 0, nullptr);
  }

  void assign(const Tensor &other) noexcept {
    tensor_ = other.tensor_;
    shape_ = other.shape_;
    strides_ = other.strides_;
    std::memcpy(value_, other.value_, sizeof value_);
    if (other.tensor_.data == other.value_) tensor_.data = value_;
    if (other.tensor_.shape == other.shape_.data()) tensor_.shape = shape_.data();
    if (other.tensor_.strides == other.strides_.data()) tensor_.strides = strides_.data();
  }

  Shape shape_;
  Shape strides_;
  alignas(16) std::byte value_[16]{};
};

/// An array that a call writes: as Tensor, over memory that may be changed.  Nothing is copied, so
/// a single number is written where it stands.
class Destination : public Tensor {
 public:
  template <Element T>
    requires(!std::is_const_v<T>)
  Destination(T &value) : Tensor(&value, Shape{}) {}

  template <ElementRange R>
    requires(std::ranges::borrowed_range<R> &&
             !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>)
  Destination(R &&range) noexcept
      : Tensor(std::ranges::data(range), Shape{std::ranges::size(range)}) {}

  template <Element T>
    requires(!std::is_const_v<T>)
  Destination(T *data, const Shape &shape, const Shape &strides = {})
      : Tensor(data, shape, strides) {}

  Destination(void *data, DLDataType dtype, const Shape &shape, const Shape &strides = {},
              DLDevice device = {kDLCPU, 0})
      : Tensor(data, dtype, shape, strides, device) {}

  Destination(DLTensor &tensor) noexcept : Tensor(tensor) {}

  using Tensor::get;
  DLTensor *get() noexcept { return &tensor_; }
};

// ---- Tensors that others made -------------------------------------------------------------------

/// Elements of a tensor in memory that the CPU can read: `view(i, j)`, `view.span()`.  Borrows the
/// tensor.  T is const where nothing is to be written.  [any]
template <class T>
  requires Element<std::remove_const_t<T>>
class View {
 public:
  /// Views nothing: false.
  View() = default;

  /// Throws an Error when the dtype isn't T's (TESSERACT_ERROR_SCHEMA), or the CPU can't reach the
  /// memory (TESSERACT_ERROR_DEVICE).
  explicit View(const DLTensor &tensor) : tensor_(&tensor) {
    constexpr DLDataType wanted = dtype_of<std::remove_const_t<T>>();
    const DLDataType &found = tensor.dtype;
    if (found.code != wanted.code || found.bits != wanted.bits || found.lanes != wanted.lanes) {
      throw Error(TESSERACT_ERROR_SCHEMA,
                  "the tensor's dtype is " + text(found) + ", not the view's " + text(wanted));
    }
    const auto device = tensor.device.device_type;
    if (device != kDLCPU && device != kDLCUDAHost && device != kDLCUDAManaged) {
      throw Error(TESSERACT_ERROR_DEVICE, "the tensor is not in memory that the CPU can read");
    }
    data_ = reinterpret_cast<T *>(static_cast<std::byte *>(tensor.data) + tensor.byte_offset);
  }

  /// Whether there is a tensor.
  explicit operator bool() const noexcept { return tensor_ != nullptr; }

  /// The first element; null where the size is zero, perhaps.
  T *data() const noexcept { return data_; }

  std::span<const std::int64_t> shape() const noexcept {
    if (tensor_ == nullptr) return {};
    return {tensor_->shape, static_cast<std::size_t>(tensor_->ndim)};
  }

  /// The number of elements: 1 at rank 0, 0 without a tensor.
  std::size_t size() const noexcept {
    if (tensor_ == nullptr) return 0;
    std::size_t size = 1;
    for (const auto length : shape()) size *= static_cast<std::size_t>(length);
    return size;
  }

  /// An element, by one index per axis, unchecked.
  template <std::integral... I>
  T &operator()(I... indices) const noexcept {
    std::int64_t offset = 0;
    [[maybe_unused]] std::size_t axis = 0;
    if (tensor_->strides != nullptr) {
      ((offset += static_cast<std::int64_t>(indices) * tensor_->strides[axis++]), ...);
    } else {
      ((offset = offset * tensor_->shape[axis++] + static_cast<std::int64_t>(indices)), ...);
    }
    return data_[offset];
  }

  /// All elements in row-major order.  Throws an Error (TESSERACT_ERROR_INVALID_ARGUMENT) where the
  /// strides are others.
  std::span<T> span() const {
    if (!compact()) {
      throw Error(TESSERACT_ERROR_INVALID_ARGUMENT,
                  "the tensor is not compact row-major: read it as view(i, j, …)");
    }
    return {data_, size()};
  }

  /// Whether span() may be called.
  bool compact() const noexcept {
    if (tensor_ == nullptr || tensor_->strides == nullptr || size() == 0) return true;
    std::int64_t expected = 1;
    for (std::int32_t axis = tensor_->ndim - 1; axis >= 0; --axis) {
      if (tensor_->shape[axis] != 1 && tensor_->strides[axis] != expected) return false;
      expected *= tensor_->shape[axis];
    }
    return true;
  }

 private:
  static std::string text(DLDataType dtype) {
    static constexpr const char *names[] = {"int", "uint", "float", "handle", "bfloat", "complex"};
    if (dtype.code == kDLBool) return "bool";
    const std::string name = dtype.code < std::size(names) ? names[dtype.code] : "another kind's ";
    return name + std::to_string(dtype.bits);
  }

  const DLTensor *tensor_ = nullptr;
  T *data_ = nullptr;
};

}  // namespace tesseract

#endif
