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

// ---- The per-thread default stream of a caller isn't that of the component's thread

TEST_F(Edges, ThePerThreadStreamOfTheCallerIsFollowedOnAThreadOfTheComponentsOwn) {
  puppet.apply = double_on_device;
  puppet.description = description_with(on_cuda);
  puppet.description.replace(puppet.description.find("concurrent"), 10, "owner");
  component = puppet.opened();
  DeviceArray source{1.0, 2.0, 3.0}, last{0.0, 0.0, 0.0};
  const Call call = prepared(component, x.tensor, y.tensor);
  tesseract_call_options options = TESSERACT_CALL_OPTIONS_INIT;
  options.stream = per_thread;
  const Current context;
  ASSERT_EQ(fake_cuda_launch_scale(handle_of(per_thread), x.address, source.address, 3, 2.0), 0);
  ASSERT_TRUE(succeeds(run(call.get(), {&x.tensor}, {&y.tensor}, &options)));
  ASSERT_EQ(fake_cuda_launch_scale(handle_of(per_thread), last.address, y.address, 3, 1.0), 0);
  ASSERT_EQ(cuStreamSynchronize(handle_of(per_thread)), 0);
  EXPECT_EQ(last.read(), (std::vector<double>{4.0, 8.0, 12.0}));
}

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

// Runs y = 2 x on a captured stream where one of the two, the tensor at `path`, has strides.
class CapturedStrides : public Edges {
 protected:
  void expect_refused(const DLTensor &in, DLTensor &out, const char *path) {
    puppet.apply = double_on_device;
    open(on_cuda + R"("capture_safe": true,)");
    const Call call = prepared(component, in, out);
    const Current context;
    ASSERT_EQ(fake_cuda_begin_capture(handle_of(stream.handle), 0), 0);
    EXPECT_TRUE(fails(run(call.get(), {&in}, {&out}, &stream.options), TESSERACT_ERROR_DEVICE,
                      {path, "captured"}));
    int64_t captured = -1;
    EXPECT_EQ(fake_cuda_end_capture(handle_of(stream.handle), &captured), 0);
    EXPECT_EQ(captured, 0);
  }
  void SetUp() override {
    Edges::SetUp();
    wide.tensor.strides = &step;
  }

  int64_t step = 2;
  DeviceArray wide{{3}, {1.0, -1.0, 2.0, -1.0, 3.0}};
};

TEST_F(CapturedStrides, WhatWouldBeCopiedToMemoryOfTheRunIsNotCaptured) {
  expect_refused(wide.tensor, y.tensor, "\"x\"");
}

TEST_F(CapturedStrides, DestinationsThatDontFitAreNotCapturedEither) {
  expect_refused(x.tensor, wide.tensor, "\"y\"");
}

// ---- Unsound tensors on the host, beside others on the device

TEST_F(Edges, HostTensorsWithoutAShapeAreRefusedBesideStagedOnes) {
  puppet.apply = double_on_host;
  open("");
  Doubles in{1.0, 2.0, 3.0};
  const Call call = prepared(component, in.tensor, y.tensor);
  in.tensor.shape = nullptr;
  EXPECT_TRUE(fails(run(call.get(), {&in.tensor}, {&y.tensor}, &stream.options),
                    TESSERACT_ERROR_INVALID_ARGUMENT, {"\"x\"", "shape"}));
}

// ---- What the driver refuses

TEST_F(Edges, PageLockedMemoryIsNotUsedAgainWhereTheDriverDoesNotSayThatItMay) {
  puppet.apply = double_on_host;
  open("");
  const Call call = prepared(component, x.tensor, y.tensor);
  DeviceArray other{5.0, 5.0, 5.0}, last{0.0, 0.0, 0.0};
  ASSERT_TRUE(succeeds(run(call.get(), {&x.tensor}, {&y.tensor}, &stream.options)));
  fake_cuda_fail_next("cuEventQuery", 999, 100);
  const Stream second;
  ASSERT_TRUE(succeeds(run(call.get(), {&other.tensor}, {&last.tensor}, &second.options)));
  fake_cuda_fail_next("cuEventQuery", 999, 0);
  stream.wait();
  EXPECT_EQ(y.read(), doubled);
}

