// What the native tests share: owners of handles, arrays, lists of leaves, and calls that return
// what happened as one value.
#pragma once

#include <gtest/gtest.h>
#include <tesseract_host/host.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace test {

// ---- Handles ------------------------------------------------------------------------------------

struct Free {
  void operator()(tesseract_component *p) const { tesseract_close(p); }
  void operator()(tesseract_call *p) const { tesseract_call_free(p); }
  void operator()(tesseract_result *p) const { tesseract_result_free(p); }
  void operator()(tesseract_error *p) const { tesseract_error_free(p); }
  void operator()(tesseract_cancel *p) const { tesseract_cancel_free(p); }
  void operator()(DLManagedTensorVersioned *p) const { p->deleter(p); }
};

using Component = std::unique_ptr<tesseract_component, Free>;
using Call = std::unique_ptr<tesseract_call, Free>;
using Result = std::unique_ptr<tesseract_result, Free>;
using Error = std::unique_ptr<tesseract_error, Free>;
using Cancel = std::unique_ptr<tesseract_cancel, Free>;
using Taken = std::unique_ptr<DLManagedTensorVersioned, Free>;

inline Cancel make_cancel() {
  tesseract_cancel *cancel = nullptr;
  EXPECT_EQ(tesseract_cancel_create(&cancel), TESSERACT_OK);
  return Cancel(cancel);
}

// What a function of the host did: its status, its error, and what it made.
template <class Handle>
struct Outcome {
  int32_t status = TESSERACT_OK;
  Error error;
  Handle value;

  bool ok() const { return status == TESSERACT_OK && !error; }
  std::string message() const { return tesseract_error_message(error.get(), nullptr); }
  std::string detail(int32_t which) const {
    const char *text = tesseract_error_detail(error.get(), which, nullptr);
    return text ? text : "";
  }
  auto *get() const { return value.get(); }
};

// Calls `function(&handle, &error)`.
template <class Handle, class Function>
Outcome<Handle> outcome_of(Function function) {
  typename Handle::pointer made = nullptr;
  tesseract_error *error = nullptr;
  Outcome<Handle> outcome;
  outcome.status = function(&made, &error);
  outcome.error.reset(error);
  outcome.value.reset(made);
  return outcome;
}

// True when the outcome is an error of one of these statuses that made nothing and whose message
// holds all of the texts.
template <class Handle>
testing::AssertionResult fails(const Outcome<Handle> &outcome, std::vector<int32_t> statuses,
                               std::initializer_list<std::string_view> texts = {}) {
  const std::string message = outcome.message();
  auto failure = testing::AssertionFailure()
                 << "status " << outcome.status << ", message \"" << message << "\": ";
  if (std::find(statuses.begin(), statuses.end(), outcome.status) == statuses.end())
    return failure << "another status was expected, " << statuses.front();
  if (!outcome.error) return failure << "no error object";
  if (outcome.value) return failure << "an object was handed out";
  if (tesseract_error_status(outcome.error.get()) != outcome.status)
    return failure << "the error object has another status";
  for (const auto text : texts)
    if (message.find(text) == std::string::npos) return failure << "no \"" << text << "\" in it";
  return testing::AssertionSuccess();
}

template <class Handle>
testing::AssertionResult fails(const Outcome<Handle> &outcome, int32_t status,
                               std::initializer_list<std::string_view> texts = {}) {
  return fails(outcome, std::vector<int32_t>{status}, texts);
}

template <class Handle>
testing::AssertionResult succeeds(const Outcome<Handle> &outcome) {
  if (outcome.ok()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "status " << outcome.status << ": " << outcome.message();
}

// ---- Strings and files --------------------------------------------------------------------------

inline tesseract_string view(std::string_view text) {
  return {text.data(), text.size()};
}

// The library of a component in tests/plugins.
inline std::string library(std::string_view name) {
  return std::string(TEST_PLUGINS) + "/lib" + std::string(name) + ".so";
}

// A new, empty folder that is removed with everything in it.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "tesseract-test-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::string path(std::string_view name = "") const {
    return name.empty() ? path_.string() : (path_ / name).string();
  }
  // Writes a file and returns its path.
  std::string write(std::string_view name, std::string_view content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  // Copies a component's library here and returns its path: a library of its own to the process.
  std::string copy(std::string_view component, std::string_view name) const {
    std::filesystem::copy_file(library(component), path(name));
    return path(name);
  }

 private:
  std::filesystem::path path_;
};

// ---- Arrays -------------------------------------------------------------------------------------

