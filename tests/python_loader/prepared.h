// A prepared call of a component, for tests.
#pragma once

#include <utility>

#include "component.h"

namespace loader_test {

using Vector = std::vector<double>;

// Numbers in memory that is overwritten and freed with this object.
class Numbers {
 public:
  // No length: a scalar, of the first number.
  Numbers(const Vector &values, std::vector<int64_t> lengths)
      : size_(values.size()),
        data_(static_cast<double *>(std::malloc(size_ * sizeof(double) + 1))),
        shape_(std::move(lengths)) {
    std::copy(values.begin(), values.end(), data_);
    tensor = tesseract_float64(data_, static_cast<int32_t>(shape_.size()), shape_.data());
  }
  explicit Numbers(const Vector &values) : Numbers(values, {static_cast<int64_t>(values.size())}) {}
  explicit Numbers(double value) : Numbers(Vector{value}, {}) {}
  Numbers(const Numbers &) = delete;
  Numbers &operator=(const Numbers &) = delete;
  ~Numbers() {
    std::fill_n(data_, size_, -77.0);
    std::free(data_);
  }

  Vector values() const { return {data_, data_ + size_}; }
  double *data() const { return data_; }

  DLTensor tensor{};

 private:
  size_t size_;
  double *data_;
  std::vector<int64_t> shape_;
};

using Paths = std::vector<std::string>;

class Prepared {
 public:
  Prepared(const Component &component, int32_t endpoint, const Paths &inputs, const Paths &of,
           const Paths &wrt = {}, const std::string &json = "{}")
      : Prepared(component.get(), endpoint, inputs, of, wrt, json) {}
  Prepared(tesseract_component *component, int32_t endpoint, const Paths &inputs, const Paths &of,
           const Paths &wrt = {}, const std::string &json = "{}") {
    List given(inputs), outputs(of), derivatives(wrt);
    given.leaves.json = {json.data(), json.size()};
    tesseract_signature signature = TESSERACT_SIGNATURE_INIT;
    signature.endpoint = endpoint;
    signature.inputs = &given.leaves;
    signature.of = &outputs.leaves;
    if (endpoint != TESSERACT_ENDPOINT_APPLY) signature.wrt = &derivatives.leaves;
    tesseract_error *error = nullptr;
    const int32_t status = tesseract_prepare(component, &signature, &call_, &error);
    failure = Failure(status, error);
    EXPECT_EQ(status, TESSERACT_OK) << failure.message;
  }
  Prepared(const Prepared &) = delete;
  Prepared &operator=(const Prepared &) = delete;
  ~Prepared() {
    tesseract_result_free(result_);
    tesseract_call_free(call_);
  }

  // Runs it; the outputs go to `out`, or where there is none to a result.
  int32_t run(const std::vector<const DLTensor *> &in, const std::vector<DLTensor *> &out = {}) {
    tesseract_result_free(std::exchange(result_, nullptr));
    tesseract_error *error = nullptr;
    const int32_t status = tesseract_call_run(call_, in.data(), out.empty() ? nullptr : out.data(),
                                              nullptr, out.empty() ? &result_ : nullptr, &error);
    failure = Failure(status, error);
    return status;
  }

  // The same for several threads: tells only the status.
  int32_t run_quietly(const std::vector<const DLTensor *> &in,
                      const std::vector<DLTensor *> &out) const {
    return tesseract_call_run(call_, in.data(), out.data(), nullptr, nullptr, nullptr);
  }

  Vector output(int64_t index = 0) const {
    const DLTensor *tensor = tesseract_result_tensor(result_, index);
    if (!tensor) return {-1.0};
    int64_t count = 1;
    for (int32_t k = 0; k < tensor->ndim; k++) count *= tensor->shape[k];
    const auto *data = static_cast<const double *>(tensor->data);
    return count ? Vector(data, data + count) : Vector();
  }

  nlohmann::json values() const {
    const char *text = tesseract_result_json(result_, nullptr);
    return nlohmann::json::parse(text ? text : "null");
  }

  Failure failure{TESSERACT_OK, nullptr};

 private:
  struct List {
    explicit List(const Paths &paths) {
      for (const std::string &path : paths) {
        items.push_back({{path.data(), path.size()}, nullptr, nullptr});
      }
      leaves.count = static_cast<int64_t>(items.size());
      leaves.items = items.data();
    }
    std::vector<tesseract_leaf> items;
    tesseract_leaves leaves = TESSERACT_LEAVES_INIT;
  };

  tesseract_call *call_ = nullptr;
  tesseract_result *result_ = nullptr;
};

}  // namespace loader_test
