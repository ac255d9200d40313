// Captures, and what they forbid meanwhile; events, which carry them to other streams.
#include <algorithm>

#include "contexts.h"
#include "streams.h"

namespace fake {
namespace {

Stream *captured_stream(const Context &context) {
  for (const auto &[handle, stream] : world().streams)
    if (stream->context == &context && stream->alive && stream->capture) return stream.get();
  return nullptr;
}

Stream *captured_blocking_stream(const Context &context) {
  for (const auto &[handle, stream] : world().streams)
    if (stream->context == &context && stream->alive && stream->blocking && stream->capture)
      return stream.get();
  return nullptr;
}

}  // namespace

Result begin_capture(Stream &stream, int mode) {
  if (stream.legacy) return CAPTURE_UNSUPPORTED;
  if (stream.capture || mode < 0 || mode > 2) return INVALID_VALUE;
  stream.capture = std::make_shared<Capture>(Capture{&stream, mode, this_thread(), true, {}});
  return SUCCESS;
}

Result end_capture(Stream &stream, std::int64_t &captured) {
  const std::shared_ptr<Capture> capture = stream.capture;
  captured = 0;
  if (!capture) return INVALID_VALUE;
  if (capture->origin != &stream) return CAPTURE_UNMATCHED;
  if (capture->mode != 2 && capture->thread != this_thread()) return CAPTURE_WRONG_THREAD;
  for (const auto &[handle, other] : world().streams)
    if (other->capture == capture) other->capture = nullptr;
  if (!capture->valid) return CAPTURE_INVALIDATED;
  captured = static_cast<std::int64_t>(capture->works.size());
  stream.captured = capture;
  return SUCCESS;
}

Result forbidden_wait(Stream &stream) {
  if (stream.capture) {
    fault("capture-sync", "the stream is being captured");
    stream.capture->valid = false;
    return CAPTURE_UNSUPPORTED;
  }
  return forbidden_legacy(stream, true);
}

Result forbidden_wait(Context &context) {
  Stream *stream = captured_stream(context);
  if (!stream) return SUCCESS;
  fault("capture-sync", "a stream of the context is being captured");
  stream->capture->valid = false;
  return CAPTURE_UNSUPPORTED;
}

Result forbidden_legacy(const Stream &stream, bool invalidate) {
  Stream *captured = stream.legacy ? captured_blocking_stream(*stream.context) : nullptr;
  if (!captured) return SUCCESS;
  if (invalidate) {
    fault("capture-unsafe", "the legacy stream is used while a blocking stream is captured");
    captured->capture->valid = false;
  }
  return CAPTURE_IMPLICIT;
}

int &thread_capture_mode() {
  thread_local int mode = 0;
  thread_local std::uint64_t generation = 0;
  if (generation != world().generation) mode = 0;
  generation = world().generation;
  return mode;
}

Result forbidden_unsafe() {
  const int mode = thread_capture_mode();
  if (mode == 2) return SUCCESS;
  for (const auto &[handle, stream] : world().streams) {
    const std::shared_ptr<Capture> &capture = stream->capture;
    if (!capture || capture->mode == 2) continue;
    if (capture->thread != this_thread() && (capture->mode != 0 || mode != 0)) continue;
    fault("capture-unsafe", "not permitted while a stream is captured");
    capture->valid = false;
    return CAPTURE_UNSUPPORTED;
  }
  return SUCCESS;
}

Result record(Event &event, Stream &stream) {
  event.capture = stream.capture;
  if (stream.capture) return stream.capture->valid ? SUCCESS : CAPTURE_INVALIDATED;
  if (const Result refused = submit(stream, {}, nullptr)) return refused;
  event.recorded = stream.last;
  event.clock = stream.clock;
  return SUCCESS;
}

Result wait_event(Stream &stream, Event &event) {
  if (event.capture) {
    if (!event.capture->valid) return CAPTURE_INVALIDATED;
    if (stream.capture && stream.capture != event.capture) return CAPTURE_MERGE;
    stream.capture = event.capture;
    return SUCCESS;
  }
  if (stream.capture) {
    fault("capture-unsafe", "a captured stream waits for an event recorded outside");
    stream.capture->valid = false;
    return CAPTURE_ISOLATION;
  }
  if (!event.recorded) return SUCCESS;
  if (const Result refused = forbidden_legacy(stream, true)) return refused;
  stream.clock.join(event.clock);
  if (event.recorded->done) return SUCCESS;
  const std::shared_ptr<Work> recorded = event.recorded;
  const Result result = submit(stream, {}, nullptr);
  if (result == SUCCESS && !stream.last->done) stream.last->after.push_back(recorded);
  return result;
}

}  // namespace fake