template <class T>
constexpr DLDataType dtype_of() {
  if constexpr (std::is_floating_point_v<T>) return {kDLFloat, 8 * sizeof(T), 1};
  if constexpr (std::is_signed_v<T>) return {kDLInt, 8 * sizeof(T), 1};
  return {kDLUInt, 8 * sizeof(T), 1};
}

// Values with a shape, and the compact row-major tensor over them, free to be tampered with.
template <class T>
class Array {
 public:
  Array(std::vector<int64_t> lengths, std::vector<T> elements)
      : shape(std::move(lengths)), values(std::move(elements)) {
    tensor = tesseract_tensor(dtype_of<T>(), values.data(), static_cast<int32_t>(shape.size()),
                              shape.empty() ? nullptr : shape.data());
  }
  // One axis.
  Array(std::initializer_list<T> elements)
      : Array({static_cast<int64_t>(elements.size())}, std::vector<T>(elements)) {}
  // Of an array not yet tampered with.
  Array(Array &&other) noexcept : Array(std::move(other.shape), std::move(other.values)) {}
  Array(const Array &) = delete;
  Array &operator=(const Array &) = delete;

  std::vector<int64_t> shape;
  std::vector<T> values;
  std::vector<int64_t> strides;
  DLTensor tensor;

  // Gives the tensor written strides, of elements.
  Array &stride(std::vector<int64_t> steps) {
    strides = std::move(steps);
    tensor.strides = strides.data();
    return *this;
  }
};

using Doubles = Array<double>;

inline Doubles scalar(double value) {
  return Doubles({}, {value});
}
inline Doubles zeros(std::vector<int64_t> shape) {
  const auto n = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  return Doubles(std::move(shape), std::vector<double>(static_cast<size_t>(n)));
}

inline std::vector<int64_t> shape_of(const DLTensor *tensor) {
  return {tensor->shape, tensor->shape + tensor->ndim};
}

// The elements of a tensor in row-major order, whatever its strides.
template <class T = double>
std::vector<T> values_of(const DLTensor *tensor) {
  const auto shape = shape_of(tensor);
  const auto n = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  std::vector<T> values;
  const T *data =
      reinterpret_cast<const T *>(static_cast<const char *>(tensor->data) + tensor->byte_offset);
  for (int64_t i = 0; i < n; i++) {
    int64_t rest = i, at = 0, compact = 1;
    for (int32_t axis = tensor->ndim - 1; axis >= 0; axis--) {
      const int64_t length = tensor->shape[axis];
      at += rest % length * (tensor->strides ? tensor->strides[axis] : compact);
      rest /= length;
      compact *= length;
    }
    values.push_back(data[at]);
  }
  return values;
}

template <class T = double>
std::vector<T> values_of(const Outcome<Result> &outcome, int64_t index = 0) {
  const DLTensor *tensor = tesseract_result_tensor(outcome.get(), index);
  if (!tensor) {
    ADD_FAILURE() << "no tensor at " << index << "; " << outcome.message();
    return {};
  }
  EXPECT_EQ(tensor->byte_offset, 0u);
  EXPECT_TRUE(tensor->ndim == 0 || tensor->strides) << "strides of results are written";
  return values_of<T>(tensor);
}

// ---- Leaves -------------------------------------------------------------------------------------

class Leaves {
 public:
  Leaves() = default;
  // Wanted leaves, without destinations.
  Leaves(std::initializer_list<std::string_view> wanted) {
    for (const auto path : wanted) add(path);
  }
  Leaves(const Leaves &) = delete;
  Leaves &operator=(const Leaves &) = delete;

  Leaves &add(std::string_view path, const DLTensor *tensor = nullptr,
              const tesseract_owner *owner = nullptr) {
    const std::string &kept = paths_.emplace_back(path);
    items_.push_back({view(kept), tensor, owner});
    raw.items = items_.data();
    raw.count = static_cast<int64_t>(items_.size());
    return *this;
  }
  template <class T>
  Leaves &add(std::string_view path, Array<T> &array) {
    return add(path, &array.tensor);
  }
  Leaves &json(std::string_view text) {
    json_ = text;
    raw.json = view(json_);
    return *this;
  }
  tesseract_leaf &item(size_t index) { return items_[index]; }
  operator const tesseract_leaves *() const { return &raw; }

  tesseract_leaves raw = TESSERACT_LEAVES_INIT;

 private:
  std::deque<std::string> paths_;
  std::vector<tesseract_leaf> items_;
  std::string json_;
};

// ---- Calls --------------------------------------------------------------------------------------

inline Outcome<Component> open(std::string_view source, const tesseract_open_options *options) {
  return outcome_of<Component>([&](auto **component, auto **error) {
    return tesseract_open(source.data(), source.size(), options, component, error);
  });
}

