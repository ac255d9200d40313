// Exported: captures into graphs, which can only be thrown away; tests replay by fake_cuda_replay.
#include <utility>

#include "calls.h"
#include "driver.h"
#include "streams.h"

using namespace fake;

FAKE_CUDA_EXPORT Result cuStreamBeginCapture_v2(void *handle, int mode) {
  static Function function("cuStreamBeginCapture_v2");
  return call(function, Need::context, [&]() -> Result {
    Stream *stream = stream_of(handle);
    return stream ? begin_capture(*stream, mode) : INVALID_HANDLE;
  });
}

FAKE_CUDA_EXPORT Result cuStreamEndCapture(void *handle, void **graph) {
  static Function function("cuStreamEndCapture");
  return call(function, Need::context, [&]() -> Result {
    Stream *stream = stream_of(handle);
    std::int64_t captured = 0;
    if (!stream) return INVALID_HANDLE;
    if (!graph) return INVALID_VALUE;
    const Result result = end_capture(*stream, captured);
    *graph = result == SUCCESS ? stream->captured.get() : nullptr;
    return result;
  });
}

FAKE_CUDA_EXPORT Result cuThreadExchangeStreamCaptureMode(int *mode) {
  static Function function("cuThreadExchangeStreamCaptureMode");
  return call(function, Need::initialized, [&]() -> Result {
    if (!mode || *mode < 0 || *mode > 2) return INVALID_VALUE;
    std::swap(*mode, thread_capture_mode());
    return SUCCESS;
  });
}

FAKE_CUDA_EXPORT Result cuGraphDestroy(void *graph) {
  static Function function("cuGraphDestroy");
  return give_back(function, Need::context, [&] { return graph ? SUCCESS : INVALID_VALUE; });
}
