// The driver's types and codes, as far as this fake and the programs under test use them.
#ifndef TESTS_FAKE_CUDA_TYPES_H
#define TESTS_FAKE_CUDA_TYPES_H

#include <cstddef>
#include <cstdint>

#define FAKE_CUDA_EXPORT extern "C" __attribute__((visibility("default")))

namespace fake {

using Result = int;
using Ordinal = int;
using Pointer = std::uint64_t;

enum Code : Result {
  SUCCESS = 0,
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  NOT_INITIALIZED = 3,
  DEINITIALIZED = 4,
  NO_DEVICE = 100,
  INVALID_DEVICE = 101,
  INVALID_CONTEXT = 201,
  INVALID_HANDLE = 400,
  NOT_FOUND = 500,
  NOT_READY = 600,
  HOST_MEMORY_ALREADY_REGISTERED = 712,
  HOST_MEMORY_NOT_REGISTERED = 713,
  CONTEXT_IS_DESTROYED = 709,
  NOT_SUPPORTED = 801,
  CAPTURE_UNSUPPORTED = 900,
  CAPTURE_INVALIDATED = 901,
  CAPTURE_MERGE = 902,
  CAPTURE_UNMATCHED = 903,
  CAPTURE_ISOLATION = 905,
  CAPTURE_IMPLICIT = 906,
  CAPTURED_EVENT = 907,
  CAPTURE_WRONG_THREAD = 908,
  UNKNOWN = 999,
};

enum class MemoryType : unsigned { host = 1, device = 2, array = 3, unified = 4 };

// The argument of cuMemcpy2D.
struct Copy2D {
  std::size_t source_x, source_y;
  MemoryType source_type;
  const void *source_host;
  Pointer source_device;
  void *source_array;
  std::size_t source_pitch;
  std::size_t target_x, target_y;
  MemoryType target_type;
  void *target_host;
  Pointer target_device;
  void *target_array;
  std::size_t target_pitch;
  std::size_t width, height;
};
static_assert(sizeof(Copy2D) == 128);

struct Uuid {
  char bytes[16];
};

struct IpcHandle {
  char reserved[64];
};

using HostFunction = void (*)(void *);

const char *name_of(Result code);
const char *description_of(Result code);
bool sticks(Result code);

}  // namespace fake

#endif