TEST_F(Edges, EachFailingDriverCallBetweenThreads) {
  puppet.apply = double_on_device;
  puppet.description = description_with(on_cuda);
  puppet.description.replace(puppet.description.find("concurrent"), 10, "owner");
  component = puppet.opened();
  const Call call = prepared(component, x.tensor, y.tensor);
  tesseract_call_options options = TESSERACT_CALL_OPTIONS_INIT;
  options.stream = per_thread;
  const fake_cuda_state before = state();
  for (int64_t n = 1;; n++) {
    const int64_t failed = fake_cuda_failed();
    fake_cuda_fail_nth(n, 999);
    const auto outcome = run(call.get(), {&x.tensor}, {&y.tensor}, &options);
    fake_cuda_fail_nth(0, 0);
    if (fake_cuda_failed() == failed) {
      EXPECT_TRUE(succeeds(outcome));
      break;
    }
    if (!outcome.ok()) {
      EXPECT_TRUE(fails(outcome, TESSERACT_ERROR_DEVICE, {"apply"}));
    }
  }
  EXPECT_EQ(state().events, before.events);
  const Current context;
  EXPECT_EQ(cuStreamSynchronize(handle_of(per_thread)), 0);
}

TEST_F(Edges, AddressesOfEmptyArraysAreNotLookedUp) {
  puppet.apply = [](tesseract_frame *) { return TESSERACT_OK; };
  puppet.description = description_with(on_cuda);
  tesseract_open_options options = TESSERACT_OPEN_OPTIONS_INIT;
  options.json = TESSERACT_STR(R"({"check_pointers": true})");
  auto opened = puppet.open(&options);
  ASSERT_TRUE(succeeds(opened));
  DeviceArray none({0}, {}), out({0}, {});
  none.tensor.data = reinterpret_cast<void *>(uintptr_t{64});
  EXPECT_TRUE(succeeds(apply(opened.value, none.tensor, &out.tensor, &stream.options)));
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

// ---- Waiting

TEST_F(Edges, AnUnorderedComponentNeedsNoContextWhereItIsCurrent) {
  puppet.apply = [](tesseract_frame *) { return TESSERACT_OK; };
  open(on_cuda + R"("stream_ordered": false,)");
  const Call call = prepared(component, x.tensor, y.tensor);
  const Current context;
  stream.options.flags = TESSERACT_CONTEXT_CURRENT;
  ASSERT_TRUE(succeeds(run(call.get(), {&x.tensor}, {&y.tensor}, &stream.options)));
  fake_cuda_reset_calls();
  ASSERT_TRUE(succeeds(run(call.get(), {&x.tensor}, {&y.tensor}, &stream.options)));
  EXPECT_LE(fake_cuda_calls(nullptr), 2) << fake_cuda_trace();
}

TEST_F(Edges, ThePrimaryContextIsMadeCurrentOnceACall) {
  puppet.apply = [](tesseract_frame *) { return TESSERACT_OK; };
  open(on_cuda + R"("stream_ordered": false,)");
  const Call call = prepared(component, x.tensor, y.tensor);
  ASSERT_TRUE(succeeds(run(call.get(), {&x.tensor}, {&y.tensor}, &stream.options)));
  fake_cuda_reset_calls();
  ASSERT_TRUE(succeeds(run(call.get(), {&x.tensor}, {&y.tensor}, &stream.options)));
  EXPECT_LE(fake_cuda_calls(nullptr), 4) << fake_cuda_trace();
}

TEST_F(Edges, ManyThreadsRunTheSameStagedCallWhileOthersPump) {
  puppet.apply = double_on_host;
  open("");
  const Call call = prepared(component, x.tensor, y.tensor);
  ASSERT_EQ(fake_cuda_set("mode", 2), 0);
  std::atomic<bool> done{false};
  std::thread pump([&] {
    while (!done) fake_cuda_pump_all();
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++)
    threads.emplace_back([&, t] {
      DeviceArray in({3}, {1.0 * t, 2.0 * t, 3.0 * t}), out({3}, {0.0, 0.0, 0.0});
      const Stream own;
      for (int i = 0; i < 20; i++) {
        ASSERT_TRUE(succeeds(run(call.get(), {&in.tensor}, {&out.tensor}, &own.options)));
        own.wait();
        EXPECT_EQ(out.read(), (std::vector<double>{2.0 * t, 4.0 * t, 6.0 * t}));
      }
    });
  for (std::thread &thread : threads) thread.join();
  ASSERT_EQ(fake_cuda_set("mode", 1), 0);
  done = true;
  pump.join();
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
