// Work of the fake driver: when it is done, and what is found where nothing orders it.
#include <atomic>
#include <thread>

#include "support.h"

namespace {

using Order = FakeCuda;

TEST_F(Order, WorkIsDoneWhenATestPumps) {
  void *stream = new_stream();
  const Pointer from = doubles({1, 2}), to = device_memory(16);
  EXPECT_EQ(fake_cuda_launch_scale(stream, to, from, 2, 3), SUCCESS);
  EXPECT_EQ(state().pending, 1);
  const auto before = values_at(to, 2);
  EXPECT_TRUE(poisoned(before.data(), 16));
  EXPECT_EQ(cuStreamQuery(stream), NOT_READY);
  EXPECT_EQ(fake_cuda_pump(stream, -1), 1);
  EXPECT_EQ(values_at(to, 2), (std::vector<double>{3, 6}));
  EXPECT_EQ(cuStreamQuery(stream), SUCCESS);
}

TEST_F(Order, EagerWorkIsDoneAtOnce) {
  fake_cuda_set("mode", 0);
  const Pointer from = doubles({1, 2}), to = device_memory(16);
  EXPECT_EQ(fake_cuda_launch_scale(new_stream(), to, from, 2, 3), SUCCESS);
  EXPECT_EQ(values_at(to, 2), (std::vector<double>{3, 6}));
}

TEST_F(Order, CopiedMemoryIsPoisonUntilTheCopyIsDone) {
  void *stream = new_stream();
  double *host = host_memory<double>(2);
  host[0] = host[1] = 7;
  const Pointer device = doubles({1, 2});
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(host, device, 16, stream), SUCCESS);
  EXPECT_TRUE(poisoned(host, 16));
  EXPECT_EQ(cuStreamSynchronize(stream), SUCCESS);
  EXPECT_EQ(host[1], 2);
  EXPECT_EQ(state().copies[1], 1);
  EXPECT_EQ(state().copied_bytes[1], 16);
}

TEST_F(Order, PoisonSparesWhatEarlierWorkReads) {
  void *stream = new_stream();
  double *host = host_memory<double>(2);
  host[0] = 7, host[1] = 8;
  const Pointer device = device_memory(16);
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(device, host, 16, stream), SUCCESS);
  EXPECT_EQ(fake_cuda_launch_scale(stream, device, device, 2, 2), SUCCESS);
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(host, device, 16, stream), SUCCESS);
  EXPECT_EQ(fake_cuda_pump(stream, 1), 1);
  EXPECT_TRUE(poisoned(host, 16));
  EXPECT_EQ(cuStreamSynchronize(stream), SUCCESS);
  EXPECT_EQ(host[0], 14);
  EXPECT_EQ(host[1], 16);
}

TEST_F(Order, AWaitHoldsAStreamBack) {
  void *one = new_stream(), *other = new_stream(), *event = new_event();
  const Pointer from = doubles({1}), between = device_memory(8), to = device_memory(8);
  EXPECT_EQ(fake_cuda_launch_scale(one, between, from, 1, 2), SUCCESS);
  EXPECT_EQ(cuEventRecord(event, one), SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(other, event, 0), SUCCESS);
  EXPECT_EQ(fake_cuda_launch_scale(other, to, between, 1, 2), SUCCESS);
  EXPECT_EQ(fake_cuda_pump(other, -1), 0);
  EXPECT_EQ(cuEventQuery(event), NOT_READY);
  EXPECT_EQ(cuStreamSynchronize(other), SUCCESS);
  EXPECT_EQ(cuEventQuery(event), SUCCESS);
  EXPECT_EQ(values_at(to, 1)[0], 4);
}

TEST_F(Order, AMissingWaitIsARace) {
  void *one = new_stream(), *other = new_stream();
  const Pointer from = doubles({1}), between = device_memory(8), to = device_memory(8);
  EXPECT_EQ(fake_cuda_launch_scale(one, between, from, 1, 2), SUCCESS);
  EXPECT_EQ(fake_cuda_launch_scale(other, to, between, 1, 2), SUCCESS);
  expect_fault("race");
}

TEST_F(Order, AMissingWaitIsARaceInAnyMode) {
  for (const int mode : {0, 1}) {
    fake_cuda_set("mode", mode);
    void *one = new_stream(), *other = new_stream();
    const Pointer between = device_memory(8);
    double *host = host_memory<double>(1);
    EXPECT_EQ(fake_cuda_launch_scale(one, between, doubles({1}), 1, 2), SUCCESS);
    EXPECT_EQ(cuMemcpyDtoHAsync_v2(host, between, 8, other), SUCCESS);
    expect_fault("race");
  }
}

