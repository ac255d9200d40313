// Running prepared calls.
#pragma once

#include "call.h"
#include "frame.h"

namespace host {

// Flags that the options of a call may have.
constexpr uint32_t call_flags = TESSERACT_NO_COPY | TESSERACT_CONTEXT_CURRENT;

// A call of more tensors never takes the fast way.
constexpr uint32_t most_fast_tensors = 256;

// The caller's side of one run.
struct RunRequest {
  const DLTensor *const *in = nullptr;
  DLTensor *const *out = nullptr;  // null: no destinations
  bool no_copy = false;
  bool context_current = false;  // of the call's device, on this thread
  uint64_t stream = 0;
  tesseract_cancel *cancel = nullptr;
  const tesseract_owner *const *owners = nullptr;
  tesseract_result **result = nullptr;
};

// Checks everything, repairs what can be (layout, dtype), allocates, calls.  Throws Failure.
void run_general(const tesseract_call &call, const RunRequest &request, const ThreadSlot &slot);

// True for calls of a component that checks by itself which `run_unchecked` may try; fills in what
// that needs.
bool can_run_unchecked(tesseract_call &call);

// False, with nothing done, if the general run must have a look.
bool run_unchecked(const tesseract_call &call, const RunRequest &request, const ThreadSlot &slot,
                   int32_t *status, tesseract_error **error);

// Copies tensors on a device to the host, runs there, and copies results back.  Throws Failure.
int32_t run_staged(const tesseract_call &call, const RunRequest &request, const ThreadSlot &slot,
                   tesseract_error **error);

// Why arrays on a device would be copied for such a call, for messages.
const char *why_staged(const tesseract_component &component, int32_t endpoint);

// A run on tensors that are where the component takes them.  Throws Failure.
int32_t run_in_place(const tesseract_call &call, const Ways &ways, const RunRequest &request,
                     const ThreadSlot &slot, tesseract_error **error);

// The whole of a run: the fast way where it fits, else the general one; staged where it must be.
int32_t run_call(const tesseract_call &call, const RunRequest &request, tesseract_error **error);

// What of a frame is the same whichever way a run takes.
inline void fill_frame(const tesseract_call &call, const RunRequest &request, Frame &frame) {
  frame.shown = call.frame;
  if (request.no_copy) frame.shown.flags |= TESSERACT_FRAME_NO_COPY;
  frame.shown.stream = request.stream;
  frame.component = call.component;
  frame.cancel = request.cancel;
  frame.call = &call;
  frame.sink = nullptr;
  frame.error = nullptr;
  frame.context_current = request.context_current;
}

// Calls the endpoint function with a complete frame, under the lock and the floating-point
// environment that the component wants.
int32_t invoke(const tesseract_call &call, Frame &frame, const ThreadSlot &slot);

// The endpoint function of calls of a component that has a thread of its own.
int32_t invoke_on_own_thread(void *instance, void *plan, tesseract_frame *frame);

}  // namespace host
