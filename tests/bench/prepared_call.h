// A component with one prepared call, for the benchmarks: opened, prepared and run a few times when
// made.  Whatever fails ends the program.
#pragma once

#include <tesseract_host/host.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace bench {

inline void check(int32_t status, tesseract_error *error) {
  if (status == TESSERACT_OK) return;
  const char *traceback = tesseract_error_detail(error, TESSERACT_DETAIL_TRACEBACK, nullptr);
  std::fprintf(stderr, "%s\n%s\n", tesseract_error_message(error, nullptr),
               traceback ? traceback : "");
  std::exit(1);
}

struct Leaf {
  std::string path;
  std::vector<int64_t> lengths = {3};  // at most one; none: a scalar
  int bits = 32;                       // of a float
};

// One array of the program's, for a leaf.
struct Vector {
  std::vector<char> data;
  std::vector<int64_t> shape;
  DLTensor tensor;

  explicit Vector(const Leaf &leaf) : shape(leaf.lengths) {
    const int64_t count = shape.empty() ? 1 : shape[0];
    data.resize(static_cast<size_t>(count * leaf.bits / 8));
    const DLDataType type = {kDLFloat, static_cast<uint8_t>(leaf.bits), 1};
    tensor = tesseract_tensor(type, data.data(), static_cast<int32_t>(shape.size()), shape.data());
  }
};

struct CallOf {
  std::string module;  // path
  int32_t endpoint = TESSERACT_ENDPOINT_APPLY;
  std::vector<Leaf> inputs = {};
  std::vector<Leaf> of = {};  // none: all outputs
  std::vector<Leaf> wrt = {};
  std::string json = "{}";     // inputs that are no arrays
  std::string options = "{}";  // of the component
};

class Call {
 public:
  explicit Call(const CallOf &what) {
    tesseract_error *error = nullptr;
    tesseract_open_options options = TESSERACT_OPEN_OPTIONS_INIT;
    options.json = {what.options.data(), what.options.size()};
    options.log = [](void *, int32_t, const char *, uint64_t) {};
    check(tesseract_from_tesseract_api(what.module.data(), what.module.size(), &options,
                                       &component_, &error),
          error);
    const bool vjp = what.endpoint == TESSERACT_ENDPOINT_VJP;
    Leaves given(what.inputs), outputs(what.of), gradients(what.wrt);
    given.list.json = {what.json.data(), what.json.size()};
    tesseract_signature signature = TESSERACT_SIGNATURE_INIT;
    signature.endpoint = what.endpoint;
    signature.inputs = &given.list;
    if (!what.of.empty()) signature.of = &outputs.list;
    if (vjp) signature.wrt = &gradients.list;
    check(tesseract_prepare(component_, &signature, &call_, &error), error);
    for (const Leaf &leaf : what.inputs) in_.push_back(make(leaf));
    if (vjp)
      for (const Leaf &leaf : what.of) in_.push_back(make(leaf));
    for (const Leaf &leaf : vjp ? what.wrt : what.of) out_.push_back(make(leaf));
    for (int i = 0; i < 100; i++) run();
  }
  Call(const Call &) = delete;
  Call &operator=(const Call &) = delete;
  ~Call() {
    tesseract_call_free(call_);
    tesseract_close(component_);
  }

  // Into destinations.
  void run() const {
    tesseract_error *error = nullptr;
    if (const int32_t status =
            tesseract_call_run(call_, in_.data(), out_.data(), nullptr, nullptr, &error))
      check(status, error);
  }

  // Into memory that the host provides, until it is freed again.
  void run_allocating() const {
    tesseract_result *result = nullptr;
    tesseract_error *error = nullptr;
    if (const int32_t status =
            tesseract_call_run(call_, in_.data(), nullptr, nullptr, &result, &error))
      check(status, error);
    tesseract_result_free(result);
  }

 private:
  struct Leaves {
    std::vector<tesseract_leaf> items;
    tesseract_leaves list = TESSERACT_LEAVES_INIT;

    explicit Leaves(const std::vector<Leaf> &leaves) {
      for (const Leaf &leaf : leaves)
        items.push_back({{leaf.path.data(), leaf.path.size()}, nullptr, nullptr});
      list.count = static_cast<int64_t>(items.size());
      list.items = items.data();
    }
  };

  DLTensor *make(const Leaf &leaf) {
    vectors_.push_back(std::make_unique<Vector>(leaf));
    return &vectors_.back()->tensor;
  }

  tesseract_component *component_ = nullptr;
  tesseract_call *call_ = nullptr;
  std::vector<std::unique_ptr<Vector>> vectors_;
  std::vector<const DLTensor *> in_;
  std::vector<DLTensor *> out_;
};

}  // namespace bench
