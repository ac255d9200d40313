// Uses of devices that are rare: streams of a thread, owners, captures, several devices at once.
#include <tesseract_host/ext/adopt.h>

#include <atomic>
#include <thread>

#include "support.h"

namespace {

using namespace test;

class Edges : public DeviceTest {
 protected:
  Puppet puppet;
  Component component;
  DeviceArray x{1.0, 2.0, 3.0}, y{0.0, 0.0, 0.0};
  Stream stream;

  void open(const std::string &properties) {
    puppet.description = description_with(properties);
    component = puppet.opened();
  }
  static constexpr uint64_t per_thread = 2;
};

// ---- Owners

TEST_F(Edges, StagedInputsHaveNoOwner) {
  int references = 0;
  bool seen = false;
  const tesseract_owner owner = {&references, [](void *count) { ++*static_cast<int *>(count); },
                                 [](void *count) { --*static_cast<int *>(count); }};
  puppet.apply = [&](tesseract_frame *frame) {
    seen = frame->owners && frame->owners[0];
    return double_on_host(frame);
  };
  open("");
  const Call call = prepared(component, x.tensor, y.tensor);
  const tesseract_owner *owners[] = {&owner};
  stream.options.owners = owners;
  ASSERT_TRUE(succeeds(run(call.get(), {&x.tensor}, {&y.tensor}, &stream.options)));
  EXPECT_FALSE(seen) << "what the component got is not what the owner keeps alive";
  Doubles host{1.0, 2.0, 3.0};
  const Call there = prepared(component, host.tensor, y.tensor);
  ASSERT_TRUE(succeeds(run(there.get(), {&host.tensor}, {&y.tensor}, &stream.options)));
  EXPECT_TRUE(seen);
}

// ---- Captures

TEST_F(Edges, WhatWouldBeCopiedToMemoryOfTheRunIsNotCaptured) {
  puppet.apply = double_on_device;
  open(on_cuda + R"("capture_safe": true,)");
  DeviceArray wide({3}, {1.0, -1.0, 2.0, -1.0, 3.0});
  int64_t step = 2;
  wide.tensor.strides = &step;
  const Call call = prepared(component, wide.tensor, y.tensor);
  const Current context;
  ASSERT_EQ(fake_cuda_begin_capture(handle_of(stream.handle), 0), 0);
  EXPECT_TRUE(fails(run(call.get(), {&wide.tensor}, {&y.tensor}, &stream.options),
                    TESSERACT_ERROR_DEVICE, {"\"x\"", "captured"}));
  int64_t captured = -1;
  EXPECT_EQ(fake_cuda_end_capture(handle_of(stream.handle), &captured), 0);
  EXPECT_EQ(captured, 0);
}

TEST_F(Edges, DestinationsThatDontFitAreNotCapturedEither) {
  puppet.apply = double_on_device;
  open(on_cuda + R"("capture_safe": true,)");
  DeviceArray wide({3}, {1.0, -1.0, 2.0, -1.0, 3.0});
  int64_t step = 2;
  wide.tensor.strides = &step;
  const Call call = prepared(component, x.tensor, wide.tensor);
  const Current context;
  ASSERT_EQ(fake_cuda_begin_capture(handle_of(stream.handle), 0), 0);
  EXPECT_TRUE(fails(run(call.get(), {&x.tensor}, {&wide.tensor}, &stream.options),
                    TESSERACT_ERROR_DEVICE, {"\"y\"", "captured"}));
  int64_t captured = -1;
  EXPECT_EQ(fake_cuda_end_capture(handle_of(stream.handle), &captured), 0);
  EXPECT_EQ(captured, 0);
}

// ---- Several devices

TEST_F(Edges, SeveralDevicesAreNotStaged) {
  puppet.apply = double_on_host;
  puppet.derivative = [](tesseract_frame *) { return TESSERACT_OK; };
  puppet.offer(&tesseract_plugin_table::jvp);
  open(on_cuda + R"("multi_device": true,)");
  DeviceArray there({3}, {0.0, 0.0, 0.0}, 1);
  Leaves inputs, of;
  inputs.add("x", &x.tensor);
  of.add("y", &there.tensor);
  const auto refused = prepare(component, apply_signature(inputs, of, TESSERACT_STAGED));
  EXPECT_TRUE(fails(refused, TESSERACT_ERROR_DEVICE, {"CUDA device 0", "CUDA device 1", "host"}));
  EXPECT_TRUE(succeeds(prepare(component, apply_signature(inputs, of))));
}

TEST_F(Edges, SeveralDevicesWithStrides) {
  puppet.apply = [](tesseract_frame *) { return TESSERACT_OK; };
  open(on_cuda + R"("multi_device": true,)");
  DeviceArray there({3}, {1.0, -1.0, 2.0, -1.0, 3.0}, 1);
  int64_t step = 2;
  there.tensor.strides = &step;
  EXPECT_TRUE(fails(apply(component, x.tensor, &there.tensor, &stream.options),
                    TESSERACT_ERROR_DEVICE, {"\"y\"", "CUDA device 1", "stream", "CUDA device 0"}));
}

// ---- Results in page-locked memory of the component's

struct Pinned {
  DLManagedTensorVersioned managed{};
  int64_t shape[1] = {3}, strides[1] = {1};
  void *memory = nullptr;
};

TEST_F(Edges, ResultsInPageLockedMemoryAreReadBeforeTheyAreFreed) {
  puppet.apply = [](tesseract_frame *frame) -> int32_t {
    const auto *adopt = static_cast<const tesseract_adopt_table *>(
        frame->host->extension(TESSERACT_ADOPT_ID, TESSERACT_NTS));
    auto *made = new Pinned;
    {
      const Current context;
      EXPECT_EQ(cuMemHostAlloc(&made->memory, 24, 1), 0);
    }
    for (int i = 0; i < 3; i++)
      static_cast<double *>(made->memory)[i] =
          2 * static_cast<const double *>(frame->inputs[0]->data)[i];
    made->managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    made->managed.manager_ctx = made;
    made->managed.dl_tensor =
        tesseract_float64(static_cast<double *>(made->memory), 1, made->shape);
    made->managed.dl_tensor.strides = made->strides;
    made->managed.deleter = [](DLManagedTensorVersioned *self) {
      auto *mine = static_cast<Pinned *>(self->manager_ctx);
      // As a pool of the component's would: it is used again at once.
      for (int i = 0; i < 3; i++) static_cast<double *>(mine->memory)[i] = -1.0;
      const Current context;
      EXPECT_EQ(cuMemFreeHost(mine->memory), 0);
      delete mine;
    };
    const int32_t status = adopt->output(frame, 0, &made->managed);
    EXPECT_EQ(status, TESSERACT_OK);
    return status;
  };
  open("");
  const Call call = prepared(component, x.tensor, y.tensor);
  const auto outcome = run_for_result(call.get(), {&x.tensor}, {nullptr}, &stream.options);
  ASSERT_TRUE(succeeds(outcome));
  stream.wait();
  std::vector<double> values(3);
  ASSERT_EQ(
      fake_cuda_read(reinterpret_cast<uint64_t>(tesseract_result_tensor(outcome.get(), 0)->data),
                     values.data(), 24),
      0);
  EXPECT_EQ(values, doubled);
}

}  // namespace
