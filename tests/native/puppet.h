// A component whose functions are written in the test.
#pragma once

#include <dlfcn.h>
#include <tesseract_host/plugin.h>

#include <functional>

#include "support.h"

namespace test {

// A library of its own, with one component.  Set the members before `open`; they must outlive the
// component.  By default it is the identity on a vector, y = x, without state.
class Puppet {
 public:
  Puppet() : path(folder_.copy("puppet", "libpuppet.so")) {
    table.size = sizeof table;
    table.abi = {TESSERACT_ABI_MIN, TESSERACT_ABI_MAX};
    table.create = [](const char *, uint64_t, void **instance, tesseract_frame *) {
      *instance = opening_;
      return TESSERACT_OK;
    };
    table.describe = [](void *instance, const char **text, uint64_t *length, tesseract_frame *) {
      const auto *self = static_cast<Puppet *>(instance);
      *text = self->description.data();
      *length = self->description.size();
      return TESSERACT_OK;
    };
    table.apply = [](void *instance, void *, tesseract_frame *frame) {
      return static_cast<Puppet *>(instance)->apply(frame);
    };
  }

  // An entry in place of the one that hands out `table`.
  std::function<int32_t(const tesseract_host_table *, const tesseract_plugin_table **)> entry =
      [this](const tesseract_host_table *, const tesseract_plugin_table **out) {
        *out = &table;
        return TESSERACT_OK;
      };
  tesseract_plugin_table table{};
  std::string description = R"({"name": "puppet",
    "inputs": [{"path": "x", "dtype": "float64", "shape": ["n"], "differentiable": true}],
    "outputs": [{"path": "y", "dtype": "float64", "shape": ["n"], "differentiable": true}]})";
  std::function<int32_t(tesseract_frame *)> apply = copy_first;
  std::function<int32_t(tesseract_frame *)> derivative;  // for `offer`

  // Makes `derivative` an endpoint of the table: offer(&tesseract_plugin_table::vjp).
  void offer(tesseract_endpoint tesseract_plugin_table::*endpoint) {
    table.*endpoint = [](void *instance, void *, tesseract_frame *frame) {
      return static_cast<Puppet *>(instance)->derivative(frame);
    };
  }

  Outcome<Component> open(const tesseract_open_options *options = nullptr) {
    opening_ = this;
    connect();
    return test::open(path, options);
  }

  // Opens what must open.
  Component opened() {
    auto outcome = open();
    EXPECT_TRUE(succeeds(outcome));
    return std::move(outcome.value);
  }

  static int32_t copy_first(tesseract_frame *frame) {
    const DLTensor *x = frame->inputs[0];
    const DLTensor *y = frame->outputs[0];
    for (int64_t i = 0; y && i < x->shape[0]; i++)
      static_cast<double *>(y->data)[i] = static_cast<const double *>(x->data)[i];
    return TESSERACT_OK;
  }

 private:
  Folder folder_;

 public:
  const std::string path;

 private:
  using Entry = int32_t (*)(const tesseract_host_table *, const tesseract_plugin_table **);

  // The copy stays mapped, as the host leaves it.
  void connect() {
    void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(handle, nullptr) << dlerror();
    auto set = reinterpret_cast<void (*)(Entry)>(dlsym(handle, "puppet_set"));
    ASSERT_NE(set, nullptr);
    set([](const tesseract_host_table *host, const tesseract_plugin_table **out) {
      return opening_->entry(host, out);
    });
  }

  static inline Puppet *opening_ = nullptr;
};

// True when a puppet that is the identity works.
inline testing::AssertionResult identity_works(const Component &component) {
  Doubles x{1.0, 2.0, 3.0};
  Leaves inputs;
  inputs.add("x", x);
  const auto outcome = evaluate(component, inputs);
  if (!outcome.ok()) return succeeds(outcome);
  if (values_of(outcome) == x.values) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "wrong values";
}

}  // namespace test
