// What the device tests share: arrays and streams of the fake driver, and a component that computes
// there.  The program links the fake driver, which TESSERACT_HOST_CUDA_DRIVER names for the host.
#pragma once

#include <fake_cuda.h>
#include <tesseract_host/ext/device.h>

#include <numeric>
#include <string>
#include <vector>

#include "../native/puppet.h"

extern "C" {
int cuInit(unsigned);
int cuDeviceGet(int *, int);
int cuDevicePrimaryCtxRetain(void **, int);
int cuCtxPushCurrent_v2(void *);
int cuCtxPopCurrent_v2(void **);
int cuCtxGetCurrent(void **);
int cuMemAlloc_v2(uint64_t *, size_t);
int cuMemAllocManaged(uint64_t *, size_t, unsigned);
int cuMemFree_v2(uint64_t);
int cuMemHostAlloc(void **, size_t, unsigned);
int cuMemFreeHost(void *);
int cuStreamCreate(void **, unsigned);
int cuStreamDestroy_v2(void *);
int cuStreamSynchronize(void *);
}

namespace test {

// The primary context of a device, current as long as the object lives.
class Current {
 public:
  explicit Current(int device = 0) {
    EXPECT_EQ(cuInit(0), 0);
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, device), 0);
    EXPECT_EQ(cuCtxPushCurrent_v2(context), 0);
  }
  ~Current() {
    void *popped = nullptr;
    EXPECT_EQ(cuCtxPopCurrent_v2(&popped), 0);
    EXPECT_EQ(popped, context);
  }
  Current(const Current &) = delete;
  Current &operator=(const Current &) = delete;

  void *context = nullptr;
};

inline void *handle_of(uint64_t stream) {
  return reinterpret_cast<void *>(stream);
}

// A stream that doesn't wait for the legacy default one.
class Stream {
 public:
  explicit Stream(int device = 0) : device_(device) {
    const Current context(device_);
    void *made = nullptr;
    EXPECT_EQ(cuStreamCreate(&made, 1), 0);
    handle = reinterpret_cast<uint64_t>(made);
    options.stream = handle;
  }
  ~Stream() {
    const Current context(device_);
    EXPECT_EQ(cuStreamSynchronize(handle_of(handle)), 0);
    EXPECT_EQ(cuStreamDestroy_v2(handle_of(handle)), 0);
  }
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;

  void wait() const {
    const Current context(device_);
    EXPECT_EQ(cuStreamSynchronize(handle_of(handle)), 0);
  }

  uint64_t handle = 0;
  tesseract_call_options options = TESSERACT_CALL_OPTIONS_INIT;

 private:
  int device_;
};

// Doubles on a device.
class DeviceArray {
 public:
  enum class Memory { device, managed };

  DeviceArray(std::vector<int64_t> lengths, std::vector<double> values, int device = 0,
              Memory memory = Memory::device)
      : shape(std::move(lengths)), count(values.size()), device_(device) {
    const Current context(device_);
    const size_t bytes = std::max<size_t>(count, 1) * sizeof(double);
    EXPECT_EQ(memory == Memory::device ? cuMemAlloc_v2(&address, bytes)
                                       : cuMemAllocManaged(&address, bytes, 1),
              0);
    if (count) {
      EXPECT_EQ(fake_cuda_write(address, values.data(), count * sizeof(double)), 0);
    }
    tensor = tesseract_float64(reinterpret_cast<double *>(address),
                               static_cast<int32_t>(shape.size()), shape.data());
    tensor.device = {memory == Memory::device ? kDLCUDA : kDLCUDAManaged, device};
  }
  DeviceArray(std::initializer_list<double> values)
      : DeviceArray({static_cast<int64_t>(values.size())}, values) {}
  ~DeviceArray() { free(); }
  DeviceArray(const DeviceArray &) = delete;
  DeviceArray &operator=(const DeviceArray &) = delete;

  void free() {
    const Current context(device_);
    if (!freed_) {
      EXPECT_EQ(cuMemFree_v2(address), 0);
    }
    freed_ = true;
  }

  // What is there, now, without waiting for anything.
  std::vector<double> read() const {
    std::vector<double> values(count);
    if (count) {
      EXPECT_EQ(fake_cuda_read(address, values.data(), count * sizeof(double)), 0);
    }
    return values;
  }

