// Memory of a device of the fake driver, and calls with it, for tests.
#pragma once

#include <fake_cuda.h>

#include <cstring>
#include <map>
#include <memory>

#include "component.h"
#include "prepared.h"

extern "C" {
int32_t cuInit(unsigned int flags);
int32_t cuDevicePrimaryCtxRetain(void **context, int32_t device);
int32_t cuCtxPushCurrent_v2(void *context);
int32_t cuCtxPopCurrent_v2(void **context);
int32_t cuMemAlloc_v2(uint64_t *pointer, size_t bytes);
int32_t cuMemFree_v2(uint64_t pointer);
int32_t cuStreamCreate(void **stream, unsigned int flags);
}

namespace loader_test {

// The primary context of a device, current while the object lives.
class Current {
 public:
  explicit Current(int32_t device = 0) {
    static std::map<int32_t, void *> contexts;
    EXPECT_EQ(cuInit(0), 0);
    void *&context = contexts[device];
    if (!context) {
      EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, device), 0);
    }
    EXPECT_EQ(cuCtxPushCurrent_v2(context), 0);
  }
  ~Current() {
    void *popped = nullptr;
    EXPECT_EQ(cuCtxPopCurrent_v2(&popped), 0);
  }
};

// Numbers in memory of a device.
class OnDevice {
 public:
  explicit OnDevice(const Vector &values, std::vector<int64_t> lengths = {}, int32_t device = 0)
      : shape_(lengths.empty() ? std::vector<int64_t>{static_cast<int64_t>(values.size())}
                               : std::move(lengths)),
        size_(values.size()),
        device_(device) {
    const Current current(device);
    EXPECT_EQ(cuMemAlloc_v2(&pointer_, std::max<size_t>(8 * size_, 8)), 0);
    if (size_) {
      EXPECT_EQ(fake_cuda_write(pointer_, values.data(), 8 * size_), 0);
    }
    tensor = tesseract_float64(reinterpret_cast<double *>(pointer_),
                               static_cast<int32_t>(shape_.size()), shape_.data());
    tensor.device = {kDLCUDA, device};
  }
  OnDevice(const OnDevice &) = delete;
  OnDevice &operator=(const OnDevice &) = delete;
  ~OnDevice() {
    const Current current(device_);
    EXPECT_EQ(cuMemFree_v2(pointer_), 0);
  }

  Vector values() const {
    Vector found(size_);
    if (size_) {
      EXPECT_EQ(fake_cuda_read(pointer_, found.data(), 8 * size_), 0);
    }
    return found;
  }
  uint64_t pointer() const { return pointer_; }

  DLTensor tensor{};

 private:
  std::vector<int64_t> shape_;
  size_t size_;
  int32_t device_;
  uint64_t pointer_ = 0;
};

inline uint64_t new_stream() {
  const Current current;
  void *stream = nullptr;
  EXPECT_EQ(cuStreamCreate(&stream, 1), 0);
  return reinterpret_cast<uint64_t>(stream);
}

// A prepared call whose tensors may be on a device.
class DeviceCall {
 public:
  struct Leaf {
    std::string path;
    bool on_device = true;
    int32_t device = 0;
    bool has_tensor = true;
  };

  DeviceCall(const Component &component, int32_t endpoint, const std::vector<Leaf> &inputs,
             const std::vector<Leaf> &of, const std::vector<Leaf> &wrt = {},
             const std::string &json = "{}", uint32_t flags = 0) {
    const List given(inputs), outputs(of), derivatives(wrt);
    tesseract_leaves with_json = given.leaves;
    with_json.json = {json.data(), json.size()};
    tesseract_signature signature = TESSERACT_SIGNATURE_INIT;
    signature.flags = flags;
    signature.endpoint = endpoint;
    signature.inputs = &with_json;
    signature.of = &outputs.leaves;
    if (endpoint != TESSERACT_ENDPOINT_APPLY) signature.wrt = &derivatives.leaves;
    tesseract_error *error = nullptr;
    const int32_t status = tesseract_prepare(component.get(), &signature, &call_, &error);
    failure = Failure(status, error);
    EXPECT_EQ(status, TESSERACT_OK) << failure.message;
  }
  DeviceCall(const DeviceCall &) = delete;
  DeviceCall &operator=(const DeviceCall &) = delete;
  ~DeviceCall() {
    tesseract_result_free(result_);
    tesseract_call_free(call_);
  }

