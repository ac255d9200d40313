// Captures of the fake driver, and what they forbid.
#include <thread>

#include "support.h"

namespace {

class Capture : public FakeCuda {
 protected:
  void *stream = new_stream();
  Pointer doubles_ = 0;
  int status() {
    int status = -1;
    EXPECT_EQ(cuStreamIsCapturing(stream, &status), SUCCESS);
    return status;
  }
};

TEST_F(Capture, HoldsWorkThatIsReplayed) {
  const Pointer from = doubles({1}), to = device_memory(8);
  EXPECT_EQ(status(), 0);
  EXPECT_EQ(fake_cuda_begin_capture(stream, 0), SUCCESS);
  EXPECT_EQ(status(), 1);
  EXPECT_EQ(fake_cuda_launch_scale(stream, from, from, 1, 2), SUCCESS);
  EXPECT_EQ(cuMemcpyDtoDAsync_v2(to, from, 8, stream), SUCCESS);
  int64_t captured = 0;
  EXPECT_EQ(fake_cuda_end_capture(stream, &captured), SUCCESS);
  EXPECT_EQ(captured, 2);
  EXPECT_EQ(state().pending, 0);
  EXPECT_EQ(fake_cuda_replay(stream), SUCCESS);
  EXPECT_EQ(fake_cuda_replay(stream), SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream), SUCCESS);
  EXPECT_EQ(values_at(to, 1)[0], 4);
}

TEST_F(Capture, IsVoidAfterASynchronization) {
  const auto forbid = [&](Result result, Result expected, const char *kind) {
    EXPECT_EQ(result, expected);
    expect_fault(kind);
    EXPECT_EQ(status(), 2);
    EXPECT_EQ(fake_cuda_launch_scale(stream, doubles_, doubles_, 1, 2), CAPTURE_INVALIDATED);
    EXPECT_EQ(fake_cuda_end_capture(stream, nullptr), CAPTURE_INVALIDATED);
    EXPECT_EQ(status(), 0);
    EXPECT_EQ(fake_cuda_begin_capture(stream, 0), SUCCESS);
  };
  Pointer pointer = 0;
  void *host = nullptr;
  double value = 0;
  doubles_ = doubles({1});
  const Pointer other = device_memory(8);
  EXPECT_EQ(fake_cuda_begin_capture(stream, 0), SUCCESS);
  forbid(cuStreamSynchronize(stream), 900, "capture-sync");
  forbid(cuStreamQuery(stream), 900, "capture-sync");
  forbid(cuCtxSynchronize(), 900, "capture-sync");
  forbid(cuMemcpyDtoHAsync_v2(&value, doubles_, 8, stream), 900, "capture-sync");
  forbid(cuMemAlloc_v2(&pointer, 8), 900, "capture-unsafe");
  forbid(cuMemHostAlloc(&host, 8, 0), 900, "capture-unsafe");
  forbid(cuMemFree_v2(other), 900, "capture-unsafe");
  forbid(cuMemcpyDtoD_v2(other, doubles_, 8), 906, "capture-unsafe");
  forbid(cuStreamSynchronize(nullptr), 906, "capture-unsafe");
  forbid(cuMemFreeAsync(other, stream), INVALID_VALUE, "capture-unsafe");
  EXPECT_EQ(fake_cuda_end_capture(stream, nullptr), SUCCESS);
}

TEST_F(Capture, OfAnotherThreadForbidsToo) {
  for (const int capture_mode : {0, 1, 2})
    for (const int thread_mode : {0, 1, 2}) {
      EXPECT_EQ(fake_cuda_begin_capture(stream, capture_mode), SUCCESS);
      Result result = UNKNOWN;
      std::thread([&] {
        int mode = thread_mode;
        Pointer pointer = 0;
        EXPECT_EQ(cuThreadExchangeStreamCaptureMode(&mode), SUCCESS);
        EXPECT_EQ(mode, 0);
        EXPECT_EQ(cuCtxPushCurrent_v2(context), SUCCESS);
        result = cuMemAlloc_v2(&pointer, 8);
        EXPECT_EQ(cuCtxPopCurrent_v2(nullptr), SUCCESS);
      }).join();
      const bool forbidden = capture_mode == 0 && thread_mode == 0;
      EXPECT_EQ(result, forbidden ? CAPTURE_UNSUPPORTED : SUCCESS);
      if (forbidden) expect_fault("capture-unsafe");
      EXPECT_EQ(fake_cuda_end_capture(stream, nullptr), forbidden ? CAPTURE_INVALIDATED : SUCCESS);
    }
}

TEST_F(Capture, SpreadsByEvents) {
  void *other = new_stream(false), *event = new_event(), *outside = new_event();
  EXPECT_EQ(cuEventRecord(outside, other), SUCCESS);
  EXPECT_EQ(fake_cuda_begin_capture(stream, 1), SUCCESS);
  EXPECT_EQ(cuEventRecord(event, stream), SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(other, event, 0), SUCCESS);
  int status = 0;
  EXPECT_EQ(cuStreamIsCapturing(other, &status), SUCCESS);
  EXPECT_EQ(status, 1);
  EXPECT_EQ(fake_cuda_end_capture(other, nullptr), CAPTURE_UNMATCHED);
  EXPECT_EQ(cuStreamWaitEvent(stream, outside, 0), CAPTURE_ISOLATION);
  expect_fault("capture-unsafe");
  EXPECT_EQ(fake_cuda_end_capture(stream, nullptr), CAPTURE_INVALIDATED);
  EXPECT_EQ(cuEventQuery(event), CAPTURED_EVENT);
  expect_fault("capture-sync");
}

TEST_F(Capture, LeavesOtherStreamsAlone) {
  void *other = new_stream(false);
  EXPECT_EQ(fake_cuda_begin_capture(stream, 2), SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(other), SUCCESS);
  const Pointer pointer = device_memory(8);
  EXPECT_EQ(cuMemFreeAsync(pointer, other), SUCCESS);
  int status = 0;
  EXPECT_EQ(cuStreamIsCapturing(nullptr, &status), CAPTURE_IMPLICIT);
  EXPECT_EQ(fake_cuda_end_capture(stream, nullptr), SUCCESS);
}

}  // namespace
