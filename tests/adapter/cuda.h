// What XLA does around its handler for CUDA, on the fake driver: memory, a stream, a context that
// is current.
#pragma once

#include "../fake_cuda/driver.h"
#include "../fake_cuda/fake_cuda.h"
#include "../native/puppet.h"
#include "frame.h"

namespace test {

inline fake_cuda_state driver_state() {
  fake_cuda_state state;
  fake_cuda_get_state(&state);
  return state;
}

// An array on the device whose context is current.
class DeviceArray {
 public:
  DeviceArray(std::vector<int64_t> lengths, std::vector<double> values)
      : shape(std::move(lengths)), count_(values.size()) {
    if (values.empty()) return;
    EXPECT_EQ(cuMemAlloc_v2(&pointer, bytes()), 0);
    EXPECT_EQ(fake_cuda_write(pointer, values.data(), bytes()), 0);
  }
  DeviceArray(std::initializer_list<double> values)
      : DeviceArray({static_cast<int64_t>(values.size())}, std::vector<double>(values)) {}
  ~DeviceArray() {
    if (!pointer) return;
    EXPECT_EQ(cuMemFree_v2(pointer), 0);
  }
  DeviceArray(const DeviceArray &) = delete;
  DeviceArray &operator=(const DeviceArray &) = delete;

  void *data() const { return reinterpret_cast<void *>(pointer); }

  // What is there once everything that was enqueued is done.
  std::vector<double> values() const {
    fake_cuda_pump_all();
    std::vector<double> found(count_);
    if (pointer) {
      EXPECT_EQ(fake_cuda_read(pointer, found.data(), bytes()), 0);
    }
    return found;
  }

  fake::Pointer pointer = 0;
  const std::vector<int64_t> shape;

 private:
  size_t bytes() const { return count_ * sizeof(double); }

  const size_t count_;
};

inline DeviceArray on_device(std::vector<int64_t> shape) {
  const auto count =
      std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<int64_t>());
  return {std::move(shape), std::vector<double>(static_cast<size_t>(count))};
}

inline Frame &in(Frame &frame, const DeviceArray &array) {
  return frame.in(XLA_F64, array.data(), array.shape);
}
inline Frame &out(Frame &frame, const DeviceArray &array) {
  return frame.out(XLA_F64, array.data(), array.shape);
}

// A program of XLA's on a device: its stream and context, and what must be as before after it.
class OnCuda : public testing::Test {
 protected:
  OnCuda() {
    fake_cuda_clear();
    EXPECT_EQ(cuInit(0), 0);
    enter(0);
    EXPECT_EQ(cuStreamCreate(&stream, 1), 0);
    cuda_stream = reinterpret_cast<uint64_t>(stream);
  }
  ~OnCuda() override {
    fake_cuda_pump_all();
    EXPECT_EQ(cuStreamDestroy_v2(stream), 0);
    leave();
    for (int32_t i = expected_faults; i < fake_cuda_faults(); i++)
      ADD_FAILURE() << fake_cuda_fault(i);
    EXPECT_EQ(driver_state().context_depth, 0);
  }

  // Makes a device's primary context current, as XLA does.
  void enter(int ordinal) {
    void *context = nullptr;
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, ordinal), 0);
    EXPECT_EQ(cuCtxPushCurrent_v2(context), 0);
    cuda_ordinal = ordinal;
  }
  void leave() {
    void *context = nullptr;
    EXPECT_EQ(cuCtxPopCurrent_v2(&context), 0);
    EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(cuda_ordinal), 0);
    cuda_ordinal = 0;
  }

  static std::unique_ptr<xla_error> call(Frame &frame, bool captured = false) {
    frame.finish();
    return std::unique_ptr<xla_error>(captured ? tesseract_jax_cuda_captured(&frame.raw)
                                               : tesseract_jax_cuda(&frame.raw));
  }

  void *stream = nullptr;
  int32_t expected_faults = 0;
};

// A component for devices, y = 2 x in the order of the call's stream; keeps what it was given.
class DevicePuppet {
 public:
  explicit DevicePuppet(const std::string &properties = {}) {
    puppet_.description =
        R"({"name": "puppet", "devices": ["cpu", "cuda"], "threads": "concurrent",)" + properties +
        R"(
      "inputs": [{"path": "x", "dtype": "float64", "shape": ["n"]}],
      "outputs": [{"path": "y", "dtype": "float64", "shape": ["n"]}]})";
    puppet_.apply = [this](tesseract_frame *frame) { return apply(frame); };
    component = puppet_.opened();
    added_ = std::make_unique<Added>(puppet_device_id, component);
  }

  static constexpr const char *puppet_device_id = "puppet-0123456789abcdef-01234567-0";
  static constexpr const char *spec =
      R"({"inputs":["x"],"of":["y"],"operands":["float64:1"],"results":["float64:1"]})";

  // A frame that calls it; `members` begin the spec.
  static std::unique_ptr<Frame> frame(const DeviceArray &x, const DeviceArray &y,
                                      const std::string &members = {}) {
    auto made =
        std::make_unique<Frame>(puppet_device_id, "apply", std::string(spec).insert(1, members));
    in(*made, x);
    out(*made, y);
    return made;
  }

  struct Seen {
    const void *x, *y;
    uint64_t stream;
    DLDevice device;
    void *context;
  };
  std::vector<Seen> seen;
  Component component;

 private:
  int32_t apply(tesseract_frame *frame) {
    const DLTensor &x = *frame->inputs[0], &y = *frame->outputs[0];
    Seen now = {x.data, y.data, frame->stream, x.device, nullptr};
    cuCtxGetCurrent(&now.context);
    seen.push_back(now);
    if (x.shape[0] == 0) return TESSERACT_OK;
    if (x.device.device_type == kDLCPU) {
      std::transform(static_cast<double *>(x.data), static_cast<double *>(x.data) + x.shape[0],
                     static_cast<double *>(y.data), [](double value) { return 2 * value; });
      return TESSERACT_OK;
    }
    const int32_t result = fake_cuda_launch_scale(
        reinterpret_cast<void *>(frame->stream), reinterpret_cast<uint64_t>(y.data),
        reinterpret_cast<uint64_t>(x.data), static_cast<uint64_t>(x.shape[0]), 2.0);
    return result ? tesseract_fail(frame, TESSERACT_ERROR_DEVICE, "y", "the launch failed")
                  : TESSERACT_OK;
  }

  Puppet puppet_;
  std::unique_ptr<Added> added_;
};

}  // namespace test