TEST_F(Order, OverwritingWhatIsStillReadIsARace) {
  void *one = new_stream(), *other = new_stream();
  const Pointer memory = doubles({1});
  EXPECT_EQ(fake_cuda_launch_scale(one, device_memory(8), memory, 1, 2), SUCCESS);
  EXPECT_EQ(fake_cuda_launch_scale(other, device_memory(8), memory, 1, 2), SUCCESS);  // two readers
  EXPECT_EQ(fake_cuda_faults(), 0);
  EXPECT_EQ(fake_cuda_launch_scale(other, memory, doubles({5}), 1, 2), SUCCESS);
  expect_fault("race");
}

TEST_F(Order, AnEventRecordedTooEarlyOrdersNothing) {
  void *one = new_stream(), *other = new_stream(), *event = new_event();
  const Pointer between = device_memory(8);
  EXPECT_EQ(cuEventRecord(event, one), SUCCESS);
  EXPECT_EQ(fake_cuda_launch_scale(one, between, doubles({1}), 1, 2), SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(other, event, 0), SUCCESS);
  EXPECT_EQ(fake_cuda_launch_scale(other, device_memory(8), between, 1, 2), SUCCESS);
  expect_fault("race");
}

TEST_F(Order, TheCpuOrdersWhatItWaitedFor) {
  void *one = new_stream(), *other = new_stream(), *event = new_event();
  const Pointer between = device_memory(8);
  const auto produce = [&] {
    EXPECT_EQ(fake_cuda_launch_scale(one, between, doubles({1}), 1, 2), SUCCESS);
  };
  const auto consume = [&] {
    EXPECT_EQ(fake_cuda_launch_scale(other, device_memory(8), between, 1, 2), SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(other), SUCCESS);
  };
  produce();
  EXPECT_EQ(cuStreamSynchronize(one), SUCCESS);
  consume();
  produce();
  EXPECT_EQ(cuCtxSynchronize(), SUCCESS);
  consume();
  produce();
  EXPECT_EQ(cuEventRecord(event, one), SUCCESS);
  EXPECT_EQ(cuEventSynchronize(event), SUCCESS);
  consume();
  EXPECT_EQ(state().host_waits, 6);
  produce();
  fake_cuda_pump_all();  // done, but nobody may know
  consume();
  expect_fault("race");
}

TEST_F(Order, NeighboursDontRace) {
  void *one = new_stream(), *other = new_stream();
  const Pointer memory = device_memory(16);
  EXPECT_EQ(fake_cuda_launch_scale(one, memory, doubles({1}), 1, 2), SUCCESS);
  EXPECT_EQ(fake_cuda_launch_scale(other, memory + 8, doubles({1}), 1, 2), SUCCESS);
}

TEST_F(Order, TheLegacyStreamWaitsForBlockingStreamsAndTheyForIt) {
  void *blocking = new_stream(), *own = reinterpret_cast<void *>(2);
  const Pointer first = device_memory(8), second = device_memory(8), third = device_memory(8);
  EXPECT_EQ(fake_cuda_launch_scale(blocking, first, doubles({1}), 1, 2), SUCCESS);
  EXPECT_EQ(fake_cuda_launch_scale(nullptr, second, first, 1, 2), SUCCESS);
  EXPECT_EQ(fake_cuda_launch_scale(own, third, second, 1, 2), SUCCESS);
  EXPECT_EQ(fake_cuda_pump(own, -1), 0);
  EXPECT_EQ(fake_cuda_pump(nullptr, -1), 0);
  EXPECT_EQ(cuStreamSynchronize(own), SUCCESS);
  EXPECT_EQ(values_at(third, 1)[0], 8);
}

TEST_F(Order, NonBlockingStreamsDontWaitForTheLegacyStream) {
  void *stream = new_stream(false);
  const Pointer memory = device_memory(8);
  EXPECT_EQ(fake_cuda_launch_scale(reinterpret_cast<void *>(1), memory, doubles({1}), 1, 2),
            SUCCESS);
  EXPECT_EQ(fake_cuda_launch_scale(stream, device_memory(8), memory, 1, 2), SUCCESS);
  expect_fault("race");
}

TEST_F(Order, EachThreadHasADefaultStreamOfItsOwn) {
  const Pointer memory = device_memory(8);
  void *own = reinterpret_cast<void *>(2);
  EXPECT_EQ(fake_cuda_launch_scale(own, memory, doubles({1}), 1, 2), SUCCESS);
  std::thread([&] {
    EXPECT_EQ(cuCtxPushCurrent_v2(context), SUCCESS);
    EXPECT_EQ(fake_cuda_launch_scale(own, device_memory(8), memory, 1, 2), SUCCESS);
    EXPECT_EQ(cuCtxPopCurrent_v2(nullptr), SUCCESS);
  }).join();
  expect_fault("race");
}

