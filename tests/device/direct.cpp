// Components that take device tensors: they get the caller's, on the caller's stream.
#include <thread>

#include "support.h"

namespace {

using namespace test;

class Direct : public DeviceTest {
 protected:
  Puppet puppet;
  Component component;
  DeviceArray x{1.0, 2.0, 3.0}, y{0.0, 0.0, 0.0};
  Stream stream;

  void open(const std::string &properties = "") {
    puppet.description = description_with(on_cuda + properties);
    component = puppet.opened();
  }
};

TEST_F(Direct, TheComponentGetsTheCallersMemoryAndStream) {
  tesseract_frame seen{};
  DLTensor in{}, out{};
  puppet.apply = [&](tesseract_frame *frame) {
    seen = *frame;
    in = *frame->inputs[0];
    out = *frame->outputs[0];
    return double_on_device(frame);
  };
  open();
  const Call call = prepared(component, x.tensor, y.tensor);
  ASSERT_TRUE(succeeds(run(call.get(), {&x.tensor}, {&y.tensor}, &stream.options)));
  EXPECT_EQ(in.data, x.tensor.data);
  EXPECT_EQ(out.data, y.tensor.data);
  EXPECT_EQ(in.device.device_type, kDLCUDA);
  EXPECT_EQ(seen.stream, stream.handle);
  EXPECT_NE(y.read(), doubled) << "nothing has waited for the kernel";
  stream.wait();
  EXPECT_EQ(y.read(), doubled);
}

TEST_F(Direct, APreparedCallCostsTwoDriverCalls) {
  puppet.apply = [](tesseract_frame *) { return TESSERACT_OK; };
  open();
  const Call call = prepared(component, x.tensor, y.tensor);
  ASSERT_TRUE(succeeds(run(call.get(), {&x.tensor}, {&y.tensor}, &stream.options)));
  fake_cuda_reset_calls();
  const fake_cuda_state before = state();
  ASSERT_TRUE(succeeds(run(call.get(), {&x.tensor}, {&y.tensor}, &stream.options)));
  EXPECT_LE(fake_cuda_calls(nullptr), 2) << fake_cuda_trace();
  EXPECT_EQ(state().host_waits, before.host_waits);
  EXPECT_EQ(state().device_allocations, before.device_allocations);
  for (int kind = 0; kind < 4; kind++) EXPECT_EQ(state().copies[kind], before.copies[kind]);
}

TEST_F(Direct, NoneWhereTheCallerSaysThatItsContextIsCurrent) {
  void *inside = nullptr;
  puppet.apply = [&](tesseract_frame *) {
    cuCtxGetCurrent(&inside);
    return TESSERACT_OK;
  };
  open();
  const Call call = prepared(component, x.tensor, y.tensor);
  const Current context;
  stream.options.flags = TESSERACT_CONTEXT_CURRENT;
  fake_cuda_reset_calls();
  ASSERT_TRUE(succeeds(run(call.get(), {&x.tensor}, {&y.tensor}, &stream.options)));
  EXPECT_EQ(fake_cuda_calls(nullptr), 1) << "the component's own; " << fake_cuda_trace();
  EXPECT_EQ(inside, context.context);
}

TEST_F(Direct, ThePrimaryContextIsCurrentDuringTheCallAndTheCallersAfterwards) {
  void *inside = nullptr;
  puppet.apply = [&](tesseract_frame *frame) {
    cuCtxGetCurrent(&inside);
    return double_on_device(frame);
  };
  open();
  const Current other(1);
  const Call call = prepared(component, x.tensor, y.tensor);
  ASSERT_TRUE(succeeds(run(call.get(), {&x.tensor}, {&y.tensor}, &stream.options)));
  void *now = nullptr;
  cuCtxGetCurrent(&now);
  EXPECT_EQ(now, other.context);
  EXPECT_NE(inside, other.context);
  EXPECT_NE(inside, nullptr);
}

TEST_F(Direct, OnAThreadOfTheComponentsOwnToo) {
  puppet.apply = double_on_device;
  puppet.description = description_with(on_cuda);
  puppet.description.replace(puppet.description.find("concurrent"), 10, "owner");
  component = puppet.opened();
  const Current context;
  stream.options.flags = TESSERACT_CONTEXT_CURRENT;  // of this thread, not of the component's
  ASSERT_TRUE(succeeds(apply(component, x.tensor, &y.tensor, &stream.options)));
  stream.wait();
  EXPECT_EQ(y.read(), doubled);
}

TEST_F(Direct, AContextThatTheComponentLeavesIsTold) {
  void *other = nullptr;
  {
    other = Current(1).context;
  }
  puppet.apply = [&](tesseract_frame *) {
    cuCtxPushCurrent_v2(other);
    return TESSERACT_OK;
  };
  open();
  const auto outcome = apply(component, x.tensor, &y.tensor, &stream.options);
  EXPECT_TRUE(fails(outcome, TESSERACT_ERROR_COMPONENT, {"puppet", "context"}));
  void *left = nullptr;
  ASSERT_EQ(cuCtxPopCurrent_v2(&left), 0);
}

TEST_F(Direct, OneShotCallsToo) {
  puppet.apply = double_on_device;
  open();
  ASSERT_TRUE(succeeds(apply(component, x.tensor, &y.tensor, &stream.options)));
  stream.wait();
  EXPECT_EQ(y.read(), doubled);
  EXPECT_EQ(statistics_of(component).device_copies, 0u);
}

TEST_F(Direct, ResultsOfTheHostsAreAllocatedOnTheDevice) {
  puppet.apply = double_on_device;
  open();
  const Call call = prepared(component, x.tensor, y.tensor);
  {
    const auto outcome = run_for_result(call.get(), {&x.tensor}, {nullptr}, &stream.options);
    ASSERT_TRUE(succeeds(outcome));
    const DLTensor *made = tesseract_result_tensor(outcome.get(), 0);
    EXPECT_EQ(made->device.device_type, kDLCUDA);
    EXPECT_EQ(made->device.device_id, 0);
    EXPECT_EQ(shape_of(made), x.shape);
    EXPECT_EQ(made->strides[0], 1);
    stream.wait();
    EXPECT_EQ(read_device(*made), doubled);
  }
}

TEST_F(Direct, OutputsThatTheSignatureDoesNotPlaceAreWhereTheInputsAre) {
  puppet.apply = double_on_device;
  open();
  Leaves inputs;
  const auto outcome = evaluate(component, inputs.add("x", &x.tensor), nullptr, &stream.options);
  ASSERT_TRUE(succeeds(outcome));
  EXPECT_EQ(tesseract_result_tensor(outcome.get(), 0)->device.device_type, kDLCUDA);
  const auto call = prepare(component, apply_signature(inputs));
  ASSERT_TRUE(succeeds(call));
  const DLTensor *out = tesseract_call_signature(call.get())->of->items[0].tensor;
  EXPECT_EQ(out->device.device_type, kDLCUDA);
  ASSERT_TRUE(succeeds(run(call.get(), {&x.tensor}, {&y.tensor}, &stream.options)));
  stream.wait();
  EXPECT_EQ(y.read(), doubled);
}

TEST_F(Direct, ACaptureOfAnotherThreadIsNotDisturbed) {
  puppet.apply = double_on_device;
  open();
  const Call call = prepared(component, x.tensor, y.tensor);
  Stream captured_stream;
  int64_t captured = 0;
  {
    const Current context;
    ASSERT_EQ(fake_cuda_begin_capture(handle_of(captured_stream.handle), 0), 0);
  }
  std::thread([&] {
    EXPECT_TRUE(succeeds(run_for_result(call.get(), {&x.tensor}, {nullptr}, &stream.options)));
  }).join();
  const Current context;
  EXPECT_EQ(fake_cuda_end_capture(handle_of(captured_stream.handle), &captured), 0);
}

TEST_F(Direct, ATakenResultLivesOnAndIsFreedWhenTheDeviceIsDoneWithIt) {
  puppet.apply = double_on_device;
  open();
  const Call call = prepared(component, x.tensor, y.tensor);
  DLManagedTensorVersioned *taken = nullptr;
  {
    auto outcome = run_for_result(call.get(), {&x.tensor}, {nullptr}, &stream.options);
    ASSERT_TRUE(succeeds(outcome));
    ASSERT_EQ(tesseract_result_take(outcome.get(), 0, &taken), TESSERACT_OK);
  }
  ASSERT_EQ(fake_cuda_launch_scale(handle_of(stream.handle), y.address,
                                   reinterpret_cast<uint64_t>(taken->dl_tensor.data), 3, 1.0),
            201)
      << "a launch needs a context";
  {
    const Current context;
    ASSERT_EQ(fake_cuda_launch_scale(handle_of(stream.handle), y.address,
                                     reinterpret_cast<uint64_t>(taken->dl_tensor.data), 3, 1.0),
              0);
  }
  taken->deleter(taken);
  EXPECT_EQ(y.read(), doubled);
}

TEST_F(Direct, HostArraysBesideDeviceArraysArePassedAsTheyAre) {
  puppet.description = R"({"name": "puppet", "threads": "concurrent", "devices": ["cpu", "cuda"],
    "inputs": [{"path": "x", "dtype": "float64", "shape": ["n"]},
               {"path": "a", "dtype": "float64", "shape": []}],
    "outputs": [{"path": "y", "dtype": "float64", "shape": ["n"]}]})";
  const void *a_seen = nullptr;
  puppet.apply = [&](tesseract_frame *frame) {
    EXPECT_EQ(frame->inputs[1]->device.device_type, kDLCPU);
    a_seen = frame->inputs[1]->data;
    return double_on_device(frame);
  };
  component = puppet.opened();
  Doubles a = scalar(2.0);
  Leaves inputs, of;
  inputs.add("x", &x.tensor).add("a", a);
  ASSERT_TRUE(succeeds(evaluate(component, inputs, of.add("y", &y.tensor), &stream.options)));
  EXPECT_EQ(a_seen, a.values.data());
  stream.wait();
  EXPECT_EQ(y.read(), doubled);
}

