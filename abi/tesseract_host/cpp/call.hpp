// tesseract_host/cpp/call.hpp: prepared calls, for hot loops.
#ifndef TESSERACT_HOST_CPP_CALL_HPP
#define TESSERACT_HOST_CPP_CALL_HPP

#include "arguments.hpp"
#include "result.hpp"

namespace tesseract {

namespace detail {

inline void run(const tesseract_call *call, const DLTensor *const *in, DLTensor *const *out,
                const Options &options, tesseract_result **result) {
  const auto c_options = options.c();
  check([&](tesseract_error **error) {
    return tesseract_call_run(call, in, out, &c_options, result, error);
  });
}

}  // namespace detail

/// A prepared call with its arrays: run it as often as their contents change.  Must not outlive the
/// Call or the arrays.
class Bound {
 public:
  Bound(Bound &&) = default;
  Bound &operator=(Bound &&) = default;

  /// Not by two threads at once: they would write the same arrays.
  void run(const Options &options = {}) const {
    detail::run(call_, in_pointers_.data(), out_pointers_.data(), options, nullptr);
  }

 private:
  friend class Call;
  Bound(const tesseract_call *call, const List<Tensor> &in, const List<Destination> &out)
      : call_(call),
        in_(in.items().begin(), in.items().end()),
        out_(out.items().begin(), out.items().end()) {
    for (const auto &tensor : in_) in_pointers_.push_back(tensor.get());
    for (auto &tensor : out_) out_pointers_.push_back(tensor.get());
  }

  const tesseract_call *call_;
  std::vector<Tensor> in_;
  std::vector<Destination> out_;
  std::vector<const DLTensor *> in_pointers_;
  std::vector<DLTensor *> out_pointers_;
};

/// A prepared call, for hot loops: tensors by position, as the table at tesseract_signature says.
/// Keeps its component alive.
class Call {
 public:
  /// Takes over what tesseract_prepare returned.
  explicit Call(tesseract_call *call) noexcept : handle_(call) {
    const auto count = [](const tesseract_leaves *leaves) {
      return leaves == nullptr ? std::size_t{0} : static_cast<std::size_t>(leaves->count);
    };
    const auto n_inputs = count(signature().inputs);
    const auto n_of = count(signature().of);
    const auto n_wrt = count(signature().wrt);
    switch (signature().endpoint) {
      case TESSERACT_ENDPOINT_JVP:
        n_in_ = n_inputs + n_wrt, n_out_ = n_of;
        break;
      case TESSERACT_ENDPOINT_VJP:
        n_in_ = n_inputs + n_of, n_out_ = n_wrt;
        break;
      case TESSERACT_ENDPOINT_JACOBIAN:
        n_in_ = n_inputs, n_out_ = n_of * n_wrt;
        break;
      default:
        n_in_ = n_inputs, n_out_ = n_of;
    }
  }

  /// The signature as resolved, valid as long as this object.
  const tesseract_signature &signature() const noexcept {
    return *tesseract_call_signature(handle_.get());
  }
  /// How many tensors go in and come out.
  std::size_t inputs() const noexcept { return n_in_; }
  std::size_t outputs() const noexcept { return n_out_; }

  /// Runs with a destination for every output.  Allocates nothing where tesseract_call_run does
  /// not.
  void run(std::span<const DLTensor *const> in, std::span<DLTensor *const> out,
           const Options &options = {}) const {
    check_counts(in.size(), out.size());
    detail::run(handle_.get(), in.data(), out.data(), options, nullptr);
  }

  /// Runs where an output has no destination (null in `out`), or is no array.
  Result evaluate(std::span<const DLTensor *const> in, std::span<DLTensor *const> out,
                  const Options &options = {}) const {
    check_counts(in.size(), out.size());
    tesseract_result *result = nullptr;
    detail::run(handle_.get(), in.data(), out.data(), options, &result);
    return Result(result);
  }

  /// Fixes the arrays, by position.
  Bound bind(const List<Tensor> &in, const List<Destination> &out) const {
    check_counts(in.items().size(), out.items().size());
    return Bound(handle_.get(), in, out);
  }

  tesseract_call *get() const noexcept { return handle_.get(); }

 private:
  void check_counts(std::size_t n_in, std::size_t n_out) const {
    if (n_in == n_in_ && n_out == n_out_) [[likely]] {
      return;
    }
    throw Error(TESSERACT_ERROR_INVALID_ARGUMENT,
                "the prepared call takes " + std::to_string(n_in_) + " tensors and writes " +
                    std::to_string(n_out_) + ", but was given " + std::to_string(n_in) + " and " +
                    std::to_string(n_out));
  }

  detail::Handle<tesseract_call, tesseract_call_free> handle_;
  std::size_t n_in_ = 0, n_out_ = 0;
};

}  // namespace tesseract

#endif
