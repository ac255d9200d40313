#include "scope.h"

namespace host {

void ready_stream(const tesseract_call &call, const Frame &frame) {
  if (!call.synchronises) return;
  cuda::refuse_capture(frame.shown.stream,
                       "the component is not stream-ordered: the host waits for the stream before "
                       "it is called");
  cuda::check(cuda::driver().stream_synchronize(frame.shown.stream), "waiting for the stream");
}

void require_stream(uint64_t stream) {
  if (stream == 0)
    throw Failure(
        TESSERACT_ERROR_INVALID_ARGUMENT,
        "there are tensors on a device, so the call's options must say a stream: 1 is the "
        "legacy default stream, 2 the per-thread default, else the handle");
}

int32_t other_context(Frame &frame) {
  return frame_error(&frame.shown, TESSERACT_ERROR_COMPONENT, {},
                     "it left another CUDA context current than it was called with");
}

}  // namespace host
