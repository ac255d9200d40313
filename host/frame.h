// The host's side of a frame: what a component's calls into the host table act on.
#pragma once

#include <tesseract_host/plugin.h>

#include <memory>
#include <string>

#include "call.h"
#include "error.h"

namespace host {

extern const tesseract_host_table host_table;

// Where the outputs of a run go that the component has to ask for.
class OutputSink {
 public:
  virtual int32_t allocate(tesseract_frame *frame, uint64_t index, const DLDataType *dtype,
                           int32_t ndim, const int64_t *shape, DLTensor **tensor) = 0;
  virtual int32_t add(tesseract_frame *frame, std::string_view path, const DLDataType *dtype,
                      int32_t ndim, const int64_t *shape, DLTensor **tensor) = 0;
  virtual int32_t json(tesseract_frame *frame, std::string_view text) = 0;

  // Takes the tensor over as an output, or throws Failure, or returns false; both leave it alone.
  virtual bool adopt(uint64_t, DLManagedTensorVersioned *) { return false; }

 protected:
  ~OutputSink() = default;
};

struct FrameError {
  int32_t status = TESSERACT_OK;
  bool told = false;  // by error_set
  std::string path, text, traceback;
  std::unique_ptr<tesseract_error> cause;
};

// The frame that a component sees is the first member, so that its address is the handle.
struct Frame {
  tesseract_frame shown;
  tesseract_component *component;
  tesseract_cancel *cancel;    // may be null
  const tesseract_call *call;  // null in frames of no call
  OutputSink *sink;            // null: every output has a tensor already
  FrameError *error;           // null until the component reports one; owned
  bool context_current;        // of the call's device, on the caller's thread

  static Frame *of(tesseract_frame *frame) { return reinterpret_cast<Frame *>(frame); }
  static const Frame *of(const tesseract_frame *frame) {
    return reinterpret_cast<const Frame *>(frame);
  }
};

// Records an error of the host itself on a frame; returns the status.
int32_t frame_error(tesseract_frame *frame, int32_t status, std::string_view path,
                    const std::string &text) noexcept;

// allocate_output for an output that has its tensor already: that, if shape and dtype agree.
int32_t settled_output(tesseract_frame *frame, uint64_t index, const DLDataType *dtype,
                       int32_t ndim, const int64_t *shape, DLTensor **tensor);

// The failure that a component's status and what it recorded amount to; frees the record.
Failure component_failure(Frame &frame, int32_t status);

// Runs a function of a component: an exception becomes a recorded error.
template <typename Body>
int32_t call_component(Frame &frame, Body &&body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    return frame_error(&frame.shown, TESSERACT_ERROR_OUT_OF_MEMORY, {}, "out of memory");
  } catch (const std::exception &exception) {
    return frame_error(&frame.shown, TESSERACT_ERROR_COMPONENT, {},
                       std::string("it threw an exception: ") + exception.what());
  } catch (...) {
    return frame_error(&frame.shown, TESSERACT_ERROR_COMPONENT, {}, "it threw an exception");
  }
}

// A frame for create, describe, prepare and loaders' functions.
class LooseFrame {
 public:
  explicit LooseFrame(tesseract_component &component);
  LooseFrame();  // of no component: for loaders' unload and shutdown; there is no log
  ~LooseFrame();
  LooseFrame(const LooseFrame &) = delete;
  LooseFrame &operator=(const LooseFrame &) = delete;

  tesseract_frame *shown() { return &frame_.shown; }

  template <typename Body>
  int32_t run(Body &&body) {
    return call_component(frame_, body);
  }

  // Throws the Failure of a status other than ok; `function` names what failed, may be null.
  void check(int32_t status, const char *function = nullptr);

 private:
  Frame frame_;
};

constexpr const char *entered_again_text =
    "called again by a thread that is inside it, and it is not reentrant";

// Inside: holds the lock of a serial component; throws Failure if this thread may not enter.
class SerialEntry {
 public:
  explicit SerialEntry(tesseract_component &component);
  ~SerialEntry() {
    if (lock_) lock_->leave();
  }
  SerialEntry(const SerialEntry &) = delete;
  SerialEntry &operator=(const SerialEntry &) = delete;

 private:
  CallLock *lock_;
};

// Runs a function of the component's where no other runs meanwhile, if it is not concurrent: under
// its lock, or on its own thread.  Throws Failure if this thread may not enter, and what the body
// throws.
template <typename Body>
void run_alone(tesseract_component &component, Body &&body) {
  const SerialEntry entry(component);
  if (!component.run(body)) throw Failure(TESSERACT_ERROR_UNAVAILABLE, lost_thread_text);
}

}  // namespace host