TEST_F(Direct, HostArraysAloneNeedNoDriverCall) {
  puppet.apply = double_on_host;
  open();
  Doubles on_host{1.0, 2.0, 3.0}, out = zeros({3});
  fake_cuda_reset_calls();
  ASSERT_TRUE(succeeds(apply(component, on_host.tensor, &out.tensor, nullptr)));
  EXPECT_EQ(out.values, doubled);
  EXPECT_EQ(fake_cuda_calls(nullptr), 0);
}

TEST_F(Direct, ManagedMemoryIsTheDevices) {
  puppet.apply = double_on_device;
  open();
  DeviceArray managed({3}, {1.0, 2.0, 3.0}, 0, DeviceArray::Memory::managed);
  ASSERT_TRUE(succeeds(apply(component, managed.tensor, &y.tensor, &stream.options)));
  const Call call = prepared(component, x.tensor, y.tensor);
  ASSERT_TRUE(succeeds(run(call.get(), {&managed.tensor}, {&y.tensor}, &stream.options)));
  stream.wait();
  EXPECT_EQ(y.read(), doubled);
  EXPECT_EQ(statistics_of(component).device_copies, 0u);
}

TEST_F(Direct, StridesAreMadeCompactOnTheDevice) {
  puppet.apply = double_on_device;
  open();
  DeviceArray every_other({3}, {1.0, -1.0, 2.0, -1.0, 3.0, -1.0});
  DeviceArray spread({3}, {0.0, 7.0, 0.0, 7.0, 0.0, 7.0});
  int64_t step = 2;
  every_other.tensor.strides = &step;
  spread.tensor.strides = &step;
  const fake_cuda_state before = state();
  ASSERT_TRUE(succeeds(apply(component, every_other.tensor, &spread.tensor, &stream.options)));
  stream.wait();
  EXPECT_EQ(spread.read(), (std::vector<double>{2.0, 7.0, 4.0, 7.0, 6.0, 7.0}));
  EXPECT_EQ(state().copies[0], before.copies[0]);
  EXPECT_EQ(state().copies[1], before.copies[1]);
  EXPECT_EQ(statistics_of(component).layout_copies, 2u);
}

