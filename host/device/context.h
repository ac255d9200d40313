// Contexts and streams of devices.
#pragma once

#include <dlpack/dlpack.h>

#include "driver.h"

namespace host::cuda {

// Makes the primary context of a device current on this thread, and the caller's again at the end.
// Throws Failure: unavailable, or device where there is no such device.
class CurrentContext {
 public:
  explicit CurrentContext(int ordinal);
  ~CurrentContext();
  CurrentContext(const CurrentContext &) = delete;
  CurrentContext &operator=(const CurrentContext &) = delete;

  // Does what the destructor does; false if another context was on top of the stack.  Throws
  // Failure.
  bool restore();

 private:
  const Driver &driver_;
  Context context_;
  bool pushed_ = true;
};

// While it lives, what this thread does of its own (allocating, freeing, asking events) does not
// invalidate captures that other threads have begun.
class BesideCaptures {
 public:
  explicit BesideCaptures(const Driver &driver);
  ~BesideCaptures();
  BesideCaptures(const BesideCaptures &) = delete;
  BesideCaptures &operator=(const BesideCaptures &) = delete;

 private:
  const Driver &driver_;
  int mode_;
  bool changed_;
};

// Waits for a stream; throws Failure (device), with nothing attempted, if it is being captured.
// The context is current.
void synchronize(Stream stream);

// Whether the stream is being captured, or can't be used while another one is.  Throws Failure.
bool is_captured(Stream stream);

// Throws Failure (device) if the stream is being captured; `why` says what can't be.
void refuse_capture(Stream stream, const char *why);

// What a stream has been given up to here.  The context is current, also at the end.
class Mark {
 public:
  explicit Mark(Stream stream);
  ~Mark();
  Mark(const Mark &) = delete;
  Mark &operator=(const Mark &) = delete;

  // Work enqueued on `stream` from now on begins when that is done.
  void precede(Stream stream) const;

 private:
  const Driver &driver_;
  Event event_ = nullptr;
};

// Work enqueued on `after` from now on begins when all of `before` is done.
void order(Stream before, Stream after);

}  // namespace host::cuda
