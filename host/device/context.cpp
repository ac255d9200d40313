#include "context.h"

#include <array>
#include <atomic>
#include <mutex>

#include "../error.h"

namespace host::cuda {
namespace {

constexpr int kMostDevices = 64;

// Each is retained once, for the life of the process.
std::array<std::atomic<Context>, kMostDevices> contexts;
std::mutex mutex;

Context primary_context(const Driver &driver, int ordinal) {
  const int count = device_count();
  if (ordinal < 0 || ordinal >= count || ordinal >= kMostDevices)
    throw Failure(TESSERACT_ERROR_DEVICE, "there is no CUDA device " + std::to_string(ordinal) +
                                              ", but " + std::to_string(count) +
                                              ", counted from 0");
  std::atomic<Context> &known = contexts[static_cast<size_t>(ordinal)];
  if (Context context = known.load(std::memory_order_acquire)) return context;
  const std::lock_guard lock(mutex);
  if (Context context = known.load(std::memory_order_relaxed)) return context;
  Device device = 0;
  check(driver.device_get(&device, ordinal), "finding the device");
  Context context = nullptr;
  check(driver.context_retain(&context, device), "opening the device");
  known.store(context, std::memory_order_release);
  return context;
}

}  // namespace

CurrentContext::CurrentContext(int ordinal)
    : driver_(driver()), context_(primary_context(driver_, ordinal)) {
  check(driver_.context_push(context_), "making the device current");
}

CurrentContext::~CurrentContext() {
  Context popped = nullptr;
  if (pushed_) driver_.context_pop(&popped);
}

bool CurrentContext::restore() {
  pushed_ = false;
  Context popped = nullptr;
  check(driver_.context_pop(&popped), "making the caller's context current again");
  return popped == context_;
}

BesideCaptures::BesideCaptures(const Driver &driver)
    : driver_(driver),
      mode_(kCaptureRelaxed),
      changed_(driver.exchange_capture_mode(&mode_) == kSuccess) {}

BesideCaptures::~BesideCaptures() {
  if (changed_) driver_.exchange_capture_mode(&mode_);
}

bool is_captured(Stream stream) {
  int status = 0;
  const Result result = driver().stream_is_capturing(stream, &status);
  if (result != kStreamCaptureImplicit) check(result, "asking whether the stream is captured");
  return status != 0 || result != kSuccess;
}

void refuse_capture(Stream stream, const char *why) {
  if (!is_captured(stream)) return;
  throw Failure(TESSERACT_ERROR_DEVICE,
                std::string("the call's stream is being captured into a graph, and ") + why);
}

void synchronize(Stream stream) {
  refuse_capture(stream, "can't be waited for");
  check(driver().stream_synchronize(stream), "waiting for the stream");
}

void order(Stream before, Stream after) {
  if (before == after) return;
  const Mark mark(before);
  mark.precede(after);
}

Mark::Mark(Stream stream) : driver_(driver()) {
  check(driver_.event_create(&event_, kEventDisableTiming), "making an event");
  const Result result = driver_.event_record(event_, stream);
  if (result == kSuccess) return;
  driver_.event_destroy(event_);
  check(result, "recording an event");
}

Mark::~Mark() {
  driver_.event_destroy(event_);
}

void Mark::precede(Stream stream) const {
  check(driver_.stream_wait_event(stream, event_, 0), "making a stream wait");
}

}  // namespace host::cuda