  // Runs it on a stream; without destinations the outputs are in a result.
  int32_t run(const std::vector<const DLTensor *> &in, const std::vector<DLTensor *> &out = {},
              uint64_t stream = 1, const tesseract_owner *owner = nullptr, uint32_t flags = 0) {
    tesseract_result_free(std::exchange(result_, nullptr));
    tesseract_error *error = nullptr;
    tesseract_call_options options = TESSERACT_CALL_OPTIONS_INIT;
    options.stream = stream;
    options.flags = flags;
    const tesseract_owner *owners[] = {owner, nullptr, nullptr};
    if (owner) options.owners = owners;
    const int32_t status = tesseract_call_run(call_, in.data(), out.empty() ? nullptr : out.data(),
                                              &options, &result_, &error);
    failure = Failure(status, error);
    return status;
  }

  // The call itself, without a result: what a tight loop does.
  int32_t run_bare(const std::vector<const DLTensor *> &in, const std::vector<DLTensor *> &out,
                   uint64_t stream) {
    tesseract_call_options options = TESSERACT_CALL_OPTIONS_INIT;
    options.stream = stream;
    return tesseract_call_run(call_, in.data(), out.data(), &options, nullptr, nullptr);
  }

  const DLTensor *output() const { return tesseract_result_tensor(result_, 0); }
  tesseract_result *result() const { return result_; }

  // Of an output on a device.
  Vector values() const {
    const DLTensor *tensor = output();
    if (!tensor) return {-1.0};
    Vector found(tensor->ndim ? static_cast<size_t>(tensor->shape[0]) : 1);
    const auto pointer = reinterpret_cast<uint64_t>(tensor->data);
    if (!found.empty()) {
      EXPECT_EQ(fake_cuda_read(pointer, found.data(), 8 * found.size()), 0);
    }
    return found;
  }

  // The outputs that are no arrays.
  nlohmann::json document() const {
    const char *text = tesseract_result_json(result_, nullptr);
    return nlohmann::json::parse(text ? text : "{}");
  }
  nlohmann::json seen() const { return document().value("seen", nlohmann::json()); }

  Failure failure{TESSERACT_OK, nullptr};

 private:
  struct List {
    explicit List(const std::vector<Leaf> &given) : tensors(given.size()) {
      for (size_t i = 0; i < given.size(); i++) {
        tensors[i] = tesseract_float64(nullptr, 1, lengths);
        if (given[i].on_device) tensors[i].device = {kDLCUDA, given[i].device};
        items.push_back({{given[i].path.data(), given[i].path.size()},
                         given[i].has_tensor ? &tensors[i] : nullptr,
                         nullptr});
      }
      leaves.count = static_cast<int64_t>(items.size());
      leaves.items = items.data();
    }
    int64_t lengths[1] = {-1};
    std::vector<DLTensor> tensors;
    std::vector<tesseract_leaf> items;
    tesseract_leaves leaves = TESSERACT_LEAVES_INIT;
  };

  tesseract_call *call_ = nullptr;
  tesseract_result *result_ = nullptr;
};

// Options that components are opened with.
inline const std::string kDirect = R"({"gpu_transport": "cuda_ipc"})";
inline const std::string kOrdered = R"({"gpu_transport": "cuda_ipc", "stream_ordered": true})";

// What modules/devices is told to do, as JSON.
inline std::string way(const std::string &name) {
  return nlohmann::json{{"way", name}}.dump();
}

inline const Vector kX = {1.0, 2.0, 3.0, 4.0};
inline const Vector kDoubled = {2.0, 4.0, 6.0, 8.0};

// Each test leaves the driver without a fault.
class Devices : public testing::Test {
 protected:
  void TearDown() override {
    fake_cuda_pump_all();
    for (int i = 0; i < fake_cuda_faults(); i++) ADD_FAILURE() << fake_cuda_fault(i);
    fake_cuda_clear();
  }
};

}  // namespace loader_test