TEST_F(Order, PageableMemoryIsReadAtOnceAndWaitedFor) {
  void *stream = new_stream();
  double values[2] = {1, 2};
  const Pointer device = device_memory(16);
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(device, values, 16, stream), SUCCESS);
  values[0] = values[1] = 0;
  EXPECT_EQ(state().host_waits, 0);
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(values, device, 16, stream), SUCCESS);
  EXPECT_EQ(values[1], 2);
  EXPECT_EQ(state().host_waits, 1);
}

TEST_F(Order, RowsAreCopiedByPitch) {
  std::vector<double> matrix = {1, 2, 3, 4, 5, 6};
  Copy2D copy = {};
  copy.source_type = MemoryType::host;
  copy.source_host = matrix.data();
  copy.source_x = 8;
  copy.source_pitch = 24;
  copy.target_type = MemoryType::device;
  copy.target_device = device_memory(32);
  copy.target_pitch = 16;
  copy.width = 16;
  copy.height = 2;
  EXPECT_EQ(cuMemcpy2DAsync_v2(&copy, new_stream()), SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), SUCCESS);
  EXPECT_EQ(values_at(copy.target_device, 4), (std::vector<double>{2, 3, 5, 6}));
  copy.target_pitch = 8;
  EXPECT_EQ(cuMemcpy2DAsync_v2(&copy, nullptr), INVALID_VALUE);
}

TEST_F(Order, FillsAreWorkToo) {
  const Pointer device = device_memory(8);
  EXPECT_EQ(cuMemsetD8Async(device, 0, 8, nullptr), SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), SUCCESS);
  EXPECT_EQ(values_at(device, 1)[0], 0);
}

TEST_F(Order, KernelsSeeTheirMemoryAndMayFail) {
  const Pointer device = doubles({1, 2});
  const fake_cuda_range range = {device, 16, FAKE_CUDA_READ | FAKE_CUDA_WRITE};
  const auto add = [](void *argument, void *const *memory) -> int32_t {
    static_cast<double *>(memory[0])[1] += *static_cast<double *>(argument);
    return 0;
  };
  double addend = 5;
  EXPECT_EQ(fake_cuda_launch(nullptr, add, &addend, &range, 1), SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), SUCCESS);
  EXPECT_EQ(values_at(device, 2), (std::vector<double>{1, 7}));
  const auto astray = [](void *, void *const *) -> int32_t { return 719; };
  EXPECT_EQ(fake_cuda_launch(nullptr, astray, nullptr, nullptr, 0), SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(nullptr), 719);
  Pointer pointer = 0;
  EXPECT_EQ(cuMemAlloc_v2(&pointer, 8), 719);
}

TEST_F(Order, FreeingWaits) {
  const Pointer from = doubles({1}), to = device_memory(8);
  EXPECT_EQ(fake_cuda_launch_scale(new_stream(), to, from, 1, 2), SUCCESS);
  EXPECT_EQ(cuMemFree_v2(from), SUCCESS);
  EXPECT_EQ(state().pending, 0);
  EXPECT_EQ(state().host_waits, 1);
  EXPECT_EQ(values_at(to, 1)[0], 2);
}

TEST_F(Order, InManualModeWaitingTakesAnotherThread) {
  fake_cuda_set("mode", 2);
  void *stream = new_stream();
  const Pointer to = device_memory(8);
  EXPECT_EQ(fake_cuda_launch_scale(stream, to, doubles({1}), 1, 2), SUCCESS);
  std::atomic<bool> pumped = false;
  std::thread pumping([&] {
    while (fake_cuda_calls("cuStreamSynchronize") == 0) std::this_thread::yield();
    pumped = true;
    fake_cuda_pump(stream, -1);
  });
  EXPECT_EQ(cuStreamSynchronize(stream), SUCCESS);
  EXPECT_TRUE(pumped);
  pumping.join();
  EXPECT_EQ(values_at(to, 1)[0], 2);
}

TEST_F(Order, HostFunctionsRunInTheirTurn) {
  void *stream = new_stream();
  int runs = 0;
  EXPECT_EQ(
      cuLaunchHostFunc(stream, [](void *count) { ++*static_cast<int *>(count); }, &runs), SUCCESS);
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(cuStreamSynchronize(stream), SUCCESS);
  EXPECT_EQ(runs, 1);
}

}  // namespace