TEST_F(Direct, OffsetsCount) {
  puppet.apply = double_on_device;
  open();
  DeviceArray longer({3}, {0.0, 1.0, 2.0, 3.0});
  longer.tensor.byte_offset = sizeof(double);
  ASSERT_TRUE(succeeds(apply(component, longer.tensor, &y.tensor, &stream.options)));
  stream.wait();
  EXPECT_EQ(y.read(), doubled);
}

TEST_F(Direct, EmptyArrays) {
  puppet.apply = double_on_device;
  open();
  DeviceArray none({0}, {}), out({0}, {});
  none.tensor.data = nullptr;
  EXPECT_TRUE(succeeds(apply(component, none.tensor, &out.tensor, &stream.options)));
}

TEST_F(Direct, AStreamMustBeGiven) {
  open();
  tesseract_call_options options = TESSERACT_CALL_OPTIONS_INIT;
  EXPECT_TRUE(fails(apply(component, x.tensor, &y.tensor, &options),
                    TESSERACT_ERROR_INVALID_ARGUMENT, {"puppet", "stream"}));
  EXPECT_TRUE(fails(apply(component, x.tensor, &y.tensor, nullptr),
                    TESSERACT_ERROR_INVALID_ARGUMENT, {"stream"}));
}

TEST_F(Direct, TheDefaultStreamsAreStreams) {
  puppet.apply = double_on_device;
  open();
  for (const uint64_t handle : {1u, 2u}) {
    stream.options.stream = handle;
    ASSERT_TRUE(succeeds(apply(component, x.tensor, &y.tensor, &stream.options)));
    const Current context;
    ASSERT_EQ(cuStreamSynchronize(handle_of(handle)), 0);
    EXPECT_EQ(y.read(), doubled);
  }
}

