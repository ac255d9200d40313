// Exported: events.
#include "calls.h"
#include "driver.h"
#include "streams.h"

using namespace fake;

namespace {

// What forbids asking about an event; it must have been recorded outside of captures.
Result forbidden_question(const Event &event) {
  if (!event.capture) return forbidden_unsafe();
  fault("capture-sync", "the event was last recorded in a capture");
  event.capture->valid = false;
  return CAPTURED_EVENT;
}

}  // namespace

FAKE_CUDA_EXPORT Result cuEventCreate(void **event, unsigned flags) {
  static Function function("cuEventCreate");
  return call(function, Need::context, [&]() -> Result {
    if (!event || flags > 7) return INVALID_VALUE;
    *event = create_event(*current_context());
    return SUCCESS;
  });
}

FAKE_CUDA_EXPORT Result cuEventDestroy_v2(void *handle) {
  static Function function("cuEventDestroy_v2");
  return give_back(function, Need::context, [&]() -> Result {
    Event *event = event_of(handle);
    if (!event) return INVALID_HANDLE;
    event->alive = false;
    event->recorded = nullptr;
    event->clock = {};
    return SUCCESS;
  });
}

FAKE_CUDA_EXPORT Result cuEventRecord(void *handle, void *stream_handle) {
  static Function function("cuEventRecord");
  return call(function, Need::context, [&]() -> Result {
    Event *event = event_of(handle);
    Stream *stream = event ? stream_of(stream_handle) : nullptr;
    if (!event || !stream) return INVALID_HANDLE;
    if (event->context != stream->context) {
      fault("wrong-context", "an event of a context of device %d, a stream of one of device %d",
            event->context->device, stream->context->device);
      return INVALID_HANDLE;
    }
    return record(*event, *stream);
  });
}

FAKE_CUDA_EXPORT Result cuEventQuery(void *handle) {
  static Function function("cuEventQuery");
  return call(function, Need::context, [&]() -> Result {
    Event *event = event_of(handle);
    if (!event) return INVALID_HANDLE;
    if (const Result forbidden = forbidden_question(*event)) return forbidden;
    if (event->recorded && !event->recorded->done) return NOT_READY;
    world().host.join(event->clock);
    return SUCCESS;
  });
}

FAKE_CUDA_EXPORT Result cuEventSynchronize(void *handle) {
  static Function function("cuEventSynchronize");
  return call(function, Need::context, [&]() -> Result {
    Event *event = event_of(handle);
    if (!event) return INVALID_HANDLE;
    if (const Result forbidden = forbidden_question(*event)) return forbidden;
    return wait_for(event->recorded);
  });
}

FAKE_CUDA_EXPORT Result cuEventElapsedTime(float *milliseconds, void *begin, void *end) {
  static Function function("cuEventElapsedTime");
  return call(function, Need::context, [&]() -> Result {
    const Event *first = event_of(begin), *second = event_of(end);
    if (!first || !second || !first->recorded || !second->recorded) return INVALID_HANDLE;
    if (!milliseconds) return INVALID_VALUE;
    if (!first->recorded->done || !second->recorded->done) return NOT_READY;
    *milliseconds = 0;
    return SUCCESS;
  });
}
