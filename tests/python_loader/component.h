// A component opened by the public C interface, for tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tesseract_host/host.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "folder.h"

namespace loader_test {

// What a call or an open returned when it failed; status TESSERACT_OK and empty texts when not.
struct Failure {
  int32_t status = TESSERACT_OK;
  std::string message, traceback, path;

  Failure(int32_t returned, tesseract_error *error) : status(returned) {
    EXPECT_EQ(tesseract_error_status(error), returned);
    message = text(tesseract_error_message(error, nullptr));
    traceback = text(tesseract_error_detail(error, TESSERACT_DETAIL_TRACEBACK, nullptr));
    path = text(tesseract_error_detail(error, TESSERACT_DETAIL_PATH, nullptr));
    tesseract_error_free(error);
  }

 private:
  static std::string text(const char *value) { return value ? value : ""; }
};

// Everything a component logged.
struct Log {
  std::mutex mutex;
  std::string lines;

  static void take(void *self, int32_t level, const char *text, uint64_t length) {
    auto *log = static_cast<Log *>(self);
    const std::lock_guard lock(log->mutex);
    log->lines += std::to_string(level) + " " + std::string(text, length) + "\n";
  }
};

class Component {
 public:
  // Opens a module of the tests, by tesseract_open or another function of its form.
  explicit Component(const std::string &name, const std::string &options = "{}",
                     decltype(&tesseract_open) open = tesseract_open) {
    tesseract_open_options given = TESSERACT_OPEN_OPTIONS_INIT;
    given.json = {options.data(), options.size()};
    given.log = Log::take;
    given.log_data = &log;
    tesseract_error *error = nullptr;
    const std::string path = module_path(name);
    const int32_t status = open(path.data(), path.size(), &given, &component_, &error);
    opened = Failure(status, error);
  }
  Component(const Component &) = delete;
  Component &operator=(const Component &) = delete;
  ~Component() { tesseract_close(component_); }

  tesseract_component *get() const { return component_; }

  tesseract_statistics statistics() const {
    tesseract_statistics statistics = TESSERACT_STATISTICS_INIT;
    EXPECT_EQ(tesseract_component_statistics(component_, &statistics), TESSERACT_OK);
    return statistics;
  }

  Log log;  // outlives the component below
  Failure opened{TESSERACT_OK, nullptr};

 private:
  tesseract_component *component_ = nullptr;
};

// Inputs of an apply: at most the array x, and JSON.
struct Inputs {
  std::vector<double> x;
  std::string json = "{}";
};

// Calls apply with x in memory that is overwritten and freed when the call has returned.
class Application {
 public:
  Application(const Component &component, const Inputs &inputs) {
    auto *memory = static_cast<double *>(std::malloc(inputs.x.size() * sizeof(double) + 1));
    std::copy(inputs.x.begin(), inputs.x.end(), memory);
    call(component, inputs, memory, nullptr);
    std::fill_n(memory, inputs.x.size(), -77.0);
    std::free(memory);
  }
  // With x in this memory instead, which stays the test's.
  Application(const Component &component, const Inputs &inputs, double *memory,
              const tesseract_owner *owner) {
    call(component, inputs, memory, owner);
  }
  Application(const Application &) = delete;
  Application &operator=(const Application &) = delete;
  ~Application() { tesseract_result_free(result_); }

  Failure failure{TESSERACT_OK, nullptr};

  // The outputs that are no arrays.
  nlohmann::json values() const {
    const char *text = tesseract_result_json(result_, nullptr);
    return nlohmann::json::parse(text ? text : "null");
  }

  std::vector<double> output(int64_t index = 0) const {
    const DLTensor *tensor = tesseract_result_tensor(result_, index);
    if (!tensor) return {};
    const auto *data = static_cast<const double *>(tensor->data);
    return {data, data + (tensor->ndim ? tensor->shape[0] : 1)};
  }

  uintptr_t address(int64_t index = 0) const {
    const DLTensor *tensor = tesseract_result_tensor(result_, index);
    return tensor ? reinterpret_cast<uintptr_t>(tensor->data) : 0;
  }

 private:
  void call(const Component &component, const Inputs &inputs, double *memory,
            const tesseract_owner *owner) {
    int64_t shape[1] = {static_cast<int64_t>(inputs.x.size())};
    const DLTensor tensor = tesseract_float64(memory, 1, shape);
    const tesseract_leaf leaf = {TESSERACT_STR("x"), &tensor, owner};
    tesseract_leaves leaves = TESSERACT_LEAVES_INIT;
    leaves.count = inputs.x.empty() ? 0 : 1;
    leaves.items = &leaf;
    leaves.json = {inputs.json.data(), inputs.json.size()};
    tesseract_error *error = nullptr;
    const int32_t status =
        tesseract_apply(component.get(), &leaves, nullptr, nullptr, &result_, &error);
    failure = Failure(status, error);
  }

  tesseract_result *result_ = nullptr;
};

}  // namespace loader_test