TEST_F(Direct, ACaptureIsNotDisturbed) {
  puppet.apply = double_on_device;
  open();
  const Call call = prepared(component, x.tensor, y.tensor);
  const Current context;
  ASSERT_EQ(fake_cuda_begin_capture(handle_of(stream.handle), 0), 0);
  EXPECT_TRUE(succeeds(run(call.get(), {&x.tensor}, {&y.tensor}, &stream.options)));
  int64_t captured = 0;
  EXPECT_EQ(fake_cuda_end_capture(handle_of(stream.handle), &captured), 0);
  EXPECT_EQ(captured, 1);
}

TEST_F(Direct, WhatIsConvertedMustBeOnTheHost) {
  open();
  DLTensor single = x.tensor;
  single.dtype = {kDLFloat, 32, 1};
  EXPECT_TRUE(fails(apply(component, single, &y.tensor, &stream.options), TESSERACT_ERROR_SCHEMA,
                    {"\"x\"", "float32", "device"}));
}

TEST_F(Direct, AllTensorsAreOnOneDevice) {
  puppet.apply = double_on_device;
  open();
  DeviceArray there({3}, {0.0, 0.0, 0.0}, 1);
  EXPECT_TRUE(fails(apply(component, x.tensor, &there.tensor, &stream.options),
                    TESSERACT_ERROR_DEVICE, {"\"y\"", "CUDA device 1", "\"x\"", "CUDA device 0"}));
  const Call call = prepared(component, x.tensor, y.tensor);
  EXPECT_TRUE(fails(run(call.get(), {&x.tensor}, {&there.tensor}, &stream.options),
                    TESSERACT_ERROR_DEVICE, {"\"y\"", "CUDA device 1"}));
}

TEST_F(Direct, UnlessTheComponentSaysOtherwise) {
  puppet.apply = [](tesseract_frame *frame) {
    EXPECT_EQ(frame->outputs[0]->device.device_id, 1);
    return TESSERACT_OK;
  };
  open(R"("multi_device": true,)");
  DeviceArray there({3}, {0.0, 0.0, 0.0}, 1);
  EXPECT_TRUE(succeeds(apply(component, x.tensor, &there.tensor, &stream.options)));
}

TEST_F(Direct, ADeviceThatIsNotThere) {
  open();
  DLTensor nowhere = x.tensor;
  nowhere.device.device_id = 7;
  EXPECT_TRUE(fails(apply(component, nowhere, &y.tensor, &stream.options), TESSERACT_ERROR_DEVICE,
                    {"\"x\"", "CUDA device 7", "2"}));
  nowhere.device.device_id = -1;
  EXPECT_TRUE(fails(apply(component, nowhere, &y.tensor, &stream.options), TESSERACT_ERROR_DEVICE));
}

