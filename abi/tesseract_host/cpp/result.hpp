// tesseract_host/cpp/result.hpp: what a call returned.
#ifndef TESSERACT_HOST_CPP_RESULT_HPP
#define TESSERACT_HOST_CPP_RESULT_HPP

#include "handle.hpp"
#include "tensor.hpp"

namespace tesseract {

/// A tensor taken out of a Result: View<const T>(taken->dl_tensor).  May be destroyed by any thread
/// at any time, also after its component.
struct DeleteManaged {
  void operator()(DLManagedTensorVersioned *tensor) const noexcept {
    if (tensor->deleter != nullptr) tensor->deleter(tensor);
  }
};
using Taken = std::unique_ptr<DLManagedTensorVersioned, DeleteManaged>;

/// What a call returned.  Tensors are numbered in the order asked for, or of the description.
/// Reading by several threads is fine; taking is not reading.
class Result {
 public:
  /// Takes over what a C function returned.
  explicit Result(tesseract_result *result) noexcept : handle_(result) {}

  /// The number of tensors.
  std::int64_t size() const noexcept { return tesseract_result_count(handle_.get()); }

  /// The index of a path (of a Jacobian with `wrt`, the input's), or -1.
  std::int64_t find(std::string_view path, std::string_view wrt = {}) const noexcept {
    auto index = tesseract_result_find(handle_.get(), path.data(), path.size());
    if (wrt.empty()) return index;
    for (; index >= 0 && this->path(index) == path; ++index) {
      if (this->wrt(index) == wrt) return index;
    }
    return -1;
  }

  /// The path of a tensor; empty where there is none of this index.
  std::string_view path(std::int64_t index) const noexcept {
    std::uint64_t length = 0;
    const char *data = tesseract_result_path(handle_.get(), index, &length);
    return detail::text(data, length);
  }

  /// Of a Jacobian the input's path, else empty.
  std::string_view wrt(std::int64_t index) const noexcept {
    std::uint64_t length = 0;
    const char *data = tesseract_result_wrt(handle_.get(), index, &length);
    return detail::text(data, length);
  }

  /// The tensor, owned by this object.  Throws TESSERACT_ERROR_NOT_FOUND where there is none, or it
  /// was taken.
  const DLTensor &tensor(std::int64_t index) const {
    if (const auto *tensor = tesseract_result_tensor(handle_.get(), index)) return *tensor;
    throw Error(TESSERACT_ERROR_NOT_FOUND,
                "the result has no tensor " + std::to_string(index) + ", or it was taken");
  }
  const DLTensor &tensor(std::string_view path, std::string_view wrt = {}) const {
    return tensor(index(path, wrt));
  }

  /// Its elements, valid as long as this object: see View for what it throws.
  template <Element T>
  View<const T> view(std::int64_t index) const {
    return View<const T>(tensor(index));
  }
  template <Element T>
  View<const T> view(std::string_view path, std::string_view wrt = {}) const {
    return View<const T>(tensor(path, wrt));
  }

  /// Moves a tensor to the caller.  Throws TESSERACT_ERROR_INVALID_ARGUMENT where the caller gave a
  /// destination or it was taken.
  Taken take(std::int64_t index) {
    DLManagedTensorVersioned *tensor = nullptr;
    detail::check(
        [&](tesseract_error **) { return tesseract_result_take(handle_.get(), index, &tensor); });
    return Taken(tensor);
  }
  Taken take(std::string_view path, std::string_view wrt = {}) { return take(index(path, wrt)); }

  /// The outputs that are no arrays, as one JSON object.
  std::string_view json() const noexcept {
    std::uint64_t length = 0;
    const char *data = tesseract_result_json(handle_.get(), &length);
    return detail::text(data, length);
  }

  tesseract_result *get() const noexcept { return handle_.get(); }

 private:
  std::int64_t index(std::string_view path, std::string_view wrt) const {
    const auto index = find(path, wrt);
    if (index >= 0) return index;
    throw Error(TESSERACT_ERROR_NOT_FOUND, "the result has no tensor of this path",
                std::string(path));
  }

  detail::Handle<tesseract_result, tesseract_result_free> handle_;
};

}  // namespace tesseract

#endif
