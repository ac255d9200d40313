// XLA's handlers for CUDA on the fake driver: straight through, through the host, in loops,
// captured.
#include "cuda.h"

namespace {

using namespace test;
using Values = std::vector<double>;

// Driver calls that the host makes, without those of the test's component.
class Counted {
 public:
  Counted() { fake_cuda_reset_calls(); }
  int64_t all() const { return fake_cuda_calls(nullptr) - fake_cuda_calls("cuCtxGetCurrent"); }
  static int64_t of(const char *function) { return fake_cuda_calls(function); }
};

// ---- Straight through ---------------------------------------------------------------------------

TEST_F(OnCuda, PointersStreamAndDeviceReachTheComponent) {
  DevicePuppet puppet;
  DeviceArray x{1, 2, 3}, y = on_device({3});
  const auto frame = puppet.frame(x, y);
  ASSERT_TRUE(succeeds(call(*frame)));
  ASSERT_EQ(puppet.seen.size(), 1u);
  const auto &seen = puppet.seen[0];
  EXPECT_EQ(seen.x, x.data());
  EXPECT_EQ(seen.y, y.data());
  EXPECT_EQ(seen.stream, cuda_stream);
  EXPECT_EQ(seen.device.device_type, kDLCUDA);
  EXPECT_EQ(seen.device.device_id, 0);
  EXPECT_NE(seen.context, nullptr);
  EXPECT_EQ(driver_state().pending, 1) << "nobody waited";
  EXPECT_EQ(y.values(), (Values{2, 4, 6}));
  EXPECT_EQ(statistics_of(puppet.component).device_copies, 0u);
}

TEST_F(OnCuda, TheHostAsksNothingOfTheDriver) {
  DevicePuppet puppet;
  DeviceArray x{1, 2}, y = on_device({2});
  const auto frame = puppet.frame(x, y);
  ASSERT_TRUE(succeeds(call(*frame)));
  const fake_cuda_state before = driver_state();
  const Counted calls;
  for (int i = 0; i < 3; i++) ASSERT_TRUE(succeeds(call(*frame)));
  EXPECT_EQ(calls.all(), 0) << fake_cuda_trace();
  EXPECT_EQ(driver_state().host_waits, before.host_waits);
  EXPECT_EQ(driver_state().pushes_less_pops, before.pushes_less_pops);
}

TEST_F(OnCuda, TheNullStreamIsTheLegacyDefaultOne) {
  DevicePuppet puppet;
  DeviceArray x{1}, y = on_device({1});
  cuda_stream = 0;
  ASSERT_TRUE(succeeds(call(*puppet.frame(x, y))));
  EXPECT_EQ(puppet.seen.at(0).stream, 1u);
  EXPECT_EQ(y.values(), Values{2});
}

TEST_F(OnCuda, EachDeviceHasACallOfItsOwn) {
  DevicePuppet puppet;
  void *contexts[2] = {};
  {
    DeviceArray x{1}, y = on_device({1});
    ASSERT_TRUE(succeeds(call(*puppet.frame(x, y))));
    cuCtxGetCurrent(&contexts[0]);
    EXPECT_EQ(puppet.seen.at(0).context, contexts[0]);
  }
  enter(1);
  cuCtxGetCurrent(&contexts[1]);
  cuda_stream = 2;
  {
    DeviceArray x{3}, y = on_device({1});
    ASSERT_TRUE(succeeds(call(*puppet.frame(x, y))));
    EXPECT_EQ(y.values(), Values{6});
  }
  EXPECT_EQ(puppet.seen.at(1).device.device_id, 1);
  EXPECT_EQ(puppet.seen.at(1).context, contexts[1]);
  EXPECT_NE(contexts[0], contexts[1]);
  leave();
  EXPECT_EQ(statistics_of(puppet.component).prepared, 2u);
}

TEST_F(OnCuda, EmptyArraysHaveNoPointer) {
  DevicePuppet puppet;
  DeviceArray x({0}, {}), y({0}, {});
  ASSERT_TRUE(succeeds(call(*puppet.frame(x, y))));
  EXPECT_EQ(puppet.seen.size(), 1u);
}

TEST_F(OnCuda, TheCallbacksWayPreparesForTheDevice) {
  DevicePuppet puppet;
  const std::string spec = DevicePuppet::spec;
  ASSERT_EQ(prepare(DevicePuppet::puppet_device_id, "apply", spec, 77), TESSERACT_OK);
  DeviceArray x{1, 2}, y = on_device({2});
  int64_t shape[] = {2};
  DLTensor tx = tesseract_float64(nullptr, 1, shape), ty = tx;
  tx.data = x.data();
  ty.data = y.data();
  tx.device = ty.device = {kDLCUDA, 0};
  const DLTensor *inputs[] = {&tx};
  DLTensor *outputs[] = {&ty};
  for (int i = 0; i < 2; i++) {
    char *message = nullptr;
    EXPECT_EQ(tesseract_jax_run(77, inputs, 1, outputs, 1, cuda_stream, &message), TESSERACT_OK)
        << message;
    tesseract_jax_free(message);
  }
  EXPECT_EQ(puppet.seen.at(1).stream, cuda_stream);
  EXPECT_EQ(y.values(), (Values{2, 4}));
  char *message = nullptr;
  EXPECT_EQ(tesseract_jax_run(78, inputs, 1, outputs, 1, cuda_stream, &message),
            TESSERACT_ERROR_NOT_FOUND);
  tesseract_jax_free(message);
}

// ---- Through the host ---------------------------------------------------------------------------

TEST_F(OnCuda, ComponentsForTheCpuGetCopies) {
  const Component square = component("square");
  const Added added(square_id, square);
  DeviceArray x{1, 2, 3}, a({}, {2}), y = on_device({3});
  Frame frame(square_id, "apply", square_apply);
  out(in(in(frame, x), a), y);
  for (int i = 1; i <= 2; i++) {
    const fake_cuda_state before = driver_state();
    const Counted calls;
    ASSERT_TRUE(succeeds(call(frame)));
    const fake_cuda_state after = driver_state();
    EXPECT_EQ(after.copies[1] - before.copies[1], 2) << "one for each input";
    EXPECT_EQ(after.copies[0] - before.copies[0], 1) << "one for each result";
    EXPECT_EQ(calls.of("cuStreamSynchronize"), 1);
    EXPECT_EQ(y.values(), (Values{2, 8, 18}));
    EXPECT_EQ(statistics_of(square).device_copies, static_cast<uint64_t>(3 * i));
  }
}

TEST_F(OnCuda, StagedCallsGetCopiesWhateverTheComponentTakes) {
  DevicePuppet puppet;
  DeviceArray x{1, 2, 3}, y = on_device({3});
  const auto staged = puppet.frame(x, y, R"("staged":true,)");
  const auto direct = puppet.frame(x, y, R"("staged":false,)");
  for (int i = 1; i <= 2; i++) {
    ASSERT_TRUE(succeeds(call(*staged)));
    EXPECT_EQ(puppet.seen.back().device.device_type, kDLCPU);
    EXPECT_EQ(y.values(), (Values{2, 4, 6}));
    ASSERT_TRUE(succeeds(call(*direct)));
    EXPECT_EQ(puppet.seen.back().x, x.data());
    EXPECT_EQ(statistics_of(puppet.component).device_copies, static_cast<uint64_t>(2 * i));
  }
}

TEST_F(OnCuda, DerivativesGetCopiesToo) {
  const Component square = component("square");
  const Added added(square_id, square);
  DeviceArray x{1, 2}, a({}, {2}), dy{1, 10}, dx = on_device({2}), da = on_device({});
  Frame frame(square_id, "vjp", square_vjp);
  out(out(in(in(in(frame, x), a), dy), dx), da);
  ASSERT_TRUE(succeeds(call(frame)));
  EXPECT_EQ(dx.values(), (Values{4, 80}));
  EXPECT_EQ(da.values(), Values{41});
}

TEST_F(OnCuda, WhatAComponentRaisesIsTheProgramsError) {
  const Component square = component("square");
  const Added added(square_id, square);
  DeviceArray x{1}, a({}, {-1}), y = on_device({1});
  Frame frame(square_id, "apply", square_apply);
  out(in(in(frame, x), a), y);
  EXPECT_TRUE(fails(call(frame), XLA_INVALID_ARGUMENT, {"square", "a is negative"}));
}

// ---- Loops --------------------------------------------------------------------------------------

TEST_F(OnCuda, ALoopMovesPointersOfTheDevice) {
  DevicePuppet puppet;
  DeviceArray x({2, 2}, {1, 2, 3, 4}), y = on_device({3, 2, 2});
  const auto frame = puppet.frame(x, y, R"("batch":[[0],[1]],)");
  ASSERT_TRUE(succeeds(call(*frame)));
  ASSERT_EQ(puppet.seen.size(), 6u);
  for (size_t i = 0; i < 6; i++) {
    EXPECT_EQ(puppet.seen[i].x, static_cast<double *>(x.data()) + 2 * (i % 2));
    EXPECT_EQ(puppet.seen[i].y, static_cast<double *>(y.data()) + 2 * i);
    EXPECT_EQ(puppet.seen[i].stream, cuda_stream);
  }
  EXPECT_EQ(y.values(), (Values{2, 4, 6, 8, 2, 4, 6, 8, 2, 4, 6, 8}));
  const Counted calls;
  ASSERT_TRUE(succeeds(call(*frame)));
  EXPECT_EQ(calls.all(), 0) << fake_cuda_trace();
}

TEST_F(OnCuda, ALoopThroughTheHost) {
  const Component square = component("square");
  const Added added(square_id, square);
  DeviceArray x({2, 2}, {1, 2, 3, 4}), a({}, {2}), y = on_device({2, 2});
  Frame frame(square_id, "apply", std::string(square_apply).insert(1, R"("batch":[[1,0]],)"));
  out(in(in(frame, x), a), y);
  ASSERT_TRUE(succeeds(call(frame)));
  EXPECT_EQ(y.values(), (Values{2, 8, 18, 32}));
}

// ---- Graphs -------------------------------------------------------------------------------------

uint32_t traits_of(xla_error *(*handler)(xla_frame *)) {
  xla_metadata metadata{};
  metadata.size = sizeof metadata;
  metadata.traits = 99;
  xla_metadata_extension extension = {{sizeof extension, XLA_EXTENSION_METADATA, nullptr},
                                      &metadata};
  xla_frame frame{};
  frame.size = sizeof frame;
  frame.extensions = &extension.base;
  EXPECT_EQ(handler(&frame), nullptr);
  EXPECT_EQ(metadata.version.minor, 1);
  return metadata.traits;
}

TEST(OfHandlers, OneMayBeCaptured) {
  EXPECT_EQ(traits_of(tesseract_jax_cpu), 0u);
  EXPECT_EQ(traits_of(tesseract_jax_cuda), 0u);
  EXPECT_EQ(traits_of(tesseract_jax_cuda_captured), XLA_TRAIT_CAPTURED);
}

TEST_F(OnCuda, WhatIsCapturedIsReplayedWithoutACall) {
  DevicePuppet puppet(R"("capture_safe": true,)");
  DeviceArray x({2, 1}, {1, 2}), y = on_device({2, 1});
  const auto frame = puppet.frame(x, y, R"("batch":[[1]],)");
  // The first call of all is as good a one to be captured.
  for (const double factor : {1.0, 5.0}) {
    puppet.seen.clear();
    ASSERT_EQ(fake_cuda_begin_capture(stream, 0), 0);
    ASSERT_TRUE(succeeds(call(*frame, true)));
    int64_t captured = 0;
    ASSERT_EQ(fake_cuda_end_capture(stream, &captured), 0);
    EXPECT_EQ(captured, 2);
    const Values values{factor, 10 * factor};
    ASSERT_EQ(fake_cuda_write(x.pointer, values.data(), sizeof(double) * 2), 0);
    ASSERT_EQ(fake_cuda_replay(stream), 0);
    EXPECT_EQ(y.values(), (Values{2 * factor, 20 * factor}));
    EXPECT_EQ(puppet.seen.size(), 2u);
  }
}

TEST_F(OnCuda, WhatWaitsIsRefusedWhileCaptured) {
  const Component square = component("square");
  const Added added(square_id, square);
  DevicePuppet waits(R"("stream_ordered": false,)");
  DeviceArray x{1, 2}, a({}, {2}), y = on_device({2});
  Frame staged(square_id, "apply", square_apply);
  out(in(in(staged, x), a), y);
  const auto synchronised = waits.frame(x, y);
  for (Frame *frame : {&staged, synchronised.get()}) {
    ASSERT_EQ(fake_cuda_begin_capture(stream, 0), 0);
    EXPECT_TRUE(fails(call(*frame, true), XLA_UNIMPLEMENTED, {"captured into a graph"}));
    int64_t captured = -1;
    EXPECT_EQ(fake_cuda_end_capture(stream, &captured), 0) << "the graph is what it was";
    EXPECT_EQ(captured, 0);
    EXPECT_TRUE(succeeds(call(*frame))) << "and it works without";
  }
  EXPECT_EQ(waits.seen.size(), 1u);
}

TEST_F(OnCuda, ComponentsThatAreNotStreamOrderedFindTheirInputsReady) {
  DevicePuppet puppet(R"("stream_ordered": false,)");
  DeviceArray x{0, 0}, y = on_device({2}), from{1, 2};
  const auto frame = puppet.frame(x, y);
  ASSERT_TRUE(succeeds(call(*frame)));
  EXPECT_EQ(fake_cuda_launch_scale(stream, x.pointer, from.pointer, 2, 1.0), 0);
  const Counted calls;
  ASSERT_TRUE(succeeds(call(*frame)));
  EXPECT_EQ(calls.of("cuStreamSynchronize"), 1);
  EXPECT_EQ(y.values(), (Values{2, 4}));
}

// ---- What can't be ------------------------------------------------------------------------------

TEST_F(OnCuda, ADeviceThatIsNotThere) {
  DevicePuppet puppet;
  DeviceArray x{1}, y = on_device({1});
  const auto frame = puppet.frame(x, y);
  for (const int32_t ordinal : {7, -1}) {
    cuda_ordinal = ordinal;
    EXPECT_TRUE(
        fails(call(*frame), XLA_UNIMPLEMENTED, {"puppet", std::to_string(ordinal), "there are 2"}));
  }
  cuda_ordinal = 0;
  EXPECT_TRUE(succeeds(call(*frame)));
}

TEST_F(OnCuda, NothingIsConvertedThere) {
  DevicePuppet puppet;
  DeviceArray x{1}, y = on_device({1});
  Frame frame(DevicePuppet::puppet_device_id, "apply",
              R"({"inputs":["x"],"of":["y"],"operands":["float32:1"],"results":["float64:1"]})");
  frame.in(XLA_F32, x.data(), {1});
  out(frame, y);
  EXPECT_TRUE(fails(call(frame), XLA_INVALID_ARGUMENT, {"\"x\"", "float32", "not converted"}));
}

TEST_F(OnCuda, EachFailingDriverCallIsTheProgramsError) {
  constexpr int32_t unknown = 999;
  const Component square = component("square");
  const Added added(square_id, square);
  DeviceArray x{1, 2}, a({}, {2}), y = on_device({2});
  Frame frame(square_id, "apply", square_apply);
  out(in(in(frame, x), a), y);
  ASSERT_TRUE(succeeds(call(frame)));
  fake_cuda_pump_all();
  const fake_cuda_state before = driver_state();
  int failures = 0;
  for (int64_t n = 1;; n++) {
    fake_cuda_fail_nth(n, unknown);
    const auto error = call(frame);
    const bool failed = fake_cuda_failed() > 0;
    fake_cuda_fail_nth(0, 0);
    fake_cuda_pump_all();
    if (!failed) {
      EXPECT_TRUE(succeeds(error));
      break;
    }
    if (error) {
      EXPECT_TRUE(fails(error, XLA_UNIMPLEMENTED, {"square"}));
      failures++;
    }
    EXPECT_EQ(driver_state().context_depth, before.context_depth);
    fake_cuda_clear();
    ASSERT_LT(n, 100);
  }
  EXPECT_GE(failures, 4) << "copies, the wait, asking for a capture";
  EXPECT_TRUE(succeeds(call(frame)));
  EXPECT_EQ(y.values(), (Values{2, 8}));
}

}  // namespace
