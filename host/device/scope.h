// What surrounds a component's function in a call with tensors on a device.
#pragma once

#include <optional>

#include "../call.h"
#include "../error.h"
#include "../frame.h"
#include "context.h"

namespace host {

// Before a call whose component sees tensors on a device and may use any stream: what was enqueued
// on the call's must be done.  The context is current.  Throws Failure.
void ready_stream(const tesseract_call &call, const Frame &frame);

// Throws Failure (invalid argument) if there is none.
void require_stream(uint64_t stream);

// The per-thread default streams of a caller and of the component's thread, which are two: what the
// caller's was given comes before what the component enqueues, and that before what follows.
class ThreadStreams {
 public:
  // On the caller's thread, as `join`; its context is current.  All throw Failure.
  ThreadStreams() : before_(cuda::kPerThread) {}
  void begin() const { before_.precede(cuda::kPerThread); }  // on the component's thread
  void end() { after_.emplace(cuda::kPerThread); }           // on the component's thread
  void join() const {
    if (after_) after_->precede(cuda::kPerThread);
  }

 private:
  cuda::Mark before_;
  std::optional<cuda::Mark> after_;
};

// Records what the component did to the stack of contexts.
int32_t other_context(Frame &frame);

// Runs `body`; what it throws becomes an error that is recorded, whose status is returned.
template <typename Body>
int32_t caught(Frame &frame, Body &&body) noexcept {
  try {
    body();
    return TESSERACT_OK;
  } catch (const Failure &failure) {
    return frame_error(&frame.shown, failure.status, failure.path, failure.message);
  } catch (...) {
    return frame_error(&frame.shown, TESSERACT_ERROR_OUT_OF_MEMORY, {}, "out of memory");
  }
}

// Runs `body`, which returns a status, while the primary context of the call's device is current:
// push and pop, or nothing where the caller says that it is.
template <typename Body>
int32_t with_context(Frame &frame, Body &&body) noexcept {
  int32_t status = TESSERACT_OK;
  const auto within = [&] {
    if (frame.context_current) return void(status = body());
    cuda::CurrentContext context(frame.call->device.device_id);
    status = body();
    if (status == TESSERACT_OK && !context.restore()) status = other_context(frame);
  };
  const int32_t failed = caught(frame, within);
  return failed != TESSERACT_OK ? failed : status;
}

}  // namespace host
