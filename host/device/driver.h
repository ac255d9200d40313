// The CUDA driver: found at first need, called through one table that tests replace.
//
// Nothing links it and no header of it is needed: what is declared here are facts of its interface
// (CUDA Driver API reference, version 12).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace host::cuda {

using Result = int;  // 0 is success
using Device = int;
using Context = struct OpaqueContext *;
using Event = struct OpaqueEvent *;
using Address = unsigned long long;  // of device memory

// A stream as tesseract_call_options has it; the driver's own handles for the two defaults are the
// same numbers.
using Stream = uint64_t;
constexpr Stream kPerThread = 2;  // another one on each thread

constexpr Result kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kNoDevice = 100,
                 kNotReady = 600, kStreamCaptureImplicit = 906;
constexpr unsigned kEventDisableTiming = 2, kHostAllocPortable = 1;
constexpr int kCaptureRelaxed = 2;
// Of a pointer.
constexpr int kPointerMemoryType = 2, kPointerIsManaged = 8, kPointerDeviceOrdinal = 9;
constexpr unsigned kMemoryHost = 1, kMemoryDevice = 2;

// A two-dimensional copy, CUDA_MEMCPY2D.
struct Copy2D {
  size_t from_x, from_y;
  unsigned from_type;
  const void *from_host;
  Address from_device;
  void *from_array;
  size_t from_pitch;
  size_t to_x, to_y;
  unsigned to_type;
  void *to_host;
  Address to_device;
  void *to_array;
  size_t to_pitch;
  size_t width, height;  // bytes, rows
};
static_assert(sizeof(Copy2D) == 128);

// The driver's functions that the host calls, and no others.
struct Driver {
  Result (*init)(unsigned flags);
  Result (*driver_version)(int *version);
  Result (*error_name)(Result, const char **);
  Result (*error_string)(Result, const char **);
  Result (*device_count)(int *);
  Result (*device_get)(Device *, int ordinal);
  Result (*context_retain)(Context *, Device);
  Result (*context_push)(Context);
  Result (*context_pop)(Context *);
  Result (*context_synchronize)();
  Result (*stream_synchronize)(Stream);
  Result (*stream_is_capturing)(Stream, int *status);
  Result (*exchange_capture_mode)(int *mode);
  Result (*stream_wait_event)(Stream, Event, unsigned flags);
  Result (*event_create)(Event *, unsigned flags);
  Result (*event_record)(Event, Stream);
  Result (*event_query)(Event);
  Result (*event_destroy)(Event);
  Result (*allocate)(Address *, size_t);
  Result (*free)(Address);
  Result (*allocate_host)(void **, size_t, unsigned flags);
  Result (*free_host)(void *);
  Result (*copy_to_device)(Address, const void *, size_t, Stream);
  Result (*copy_to_host)(void *, Address, size_t, Stream);
  Result (*copy_on_device)(Address, Address, size_t, Stream);
  Result (*copy_2d)(const Copy2D *, Stream);
  Result (*pointer_attribute)(void *, int attribute, Address);
};

// The driver, initialised.  Throws Failure (unavailable) that says why there is none: no library,
// too old, no device, or lost: in a forked child, or after an error that no call survives.
const Driver &driver();

// Throws Failure (device, or out of memory) unless the call succeeded; `doing` says what was tried,
// "waiting for the stream".  Remembers errors that no later call survives.
void check(Result result, const char *doing);

// The driver's name and text for an error, "CUDA_ERROR_INVALID_VALUE (invalid argument)".
std::string error_text(Result result);

// How many devices there are; 0 where there is no driver.
int device_count() noexcept;

}  // namespace host::cuda
