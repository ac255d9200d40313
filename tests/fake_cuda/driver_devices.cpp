// Exported: the driver itself and its devices.
#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "calls.h"
#include "driver.h"
#include "memory.h"

using namespace fake;

namespace {

bool device_exists(Ordinal device) {
  if (device >= 0 && device < world().options.devices) return true;
  fault("wrong-device", "there is no device %d", device);
  return false;
}

// In the child, whose lock may be another thread's.
void note_fork() {
  world().forked = world().initialized;
}

// Attributes by the driver's numbers; the devices are said to be of compute capability 9.0.
int attribute_value(int attribute, Ordinal device) {
  switch (attribute) {
    case 1:
      return 1024;  // threads per block
    case 10:
      return 32;  // warp size
    case 16:
      return 4;  // multiprocessors
    case 33:
      return 16 + device;  // PCI bus
    case 75:
      return 9;  // compute capability
    case 115:
      return static_cast<int>(world().options.memory_pools);
    case 19:  // maps host memory
    case 31:  // concurrent kernels
    case 40:  // asynchronous engines
    case 41:  // unified addressing
    case 83:  // managed memory
    case 89:  // concurrent managed access
    case 91:  // registered memory at the CPU's address
      return 1;
    default:
      return 0;
  }
}

}  // namespace

FAKE_CUDA_EXPORT Result cuInit(unsigned flags) {
  static Function function("cuInit");
  return call(function, Need::driver, [&]() -> Result {
    World &w = world();
    if (flags != 0) return INVALID_VALUE;
    if (w.options.init_result) return static_cast<Result>(w.options.init_result);
    if (w.options.devices <= 0) return NO_DEVICE;
    if (w.initialized) return SUCCESS;
    w.initialized = true;
    static const int watched = pthread_atfork(nullptr, nullptr, &note_fork);
    if (watched != 0) return OUT_OF_MEMORY;
    make_primaries();
    return SUCCESS;
  });
}

FAKE_CUDA_EXPORT Result cuDriverGetVersion(int *version) {
  static Function function("cuDriverGetVersion");
  return call(function, Need::driver, [&]() -> Result {
    if (!version) return INVALID_VALUE;
    *version = static_cast<int>(world().options.driver_version);
    return SUCCESS;
  });
}

FAKE_CUDA_EXPORT Result cuGetErrorName(Result error, const char **text) {
  static Function function("cuGetErrorName");
  return call(function, Need::nothing, [&]() -> Result {
    if (!text) return INVALID_VALUE;
    *text = name_of(error);
    return *text ? SUCCESS : INVALID_VALUE;
  });
}

FAKE_CUDA_EXPORT Result cuGetErrorString(Result error, const char **text) {
  static Function function("cuGetErrorString");
  return call(function, Need::nothing, [&]() -> Result {
    if (!text) return INVALID_VALUE;
    *text = description_of(error);
    return *text ? SUCCESS : INVALID_VALUE;
  });
}

FAKE_CUDA_EXPORT Result cuDeviceGetCount(int *count) {
  static Function function("cuDeviceGetCount");
  return call(function, Need::initialized, [&]() -> Result {
    if (!count) return INVALID_VALUE;
    *count = static_cast<int>(world().options.devices);
    return SUCCESS;
  });
}

FAKE_CUDA_EXPORT Result cuDeviceGet(Ordinal *device, int ordinal) {
  static Function function("cuDeviceGet");
  return call(function, Need::initialized, [&]() -> Result {
    if (!device) return INVALID_VALUE;
    if (ordinal < 0 || ordinal >= world().options.devices)
      return INVALID_DEVICE;  // a fair question
    *device = ordinal;
    return SUCCESS;
  });
}

FAKE_CUDA_EXPORT Result cuDeviceGetAttribute(int *value, int attribute, Ordinal device) {
  static Function function("cuDeviceGetAttribute");
  return call(function, Need::initialized, [&]() -> Result {
    if (!value || attribute < 1 || attribute > 200) return INVALID_VALUE;
    if (!device_exists(device)) return INVALID_DEVICE;
    *value = attribute_value(attribute, device);
    return SUCCESS;
  });
}

FAKE_CUDA_EXPORT Result cuDeviceGetName(char *name, int size, Ordinal device) {
  static Function function("cuDeviceGetName");
  return call(function, Need::initialized, [&]() -> Result {
    if (!name || size <= 0) return INVALID_VALUE;
    if (!device_exists(device)) return INVALID_DEVICE;
    std::snprintf(name, static_cast<std::size_t>(size), "Fake device %d", device);
    return SUCCESS;
  });
}

namespace {
Result device_uuid(Uuid *uuid, Ordinal device) {
  if (!uuid) return INVALID_VALUE;
  if (!device_exists(device)) return INVALID_DEVICE;
  std::memcpy(uuid->bytes, "fake CUDA device", sizeof uuid->bytes);
  uuid->bytes[15] = static_cast<char>(device);
  return SUCCESS;
}
}  // namespace

FAKE_CUDA_EXPORT Result cuDeviceGetUuid(Uuid *uuid, Ordinal device) {
  static Function function("cuDeviceGetUuid");
  return call(function, Need::initialized, [&] { return device_uuid(uuid, device); });
}

FAKE_CUDA_EXPORT Result cuDeviceGetUuid_v2(Uuid *uuid, Ordinal device) {
  static Function function("cuDeviceGetUuid_v2");
  return call(function, Need::initialized, [&] { return device_uuid(uuid, device); });
}

FAKE_CUDA_EXPORT Result cuDeviceTotalMem_v2(std::size_t *bytes, Ordinal device) {
  static Function function("cuDeviceTotalMem_v2");
  return call(function, Need::initialized, [&]() -> Result {
    if (!bytes) return INVALID_VALUE;
    if (!device_exists(device)) return INVALID_DEVICE;
    *bytes = static_cast<std::size_t>(world().options.memory);
    return SUCCESS;
  });
}

FAKE_CUDA_EXPORT Result cuDeviceComputeCapability(int *major, int *minor, Ordinal device) {
  static Function function("cuDeviceComputeCapability");
  return call(function, Need::initialized, [&]() -> Result {
    if (!major || !minor) return INVALID_VALUE;
    if (!device_exists(device)) return INVALID_DEVICE;
    *major = attribute_value(75, device);
    *minor = attribute_value(76, device);
    return SUCCESS;
  });
}

FAKE_CUDA_EXPORT Result cuDeviceCanAccessPeer(int *can, Ordinal device, Ordinal peer) {
  static Function function("cuDeviceCanAccessPeer");
  return call(function, Need::initialized, [&]() -> Result {
    if (!can) return INVALID_VALUE;
    if (!device_exists(device) || !device_exists(peer)) return INVALID_DEVICE;
    *can = 0;
    return SUCCESS;
  });
}