  std::vector<int64_t> shape;
  size_t count;
  uint64_t address = 0;
  DLTensor tensor;

 private:
  int device_;
  bool freed_ = false;
};

inline fake_cuda_state state() {
  fake_cuda_state now;
  fake_cuda_get_state(&now);
  return now;
}

inline std::string faults() {
  std::string text;
  for (int32_t i = 0; i < fake_cuda_faults(); i++) text += std::string(fake_cuda_fault(i)) + "\n";
  return text;
}

// The doubles of a compact tensor on a device, now, without waiting for anything.
inline std::vector<double> read_device(const DLTensor &tensor) {
  int64_t count = 1;
  for (int32_t k = 0; k < tensor.ndim; k++) count *= tensor.shape[k];
  std::vector<double> values(static_cast<size_t>(count));
  EXPECT_EQ(fake_cuda_read(reinterpret_cast<uint64_t>(tensor.data), values.data(),
                           values.size() * sizeof(double)),
            0);
  return values;
}

// y = 2 x by a kernel on the call's stream.
inline int32_t double_on_device(tesseract_frame *frame) {
  const DLTensor *x = frame->inputs[0];
  const DLTensor *y = frame->outputs[0];
  if (!y || x->shape[0] == 0) return TESSERACT_OK;
  const int code = fake_cuda_launch_scale(
      handle_of(frame->stream), reinterpret_cast<uint64_t>(y->data),
      reinterpret_cast<uint64_t>(x->data), static_cast<uint64_t>(x->shape[0]), 2.0);
  return code == 0 ? TESSERACT_OK
                   : tesseract_fail(frame, TESSERACT_ERROR_DEVICE, "y", "the launch failed");
}

inline int32_t double_on_host(tesseract_frame *frame) {
  const DLTensor *x = frame->inputs[0];
  const DLTensor *y = frame->outputs[0];
  for (int64_t i = 0; y && i < x->shape[0]; i++)
    static_cast<double *>(y->data)[i] = 2 * static_cast<const double *>(x->data)[i];
  return TESSERACT_OK;
}

// A description of y = f(x) with more properties: R"("devices": ["cpu", "cuda"],)".
inline std::string description_with(const std::string &properties) {
  return R"({"name": "puppet", "threads": "concurrent", )" + properties + R"(
    "inputs": [{"path": "x", "dtype": "float64", "shape": ["n"], "differentiable": true}],
    "outputs": [{"path": "y", "dtype": "float64", "shape": ["n"], "differentiable": true}]})";
}
inline const std::string on_cuda = R"("devices": ["cpu", "cuda"],)";

// Each test leaves the driver as it found it: nothing leaked, nothing misused.
class DeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    {
      const Current once;
    }
    fake_cuda_clear();
    before_ = state();
  }
  void TearDown() override {
    EXPECT_EQ(faults(), "");
    const fake_cuda_state after = state();
    EXPECT_EQ(after.device_allocations, before_.device_allocations);
    EXPECT_EQ(after.streams, before_.streams);
    EXPECT_EQ(after.context_depth, before_.context_depth);
    EXPECT_EQ(after.pushes_less_pops, before_.pushes_less_pops);
  }

  static tesseract_signature apply_signature(Wanted inputs, Wanted of = nullptr,
                                             uint32_t flags = 0) {
    return signature(TESSERACT_ENDPOINT_APPLY, inputs, of, nullptr, flags);
  }

  // A prepared call of y = f(x) for tensors where x and y are.
  static Call prepared(const Component &component, const DLTensor &x, const DLTensor &y,
                       uint32_t flags = 0) {
    Leaves inputs, of;
    inputs.add("x", &x);
    of.add("y", &y);
    auto outcome = prepare(component, apply_signature(inputs, of, flags));
    EXPECT_TRUE(succeeds(outcome));
    return std::move(outcome.value);
  }

  static Outcome<Result> apply(const Component &component, const DLTensor &x, const DLTensor *y,
                               Options options) {
    Leaves inputs, of;
    inputs.add("x", &x);
    return evaluate(component, inputs, of.add("y", y), options);
  }

  const std::vector<double> doubled{2.0, 4.0, 6.0};

 private:
  fake_cuda_state before_{};
};

}  // namespace test
