// What surrounds a component's function in a call with tensors on a device.
#pragma once

#include "../call.h"
#include "../error.h"
#include "../frame.h"
#include "context.h"

namespace host {

// Before a call whose component sees tensors on a device: there must be a stream, and if the
// component may use any other, what was enqueued on it must be done.  Throws Failure.
void ready_stream(const tesseract_call &call, const Frame &frame);

// Throws Failure (invalid argument) if there is none.
void require_stream(uint64_t stream);

// Records what the component did to the stack of contexts.
int32_t other_context(Frame &frame);

// Runs `body`, which returns a status, while the primary context of the call's device is current:
// push and pop, or nothing where the caller says that it is.
template <typename Body>
int32_t with_context(Frame &frame, Body &&body) noexcept {
  if (frame.context_current) return body();
  try {
    cuda::CurrentContext context(frame.call->device.device_id);
    const int32_t status = body();
    if (status != TESSERACT_OK) return status;
    return context.restore() ? status : other_context(frame);
  } catch (const Failure &failure) {
    return frame_error(&frame.shown, failure.status, failure.path, failure.message);
  }
}

}  // namespace host
