#include "driver.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "../error.h"

namespace host::cuda {
namespace {

constexpr const char *kUsualLibrary = "libcuda.so.1";
constexpr const char *kLibraryVariable = "TESSERACT_HOST_CUDA_DRIVER";
constexpr int kOldestVersion = 11000;  // of the functions, and of the meaning of their arguments
constexpr int kKnownVersion = 12000;   // of the functions declared in driver.h

enum State { kUnasked, kReady, kMissing };

std::mutex driver_mutex;
std::atomic<State> state{kUnasked};
std::atomic<bool> forked{false};
std::atomic<Result> lost{kSuccess};  // the error that no call survives
Driver table;
std::string reason;  // of kMissing
int devices = 0;

using ProcAddress = Result (*)(const char *, void **, int, uint64_t, int *);

// One function: its name to cuGetProcAddress, and the symbol that has its present form.
struct Entry {
  void **place;
  const char *name;
  const char *symbol;
};

template <typename Function>
Entry entry(Function *&place, const char *name, const char *symbol = nullptr) {
  return {reinterpret_cast<void **>(&place), name, symbol ? symbol : name};
}

[[noreturn]] void missing(const std::string &why) {
  throw Failure(TESSERACT_ERROR_UNAVAILABLE, "CUDA is not available: " + why);
}

void find_functions(void *library) {
  const auto proc_address = reinterpret_cast<ProcAddress>(dlsym(library, "cuGetProcAddress_v2"));
  const Entry entries[] = {
      entry(table.init, "cuInit"),
      entry(table.driver_version, "cuDriverGetVersion"),
      entry(table.error_name, "cuGetErrorName"),
      entry(table.error_string, "cuGetErrorString"),
      entry(table.device_count, "cuDeviceGetCount"),
      entry(table.device_get, "cuDeviceGet"),
      entry(table.context_retain, "cuDevicePrimaryCtxRetain"),
      entry(table.context_push, "cuCtxPushCurrent", "cuCtxPushCurrent_v2"),
      entry(table.context_pop, "cuCtxPopCurrent", "cuCtxPopCurrent_v2"),
      entry(table.context_synchronize, "cuCtxSynchronize"),
      entry(table.stream_synchronize, "cuStreamSynchronize"),
      entry(table.stream_is_capturing, "cuStreamIsCapturing"),
      entry(table.exchange_capture_mode, "cuThreadExchangeStreamCaptureMode"),
      entry(table.stream_wait_event, "cuStreamWaitEvent"),
      entry(table.event_create, "cuEventCreate"),
      entry(table.event_record, "cuEventRecord"),
      entry(table.event_query, "cuEventQuery"),
      entry(table.event_destroy, "cuEventDestroy", "cuEventDestroy_v2"),
      entry(table.allocate, "cuMemAlloc", "cuMemAlloc_v2"),
      entry(table.free, "cuMemFree", "cuMemFree_v2"),
      entry(table.allocate_host, "cuMemHostAlloc"),
      entry(table.free_host, "cuMemFreeHost"),
      entry(table.copy_to_device, "cuMemcpyHtoDAsync", "cuMemcpyHtoDAsync_v2"),
      entry(table.copy_to_host, "cuMemcpyDtoHAsync", "cuMemcpyDtoHAsync_v2"),
      entry(table.copy_on_device, "cuMemcpyDtoDAsync", "cuMemcpyDtoDAsync_v2"),
      entry(table.copy_2d, "cuMemcpy2DAsync", "cuMemcpy2DAsync_v2"),
      entry(table.pointer_attribute, "cuPointerGetAttribute"),
  };
  for (const Entry &each : entries) {
    void *found = nullptr;
    int status = 0;
    if (!proc_address || proc_address(each.name, &found, kKnownVersion, 0, &status) != kSuccess)
      found = nullptr;
    if (!found) found = dlsym(library, each.symbol);
    if (!found) missing(std::string("the driver is too old: it has no ") + each.symbol);
    *each.place = found;
  }
}

void start() {
  const char *named = secure_getenv(kLibraryVariable);
  const char *name = named && *named ? named : kUsualLibrary;
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *why = dlerror();
    missing(std::string("no driver was found (") + (why ? why : name) + ")");
  }
  find_functions(library);
  int version = 0;
  if (table.driver_version(&version) != kSuccess) missing("the driver does not tell its version");
  if (version < kOldestVersion)
    missing("the driver is too old: it is for CUDA " + std::to_string(version / 1000) + "." +
            std::to_string(version % 1000 / 10) + ", and 11.0 is needed");
  Result result = table.init(0);
  if (result == kSuccess) result = table.device_count(&devices);
  if (result == kNoDevice || (result == kSuccess && devices == 0)) missing("there is no device");
  if (result != kSuccess) missing("the driver does not start: " + error_text(result));
  pthread_atfork(nullptr, nullptr, [] { forked = true; });
}

// Decides once; what a second try would find is the same.
void decide() {
  const std::lock_guard lock(driver_mutex);
  if (state.load(std::memory_order_relaxed) != kUnasked) return;
  try {
    start();
    state.store(kReady, std::memory_order_release);
  } catch (const Failure &failure) {
    reason = failure.message;
    state.store(kMissing, std::memory_order_release);
  }
}

// Errors after which every call on the context fails, until the process ends: those of kernels and
// of the hardware.
bool is_sticky(Result result) {
  switch (result) {
    case 214:  // ECC_UNCORRECTABLE
    case 220:  // NVLINK_UNCORRECTABLE
    case 700:  // ILLEGAL_ADDRESS
    case 702:  // LAUNCH_TIMEOUT
    case 710:  // ASSERT
    case 714:  // HARDWARE_STACK_ERROR
    case 715:  // ILLEGAL_INSTRUCTION
    case 716:  // MISALIGNED_ADDRESS
    case 717:  // INVALID_ADDRESS_SPACE
    case 718:  // INVALID_PC
    case 719:  // LAUNCH_FAILED
      return true;
    default:
      return false;
  }
}

}  // namespace

const Driver &driver() {
  if (state.load(std::memory_order_acquire) == kUnasked) decide();
  if (state.load(std::memory_order_acquire) == kMissing)
    throw Failure(TESSERACT_ERROR_UNAVAILABLE, reason);
  if (forked.load(std::memory_order_relaxed))
    missing("this process was forked from one that used it, and no driver survives that");
  if (const Result error = lost.load(std::memory_order_relaxed))
    missing("an earlier call failed with " + error_text(error) +
            ", after which no call succeeds until the process ends");
  return table;
}

void check(Result result, const char *doing) {
  if (result == kSuccess) return;
  std::string text = std::string(doing) + " failed: " + error_text(result);
  if (is_sticky(result)) {
    lost.store(result, std::memory_order_relaxed);
    text += "; a kernel or the device failed earlier, and no call succeeds until the process ends";
  }
  throw Failure(result == kOutOfMemory ? TESSERACT_ERROR_OUT_OF_MEMORY : TESSERACT_ERROR_DEVICE,
                std::move(text));
}

std::string error_text(Result result) {
  const char *name = nullptr, *text = nullptr;
  if (table.error_name(result, &name) != kSuccess || !name)
    return "the unknown error " + std::to_string(result);
  if (table.error_string(result, &text) != kSuccess || !text) return name;
  return std::string(name) + " (" + text + ")";
}

int device_count() noexcept {
  try {
    driver();
    return devices;
  } catch (const Failure &) {
    return 0;
  }
}

}  // namespace host::cuda