// Opens with options as JSON.
inline Outcome<Component> open(std::string_view source, std::string_view json = "") {
  tesseract_open_options options = TESSERACT_OPEN_OPTIONS_INIT;
  options.json = view(json);
  return open(source, &options);
}

// A component of tests/plugins, which must open.
inline Component component(std::string_view name, std::string_view json = "") {
  auto outcome = open(library(name), json);
  EXPECT_TRUE(succeeds(outcome)) << name;
  return std::move(outcome.value);
}

inline std::string text_of(const Component &component, int32_t which) {
  const char *text = nullptr;
  uint64_t length = 0;
  tesseract_error *error = nullptr;
  EXPECT_EQ(tesseract_component_text(component.get(), which, &text, &length, &error), TESSERACT_OK)
      << tesseract_error_message(error, nullptr);
  tesseract_error_free(error);
  return text ? std::string(text, length) : "";
}

inline tesseract_statistics statistics_of(const Component &component) {
  tesseract_statistics statistics = TESSERACT_STATISTICS_INIT;
  EXPECT_EQ(tesseract_component_statistics(component.get(), &statistics), TESSERACT_OK);
  return statistics;
}

using Options = const tesseract_call_options *;
using Wanted = const tesseract_leaves *;

inline Outcome<Result> evaluate(const Component &component, Wanted inputs, Wanted of = nullptr,
                                Options options = nullptr) {
  return outcome_of<Result>([&](auto **result, auto **error) {
    return tesseract_apply(component.get(), inputs, of, options, result, error);
  });
}

inline Outcome<Result> jvp(const Component &component, Wanted inputs, Wanted tangents,
                           Wanted of = nullptr, Options options = nullptr) {
  return outcome_of<Result>([&](auto **result, auto **error) {
    return tesseract_jvp(component.get(), inputs, tangents, of, options, result, error);
  });
}

inline Outcome<Result> vjp(const Component &component, Wanted inputs, Wanted cotangents,
                           Wanted wrt = nullptr, Options options = nullptr) {
  return outcome_of<Result>([&](auto **result, auto **error) {
    return tesseract_vjp(component.get(), inputs, cotangents, wrt, options, result, error);
  });
}

inline Outcome<Result> jacobian(const Component &component, Wanted inputs, Wanted of = nullptr,
                                Wanted wrt = nullptr, Options options = nullptr) {
  return outcome_of<Result>([&](auto **result, auto **error) {
    return tesseract_jacobian(component.get(), inputs, of, wrt, options, result, error);
  });
}

inline Outcome<Result> abstract_eval(const Component &component, Wanted inputs,
                                     Options options = nullptr) {
  return outcome_of<Result>([&](auto **result, auto **error) {
    return tesseract_abstract_eval(component.get(), inputs, options, result, error);
  });
}

inline tesseract_signature signature(int32_t endpoint, Wanted inputs, Wanted of = nullptr,
                                     Wanted wrt = nullptr, uint32_t flags = 0) {
  return {sizeof(tesseract_signature), flags, endpoint, 0, inputs, of, wrt};
}

inline Outcome<Call> prepare(const Component &component, const tesseract_signature &signature) {
  return outcome_of<Call>([&](auto **call, auto **error) {
    return tesseract_prepare(component.get(), &signature, call, error);
  });
}

// Runs without a result: every output has a destination.
inline Outcome<Result> run(const tesseract_call *call, std::vector<const DLTensor *> in,
                           std::vector<DLTensor *> out, Options options = nullptr) {
  return outcome_of<Result>([&](auto **, auto **error) {
    return tesseract_call_run(call, in.data(), out.data(), options, nullptr, error);
  });
}

// Runs with one; destinations may be null.
inline Outcome<Result> run_for_result(const tesseract_call *call, std::vector<const DLTensor *> in,
                                      std::vector<DLTensor *> out, Options options = nullptr) {
  return outcome_of<Result>([&](auto **result, auto **error) {
    return tesseract_call_run(call, in.data(), out.data(), options, result, error);
  });
}

// ---- The square family --------------------------------------------------------------------------

// True when a component of the square family still computes y = a * x * x.
inline testing::AssertionResult usable(const Component &square) {
  Doubles x{1.0, 2.0, 3.0};
  Doubles a = scalar(2.0);
  Leaves inputs;
  inputs.add("x", x).add("a", a);
  const auto outcome = evaluate(square, inputs);
  if (!outcome.ok()) return succeeds(outcome);
  if (values_of(outcome) == std::vector<double>{2.0, 8.0, 18.0}) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "wrong values";
}

}  // namespace test