TEST_F(Direct, ACallPreparedForTheHostTakesNoDeviceArray) {
  puppet.apply = double_on_host;
  open();
  Doubles on_host{1.0, 2.0, 3.0}, out = zeros({3});
  const Call call = prepared(component, on_host.tensor, out.tensor);
  EXPECT_TRUE(fails(run(call.get(), {&x.tensor}, {&out.tensor}, &stream.options),
                    TESSERACT_ERROR_DEVICE, {"\"x\"", "CUDA device 0", "host"}));
}

TEST_F(Direct, DestinationsMustNotOverlapInputs) {
  open();
  EXPECT_TRUE(fails(apply(component, x.tensor, &x.tensor, &stream.options),
                    TESSERACT_ERROR_INVALID_ARGUMENT, {"overlap"}));
}

// ---- With check_pointers ------------------------------------------------------------------------

class Checked : public Direct {
 protected:
  void SetUp() override {
    Direct::SetUp();
    puppet.apply = double_on_device;
    puppet.description = description_with(on_cuda);
    tesseract_open_options options = TESSERACT_OPEN_OPTIONS_INIT;
    options.json = TESSERACT_STR("{\"check_pointers\": true}");
    auto outcome = puppet.open(&options);
    ASSERT_TRUE(succeeds(outcome));
    component = std::move(outcome.value);
  }
  void expect_refused(const DLTensor &tensor) {
    const auto outcome = apply(component, tensor, &y.tensor, &stream.options);
    EXPECT_TRUE(fails(outcome, TESSERACT_ERROR_DEVICE, {"\"x\"", "address"}));
    EXPECT_EQ(outcome.detail(TESSERACT_DETAIL_PATH), "x");
  }
};

TEST_F(Checked, WhatIsRight) {
  ASSERT_TRUE(succeeds(apply(component, x.tensor, &y.tensor, &stream.options)));
  stream.wait();
  EXPECT_EQ(y.read(), doubled);
}

TEST_F(Checked, FreedMemory) {
  DeviceArray gone({3}, {1.0, 2.0, 3.0});
  gone.free();
  expect_refused(gone.tensor);
}

TEST_F(Checked, MemoryOfAnotherDevice) {
  DeviceArray there({3}, {1.0, 2.0, 3.0}, 1);
  there.tensor.device.device_id = 0;
  expect_refused(there.tensor);
}

TEST_F(Checked, HostMemory) {
  Doubles host{1.0, 2.0, 3.0};
  host.tensor.device = {kDLCUDA, 0};
  expect_refused(host.tensor);
}

// ---- Components that are not stream-ordered -----------------------------------------------------

TEST_F(Direct, AnUnorderedComponentFindsTheStreamDone) {
  DeviceArray source{1.0, 2.0, 3.0};
  puppet.apply = [&](tesseract_frame *frame) {
    EXPECT_EQ(x.read(), doubled) << "the work before the call is done";
    return double_on_device(frame);
  };
  open(R"("stream_ordered": false,)");
  {
    const Current context;
    ASSERT_EQ(fake_cuda_launch_scale(handle_of(stream.handle), x.address, source.address, 3, 2.0),
              0);
  }
  const fake_cuda_state before = state();
  ASSERT_TRUE(succeeds(apply(component, x.tensor, &y.tensor, &stream.options)));
  EXPECT_EQ(state().host_waits - before.host_waits, 1);
}

TEST_F(Direct, AnUnorderedComponentIsNotCaptured) {
  bool called = false;
  puppet.apply = [&](tesseract_frame *) {
    called = true;
    return TESSERACT_OK;
  };
  open(R"("stream_ordered": false,)");
  const Current context;
  ASSERT_EQ(fake_cuda_begin_capture(handle_of(stream.handle), 0), 0);
  EXPECT_TRUE(fails(apply(component, x.tensor, &y.tensor, &stream.options), TESSERACT_ERROR_DEVICE,
                    {"puppet", "captured", "stream-ordered"}));
  EXPECT_FALSE(called);
  int64_t captured = 0;
  EXPECT_EQ(fake_cuda_end_capture(handle_of(stream.handle), &captured), 0) << "still valid";
}

TEST_F(Direct, CaptureSafeNeedsStreamOrder) {
  puppet.description =
      description_with(on_cuda + R"("stream_ordered": false, "capture_safe": true,)");
  EXPECT_TRUE(fails(puppet.open(), TESSERACT_ERROR_COMPONENT, {"capture_safe", "stream_ordered"}));
}

}  // namespace
