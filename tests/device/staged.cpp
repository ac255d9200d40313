// Components that take no device tensors: arrays go through the host, once each way.
#include <thread>

#include "support.h"

namespace {

using namespace test;

class Staged : public DeviceTest {
 protected:
  Puppet puppet;
  Component component;
  DeviceArray x{1.0, 2.0, 3.0}, y{0.0, 0.0, 0.0};
  Stream stream;

  void SetUp() override {
    DeviceTest::SetUp();
    puppet.apply = double_on_host;
    puppet.description = description_with("");
    component = puppet.opened();
  }
};

TEST_F(Staged, TheComponentGetsHostArrays) {
  puppet.apply = [](tesseract_frame *frame) {
    EXPECT_EQ(frame->inputs[0]->device.device_type, kDLCPU);
    EXPECT_EQ(frame->outputs[0]->device.device_type, kDLCPU);
    EXPECT_EQ(frame->signature->inputs->items[0].tensor->device.device_type, kDLCPU);
    EXPECT_EQ(frame->stream, 0u);
    return double_on_host(frame);
  };
  ASSERT_TRUE(succeeds(apply(component, x.tensor, &y.tensor, &stream.options)));
  stream.wait();
  EXPECT_EQ(y.read(), doubled);
}

TEST_F(Staged, OneCopyPerArrayAndDirectionAndOneWaitAreCounted) {
  const Call call = prepared(component, x.tensor, y.tensor);
  ASSERT_TRUE(succeeds(run(call.get(), {&x.tensor}, {&y.tensor}, &stream.options)));
  const fake_cuda_state before = state();
  const tesseract_statistics counted = statistics_of(component);
  ASSERT_TRUE(succeeds(run(call.get(), {&x.tensor}, {&y.tensor}, &stream.options)));
  EXPECT_EQ(state().copies[0] - before.copies[0], 1);
  EXPECT_EQ(state().copies[1] - before.copies[1], 1);
  EXPECT_EQ(state().host_waits - before.host_waits, 1);
  EXPECT_EQ(statistics_of(component).device_copies - counted.device_copies, 2u);
  EXPECT_EQ(statistics_of(component).device_bytes - counted.device_bytes, 2 * 24u);
}

TEST_F(Staged, PageLockedMemoryIsUsedAgain) {
  const Call call = prepared(component, x.tensor, y.tensor);
  ASSERT_TRUE(succeeds(run(call.get(), {&x.tensor}, {&y.tensor}, &stream.options)));
  stream.wait();
  const int64_t blocks = state().host_allocations;
  for (int i = 0; i < 20; i++) {
    ASSERT_TRUE(succeeds(run(call.get(), {&x.tensor}, {&y.tensor}, &stream.options)));
    stream.wait();
  }
  EXPECT_EQ(state().host_allocations, blocks);
}

TEST_F(Staged, WorkBeforeTheCallIsSeenAndWorkAfterItSeesTheResult) {
  DeviceArray source{0.5, 1.0, 1.5}, last{0.0, 0.0, 0.0};
  const Call call = prepared(component, x.tensor, y.tensor);
  {
    const Current context;
    ASSERT_EQ(fake_cuda_launch_scale(handle_of(stream.handle), x.address, source.address, 3, 2.0),
              0);
    ASSERT_TRUE(succeeds(run(call.get(), {&x.tensor}, {&y.tensor}, &stream.options)));
    ASSERT_EQ(fake_cuda_launch_scale(handle_of(stream.handle), last.address, y.address, 3, 1.0), 0);
  }
  stream.wait();
  EXPECT_EQ(last.read(), doubled);
}

TEST_F(Staged, ManyCallsInFlightDontShareMemory) {
  std::vector<std::unique_ptr<DeviceArray>> outs;
  const Call call = prepared(component, x.tensor, y.tensor);
  for (int i = 0; i < 8; i++) {
    const std::vector<double> values{1.0 * i, 2.0 * i, 3.0 * i};
    ASSERT_EQ(fake_cuda_write(x.address, values.data(), 24), 0);
    outs.push_back(
        std::make_unique<DeviceArray>(std::vector<int64_t>{3}, std::vector<double>{0.0, 0.0, 0.0}));
    ASSERT_TRUE(succeeds(run(call.get(), {&x.tensor}, {&outs.back()->tensor}, &stream.options)));
  }
  stream.wait();
  for (int i = 0; i < 8; i++)
    EXPECT_EQ(outs[static_cast<size_t>(i)]->read(),
              (std::vector<double>{2.0 * i, 4.0 * i, 6.0 * i}));
}

TEST_F(Staged, AFlagOfTheSignatureStagesForAnyComponent) {
  puppet.description = description_with(on_cuda);
  component = puppet.opened();
  const Call call = prepared(component, x.tensor, y.tensor, TESSERACT_STAGED);
  ASSERT_TRUE(succeeds(run(call.get(), {&x.tensor}, {&y.tensor}, &stream.options)));
  stream.wait();
  EXPECT_EQ(y.read(), doubled);
  EXPECT_EQ(statistics_of(component).device_copies, 2u);
}

TEST_F(Staged, OnlyWhatIsOnADeviceIsCopied) {
  Doubles out = zeros({3});
  ASSERT_TRUE(succeeds(apply(component, x.tensor, &out.tensor, &stream.options)));
  EXPECT_EQ(out.values, doubled);
  EXPECT_EQ(statistics_of(component).device_copies, 1u);
  Doubles in{1.0, 2.0, 3.0};
  ASSERT_TRUE(succeeds(apply(component, in.tensor, &y.tensor, &stream.options)));
  stream.wait();
  EXPECT_EQ(y.read(), doubled);
}

TEST_F(Staged, ResultsWithoutDestinationGoWhereTheyAreWanted) {
  const Call call = prepared(component, x.tensor, y.tensor);
  const auto outcome = run_for_result(call.get(), {&x.tensor}, {nullptr}, &stream.options);
  ASSERT_TRUE(succeeds(outcome));
  const DLTensor *made = tesseract_result_tensor(outcome.get(), 0);
  EXPECT_EQ(made->device.device_type, kDLCUDA);
  stream.wait();
  EXPECT_EQ(read_device(*made), doubled);
}

TEST_F(Staged, ResultsNobodyPlacesAreOnTheHost) {
  Leaves inputs;
  const auto outcome = evaluate(component, inputs.add("x", &x.tensor), nullptr, &stream.options);
  ASSERT_TRUE(succeeds(outcome));
  EXPECT_EQ(tesseract_result_tensor(outcome.get(), 0)->device.device_type, kDLCPU);
  EXPECT_EQ(values_of(outcome), doubled);
}

TEST_F(Staged, ADestinationIsDescribedWhereItIs) {
  const Call call = prepared(component, x.tensor, y.tensor);
  const auto outcome = run_for_result(call.get(), {&x.tensor}, {&y.tensor}, &stream.options);
  ASSERT_TRUE(succeeds(outcome));
  const DLTensor *made = tesseract_result_tensor(outcome.get(), 0);
  EXPECT_EQ(made->data, y.tensor.data);
  EXPECT_EQ(made->device.device_type, kDLCUDA);
}

TEST_F(Staged, StridesAndOffsets) {
  DeviceArray wide({3}, {9.0, 1.0, -1.0, 2.0, -1.0, 3.0});
  DeviceArray spread({3}, {7.0, 0.0, 7.0, 0.0, 7.0, 0.0, 7.0});
  int64_t step = 2;
  for (DLTensor *tensor : {&wide.tensor, &spread.tensor}) {
    tensor->strides = &step;
    tensor->byte_offset = sizeof(double);
  }
  ASSERT_TRUE(succeeds(apply(component, wide.tensor, &spread.tensor, &stream.options)));
  stream.wait();
  EXPECT_EQ(spread.read(), (std::vector<double>{7.0, 2.0, 7.0, 4.0, 7.0, 6.0, 7.0}));
}

TEST_F(Staged, BackwardStrides) {
  DeviceArray backwards({3}, {3.0, 2.0, 1.0});
  DeviceArray reversed({3}, {0.0, 0.0, 0.0});
  int64_t step = -1;
  for (DLTensor *tensor : {&backwards.tensor, &reversed.tensor}) {
    tensor->strides = &step;
    tensor->byte_offset = 2 * sizeof(double);
  }
  ASSERT_TRUE(succeeds(apply(component, backwards.tensor, &reversed.tensor, &stream.options)));
  stream.wait();
  EXPECT_EQ(reversed.read(), (std::vector<double>{6.0, 4.0, 2.0}));
}

TEST_F(Staged, DtypesAreConverted) {
  const Current context;
  DeviceArray memory({3}, {0.0, 0.0});
  const float values[] = {1.0f, 2.0f, 3.0f};
  ASSERT_EQ(fake_cuda_write(memory.address, values, sizeof values), 0);
  memory.tensor.dtype = {kDLFloat, 32, 1};
  ASSERT_TRUE(succeeds(apply(component, memory.tensor, &y.tensor, &stream.options)));
  stream.wait();
  EXPECT_EQ(y.read(), doubled);
}

TEST_F(Staged, EmptyArrays) {
  DeviceArray none({0}, {}), out({0}, {});
  none.tensor.data = nullptr;
  EXPECT_TRUE(succeeds(apply(component, none.tensor, &out.tensor, &stream.options)));
}

const std::vector<double> twice_the_identity{2, 0, 0, 0, 2, 0, 0, 0, 2};

TEST_F(Staged, DerivativesAndWhatIsDerivedFromThem) {
  puppet.offer(&tesseract_plugin_table::vjp);
  puppet.derivative = [](tesseract_frame *frame) {
    const DLTensor *seed = frame->seeds[0];
    for (int64_t i = 0; i < seed->shape[0]; i++)
      static_cast<double *>(frame->outputs[0]->data)[i] =
          2 * static_cast<const double *>(seed->data)[i];
    return TESSERACT_OK;
  };
  component = puppet.opened();
  DeviceArray cotangent{1.0, 10.0, 100.0};
  Leaves inputs, cotangents, wrt;
  inputs.add("x", &x.tensor);
  ASSERT_TRUE(succeeds(vjp(component, inputs, cotangents.add("y", &cotangent.tensor),
                           wrt.add("x", &y.tensor), &stream.options)));
  stream.wait();
  EXPECT_EQ(y.read(), (std::vector<double>{2.0, 20.0, 200.0}));
  const auto matrix = jacobian(component, inputs, nullptr, nullptr, &stream.options);
  ASSERT_TRUE(succeeds(matrix));
  EXPECT_EQ(values_of(matrix), twice_the_identity);
}

TEST_F(Staged, AJacobianIsWhereItsDestinationIs) {
  puppet.offer(&tesseract_plugin_table::jacobian);
  puppet.derivative = [](tesseract_frame *frame) {
    EXPECT_EQ(frame->outputs[0]->device.device_type, kDLCPU);
    std::copy_n(twice_the_identity.data(), 9, static_cast<double *>(frame->outputs[0]->data));
    return TESSERACT_OK;
  };
  component = puppet.opened();
  Leaves inputs;
  inputs.add("x", &x.tensor);
  const auto call =
      prepare(component, signature(TESSERACT_ENDPOINT_JACOBIAN, inputs, nullptr, nullptr));
  ASSERT_TRUE(succeeds(call));
  DeviceArray there({3, 3}, std::vector<double>(9, 0.0));
  ASSERT_TRUE(succeeds(run(call.get(), {&x.tensor}, {&there.tensor}, &stream.options)));
  stream.wait();
  EXPECT_EQ(there.read(), twice_the_identity);
  Doubles here = zeros({3, 3});
  ASSERT_TRUE(succeeds(run(call.get(), {&x.tensor}, {&here.tensor}, &stream.options)));
  EXPECT_EQ(here.values, twice_the_identity);
  DeviceArray elsewhere({3, 3}, std::vector<double>(9, 0.0), 1);
  EXPECT_TRUE(fails(run(call.get(), {&x.tensor}, {&elsewhere.tensor}, &stream.options),
                    TESSERACT_ERROR_DEVICE, {"\"y\"", "CUDA device 1"}));
}

TEST_F(Staged, DerivedEndpointsGoThroughTheHost) {
  puppet.description = description_with(on_cuda);
  puppet.offer(&tesseract_plugin_table::jvp);
  puppet.derivative = [](tesseract_frame *frame) {
    EXPECT_EQ(frame->seeds[0]->device.device_type, kDLCPU);
    const DLTensor *seed = frame->seeds[0];
    for (int64_t i = 0; i < seed->shape[0]; i++)
      static_cast<double *>(frame->outputs[0]->data)[i] =
          2 * static_cast<const double *>(seed->data)[i];
    return TESSERACT_OK;
  };
  component = puppet.opened();
  Leaves inputs;
  const auto matrix =
      jacobian(component, inputs.add("x", &x.tensor), nullptr, nullptr, &stream.options);
  ASSERT_TRUE(succeeds(matrix));
  // Where results of the endpoints are that it has.
  const DLTensor *found = tesseract_result_tensor(matrix.get(), 0);
  ASSERT_EQ(found->device.device_type, kDLCUDA);
  stream.wait();
  EXPECT_EQ(read_device(*found), twice_the_identity);
  stream.options.flags = TESSERACT_NO_COPY;
  EXPECT_TRUE(fails(jacobian(component, inputs, nullptr, nullptr, &stream.options),
                    TESSERACT_ERROR_DEVICE, {"\"x\"", "derived", "forbidden"}));
}

TEST_F(Staged, AbstractEvalReadsNothing) {
  Leaves inputs;
  const auto outcome = abstract_eval(component, inputs.add("x", &x.tensor));
  ASSERT_TRUE(succeeds(outcome));
  EXPECT_EQ(shape_of(tesseract_result_tensor(outcome.get(), 0)), x.shape);
}

// ---- Refused ------------------------------------------------------------------------------------

TEST_F(Staged, CopiesCanBeForbidden) {
  Leaves inputs;
  inputs.add("x", &x.tensor);
  const auto refused = prepare(component, apply_signature(inputs, nullptr, TESSERACT_NO_COPY));
  EXPECT_TRUE(fails(refused, TESSERACT_ERROR_DEVICE, {"\"x\"", "CUDA device 0", "forbidden"}));
  EXPECT_EQ(refused.detail(TESSERACT_DETAIL_PATH), "x");
  stream.options.flags = TESSERACT_NO_COPY;
  const auto outcome = apply(component, x.tensor, &y.tensor, &stream.options);
  EXPECT_TRUE(fails(outcome, TESSERACT_ERROR_DEVICE, {"\"x\"", "CUDA device 0", "forbidden"}));
  EXPECT_EQ(statistics_of(component).device_copies, 0u);
}

TEST_F(Staged, AStreamMustBeGiven) {
  EXPECT_TRUE(fails(apply(component, x.tensor, &y.tensor, nullptr),
                    TESSERACT_ERROR_INVALID_ARGUMENT, {"stream"}));
}

TEST_F(Staged, ACapturingStreamIsRefusedAndStaysValid) {
  const Current context;
  ASSERT_EQ(fake_cuda_begin_capture(handle_of(stream.handle), 0), 0);
  EXPECT_TRUE(fails(apply(component, x.tensor, &y.tensor, &stream.options), TESSERACT_ERROR_DEVICE,
                    {"captured"}));
  int64_t captured = 0;
  EXPECT_EQ(fake_cuda_end_capture(handle_of(stream.handle), &captured), 0);
  EXPECT_EQ(captured, 0);
}

TEST_F(Staged, ACaptureOfAnotherThreadIsNotDisturbed) {
  Stream captured_stream;
  int64_t captured = 0;
  const Current context;
  ASSERT_EQ(fake_cuda_begin_capture(handle_of(captured_stream.handle), 0), 0);
  std::thread([&] {
    for (int i = 0; i < 3; i++)
      EXPECT_TRUE(succeeds(apply(component, x.tensor, &y.tensor, &stream.options)));
  }).join();
  EXPECT_EQ(fake_cuda_end_capture(handle_of(captured_stream.handle), &captured), 0);
}

TEST_F(Staged, FreedMemory) {
  DeviceArray gone({3}, {1.0, 2.0, 3.0});
  gone.free();
  EXPECT_TRUE(fails(apply(component, gone.tensor, &y.tensor, &stream.options),
                    TESSERACT_ERROR_DEVICE, {"\"x\"", "address"}));
  EXPECT_TRUE(fails(apply(component, x.tensor, &gone.tensor, &stream.options),
                    TESSERACT_ERROR_DEVICE, {"\"y\"", "address"}));
}

TEST_F(Staged, MemoryOfAnotherDevice) {
  DeviceArray there({3}, {1.0, 2.0, 3.0}, 1);
  there.tensor.device.device_id = 0;
  EXPECT_TRUE(fails(apply(component, there.tensor, &y.tensor, &stream.options),
                    TESSERACT_ERROR_DEVICE, {"\"x\"", "address"}));
}

TEST_F(Staged, TheSecondDevice) {
  DeviceArray in({3}, {1.0, 2.0, 3.0}, 1), out({3}, {0.0, 0.0, 0.0}, 1);
  Stream second(1);
  ASSERT_TRUE(succeeds(apply(component, in.tensor, &out.tensor, &second.options)));
  second.wait();
  EXPECT_EQ(out.read(), doubled);
}

TEST_F(Staged, DestinationsMustNotOverlapInputs) {
  EXPECT_TRUE(fails(apply(component, x.tensor, &x.tensor, &stream.options),
                    TESSERACT_ERROR_INVALID_ARGUMENT, {"\"y\"", "overlap", "\"x\""}));
}

TEST_F(Staged, WrongShapesAreToldAsOnTheHost) {
  DeviceArray longer{0.0, 0.0, 0.0, 0.0};
  EXPECT_TRUE(fails(apply(component, x.tensor, &longer.tensor, &stream.options),
                    TESSERACT_ERROR_SCHEMA, {"y", "(3,)", "(4,)"}));
}

TEST_F(Staged, WhatTheComponentSaysIsPassedOn) {
  puppet.apply = [](tesseract_frame *frame) {
    return tesseract_fail(frame, TESSERACT_ERROR_OUT_OF_DOMAIN, "x", "too large");
  };
  EXPECT_TRUE(fails(apply(component, x.tensor, &y.tensor, &stream.options),
                    TESSERACT_ERROR_OUT_OF_DOMAIN, {"too large"}));
}

}  // namespace
