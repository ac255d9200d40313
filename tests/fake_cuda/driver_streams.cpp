// Exported: streams.
#include "calls.h"
#include "driver.h"
#include "streams.h"

using namespace fake;

FAKE_CUDA_EXPORT Result cuStreamCreate(void **stream, unsigned flags) {
  static Function function("cuStreamCreate");
  return call(function, Need::context, [&]() -> Result {
    if (!stream || flags > 1) return INVALID_VALUE;
    *stream = create_stream(*current_context(), flags == 0);
    return SUCCESS;
  });
}

FAKE_CUDA_EXPORT Result cuStreamCreateWithPriority(void **stream, unsigned flags, int) {
  static Function function("cuStreamCreateWithPriority");
  return call(function, Need::context, [&]() -> Result {
    if (!stream || flags > 1) return INVALID_VALUE;
    *stream = create_stream(*current_context(), flags == 0);
    return SUCCESS;
  });
}

// Returns at once; what is in the stream is still done.
FAKE_CUDA_EXPORT Result cuStreamDestroy_v2(void *handle) {
  static Function function("cuStreamDestroy_v2");
  return give_back(function, Need::context, [&]() -> Result {
    Stream *stream = stream_of(handle);
    if (!stream || !stream->created) return INVALID_HANDLE;
    if (stream->capture) {
      fault("capture-unsafe", "a stream is destroyed while it is captured");
      stream->capture->valid = false;
      stream->capture = nullptr;
    }
    stream->alive = false;
    return SUCCESS;
  });
}

FAKE_CUDA_EXPORT Result cuStreamSynchronize(void *handle) {
  static Function function("cuStreamSynchronize");
  return call(function, Need::context, [&]() -> Result {
    Stream *stream = stream_of(handle);
    if (!stream) return INVALID_HANDLE;
    if (const Result forbidden = forbidden_wait(*stream)) return forbidden;
    return wait_for(*stream);
  });
}

FAKE_CUDA_EXPORT Result cuStreamQuery(void *handle) {
  static Function function("cuStreamQuery");
  return call(function, Need::context, [&]() -> Result {
    Stream *stream = stream_of(handle);
    if (!stream) return INVALID_HANDLE;
    if (const Result forbidden = forbidden_wait(*stream)) return forbidden;
    if (!stream->queue.empty()) return NOT_READY;
    world().host.join(stream->clock);
    return SUCCESS;
  });
}

FAKE_CUDA_EXPORT Result cuStreamIsCapturing(void *handle, int *status) {
  static Function function("cuStreamIsCapturing");
  return call(function, Need::context, [&]() -> Result {
    Stream *stream = stream_of(handle);
    if (!stream) return INVALID_HANDLE;
    if (!status) return INVALID_VALUE;
    if (const Result forbidden = forbidden_legacy(*stream, false)) return forbidden;
    *status = !stream->capture ? 0 : stream->capture->valid ? 1 : 2;
    return SUCCESS;
  });
}

FAKE_CUDA_EXPORT Result cuStreamWaitEvent(void *handle, void *event_handle, unsigned flags) {
  static Function function("cuStreamWaitEvent");
  return call(function, Need::context, [&]() -> Result {
    Stream *stream = stream_of(handle);
    Event *event = event_of(event_handle);
    if (!stream || !event) return INVALID_HANDLE;
    if (flags > 1) return INVALID_VALUE;
    return wait_event(*stream, *event);
  });
}

FAKE_CUDA_EXPORT Result cuStreamGetCtx(void *handle, void **context) {
  static Function function("cuStreamGetCtx");
  return call(function, Need::context, [&]() -> Result {
    Stream *stream = stream_of(handle);
    if (!stream) return INVALID_HANDLE;
    if (!context) return INVALID_VALUE;
    *context = stream->context;
    return SUCCESS;
  });
}

FAKE_CUDA_EXPORT Result cuStreamGetFlags(void *handle, unsigned *flags) {
  static Function function("cuStreamGetFlags");
  return call(function, Need::context, [&]() -> Result {
    Stream *stream = stream_of(handle);
    if (!stream) return INVALID_HANDLE;
    if (!flags) return INVALID_VALUE;
    *flags = stream->blocking || stream->legacy ? 0 : 1;
    return SUCCESS;
  });
}

FAKE_CUDA_EXPORT Result cuLaunchHostFunc(void *handle, HostFunction run, void *argument) {
  static Function function("cuLaunchHostFunc");
  return call(function, Need::context, [&]() -> Result {
    Stream *stream = stream_of(handle);
    if (!stream) return INVALID_HANDLE;
    if (!run) return INVALID_VALUE;
    return submit(*stream, {}, [run, argument]() -> Result {
      run(argument);
      return SUCCESS;
    });
  });
}

FAKE_CUDA_EXPORT Result cuStreamAddCallback(void *handle, void (*run)(void *, Result, void *),
                                            void *argument, unsigned flags) {
  static Function function("cuStreamAddCallback");
  return call(function, Need::context, [&]() -> Result {
    Stream *stream = stream_of(handle);
    if (!stream) return INVALID_HANDLE;
    if (!run || flags) return INVALID_VALUE;
    return submit(*stream, {}, [run, handle, argument]() -> Result {
      run(handle, SUCCESS, argument);
      return SUCCESS;
    });
  });
}
