// What a CUDA driver answers, asked of whichever driver there is: the fake one, whose answers these
// are, or a real one, which says whether the fake tells the truth.
//
//   fake-cuda-facts [LIBRARY]   libcuda.so.1 where none is named
//
// Prints each question with the driver's answer, and the expected one where it differs; ends with
// how many differ, which is also the exit status (at most 100; 77: no driver or no device).
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "driver.h"

using namespace fake;

namespace {

void *library;
int asked, differing;

#define DRIVER(name) reinterpret_cast<decltype(&::name)>(dlsym(library, #name))

void fact(const char *question, long long answer, long long expected) {
  asked++;
  if (answer == expected) {
    std::printf("%s: %lld\n", question, answer);
  } else {
    differing++;
    std::printf("%s: %lld, NOT %lld\n", question, answer, expected);
  }
  std::fflush(stdout);
}

void *number(std::uintptr_t value) {
  return reinterpret_cast<void *>(value);  // NOLINT(performance-no-int-to-ptr)
}

Pointer address(const void *memory) {
  return reinterpret_cast<Pointer>(memory);
}

template <typename Value>
long long attribute(int which, Pointer pointer) {
  Value value = {};
  const Result result = DRIVER(cuPointerGetAttribute)(&value, which, pointer);
  return result == SUCCESS ? (long long)value : -result;
}

long long capture_status(void *stream) {
  int status = -1;
  const Result result = DRIVER(cuStreamIsCapturing)(stream, &status);
  return result == SUCCESS ? status : -result;
}

void about_beginnings() {
  int value = 0, status = -1;
  void *found = nullptr;
  fact("cuDeviceGetCount before cuInit", DRIVER(cuDeviceGetCount)(&value), 3);
  fact("cuInit with flags", DRIVER(cuInit)(1), 1);
  if (DRIVER(cuInit)(0) != SUCCESS) std::exit(77);
  fact("cuDeviceGet 99", DRIVER(cuDeviceGet)(&value, 99), 101);
  fact("cuDeviceGetAttribute of device 99", DRIVER(cuDeviceGetAttribute)(&value, 75, 99), 101);
  fact("cuDeviceGetAttribute 0", DRIVER(cuDeviceGetAttribute)(&value, 0, 0), 1);
  const char *text = nullptr;
  fact("cuGetErrorName of no code", DRIVER(cuGetErrorName)(12345, &text), 1);
  const auto look = [&](const char *name, int version, int *how) {
    found = nullptr;
    return DRIVER(cuGetProcAddress_v2)(name, &found, version, 0, how);
  };
  fact("cuGetProcAddress cuMemAlloc 12000", look("cuMemAlloc", 12000, &status), 0);
  fact("  status", status, 0);
  fact("  is cuMemAlloc_v2's", found != nullptr && found != dlsym(library, "cuMemAlloc"), 1);
  fact("cuGetProcAddress cuNothing", look("cuNothing", 12000, &status), 0);
  fact("  status", status, 1);
  fact("  address", found != nullptr, 0);
  fact("cuGetProcAddress cuNothing, no status", look("cuNothing", 12000, nullptr), 0);
  fact("cuGetProcAddress of version 99000", look("cuMemAlloc", 99000, &status), 1);
}

void about_contexts(void *&context) {
  Pointer pointer = 0;
  void *current = nullptr;
  int device = -1;
  fact("cuCtxGetCurrent of none", DRIVER(cuCtxGetCurrent)(&current), 0);
  fact("cuCtxGetDevice of none", DRIVER(cuCtxGetDevice)(&device), 201);
  fact("cuCtxPopCurrent of none", DRIVER(cuCtxPopCurrent_v2)(&current), 201);
  fact("cuMemAlloc without a context", DRIVER(cuMemAlloc_v2)(&pointer, 8), 201);
  fact("cuStreamSynchronize without a context", DRIVER(cuStreamSynchronize)(nullptr), 201);
  fact("cuDevicePrimaryCtxRelease, not retained", DRIVER(cuDevicePrimaryCtxRelease_v2)(0), 201);
  fact("cuDevicePrimaryCtxRetain 99", DRIVER(cuDevicePrimaryCtxRetain)(&context, 99), 101);
  fact("cuDevicePrimaryCtxRetain", DRIVER(cuDevicePrimaryCtxRetain)(&context, 0), 0);
  void *again = nullptr;
  fact("  again", DRIVER(cuDevicePrimaryCtxRetain)(&again, 0), 0);
  fact("  is the same", again == context, 1);
  fact("  release", DRIVER(cuDevicePrimaryCtxRelease_v2)(0), 0);
  fact("cuCtxPushCurrent", DRIVER(cuCtxPushCurrent_v2)(context), 0);
  fact("cuCtxPushCurrent of null", DRIVER(cuCtxPushCurrent_v2)(nullptr), 201);
}

void about_attributes(void *context) {
  Pointer device = 0, managed = 0, pooled = 0;
  void *host = nullptr, *registered = std::aligned_alloc(4096, 8192);
  fact("cuMemAlloc", DRIVER(cuMemAlloc_v2)(&device, 4096), 0);
  fact("cuMemAllocManaged", DRIVER(cuMemAllocManaged)(&managed, 4096, 1), 0);
  fact("cuMemAllocAsync", DRIVER(cuMemAllocAsync)(&pooled, 4096, nullptr), 0);
  fact("cuMemHostAlloc", DRIVER(cuMemHostAlloc)(&host, 4096, 0), 0);
  fact("cuMemHostRegister", DRIVER(cuMemHostRegister_v2)(registered, 8192, 0), 0);
  fact("  of its part", DRIVER(cuMemHostRegister_v2)((char *)registered + 4096, 4096, 0), 712);
  int own = 0;
  const struct {
    const char *name;
    Pointer pointer;
    long long type, is_managed, ordinal;
  } kinds[] = {{"device memory", device + 5, 2, 0, 0},
               {"managed memory", managed, 2, 1, 0},
               {"pool memory", pooled, 2, 0, 0},
               {"page-locked memory", address(host), 1, 0, 0},
               {"registered memory", address(registered), 1, 0, 0},
               {"pageable memory", address(&own), -1, -1, -1}};
  for (const auto &kind : kinds) {
    std::printf("- %s\n", kind.name);
    fact("memory type", attribute<unsigned>(2, kind.pointer), kind.type);
    fact("is managed", attribute<unsigned>(8, kind.pointer), kind.is_managed);
    fact("device ordinal", attribute<int>(9, kind.pointer), kind.ordinal);
    fact("device pointer is its own",
         attribute<Pointer>(3, kind.pointer) == (long long)kind.pointer, kind.type != -1);
  }
  fact("context of device memory is current", attribute<Pointer>(1, device) == (long long)context,
       1);
  fact("context of pool memory", attribute<Pointer>(1, pooled) > 0, 0);
  fact("host pointer of device memory", attribute<Pointer>(4, device), -1);
  std::thread([&] {
    fact("memory type, no context current", attribute<unsigned>(2, device), 2);
    fact("device pointer, no context current", attribute<Pointer>(3, device), -201);
  }).join();
  fact("cuMemFree", DRIVER(cuMemFree_v2)(device), 0);
  fact("  memory type", attribute<unsigned>(2, device), -1);
  fact("cuMemFree of managed memory", DRIVER(cuMemFree_v2)(managed), 0);
  fact("cuMemFree of pool memory", DRIVER(cuMemFree_v2)(pooled), 0);
  fact("cuMemFreeHost", DRIVER(cuMemFreeHost)(host), 0);
  fact("  memory type", attribute<unsigned>(2, address(host)), -1);
  fact("cuMemHostUnregister", DRIVER(cuMemHostUnregister)(registered), 0);
  fact("  again", DRIVER(cuMemHostUnregister)(registered), 713);
  std::free(registered);
}

void about_misuse() {
  Pointer device = 0, other = 0;
  void *host = nullptr;
  char bytes[64] = {};
  fact("cuMemAlloc of 0 bytes", DRIVER(cuMemAlloc_v2)(&device, 0), 1);
  fact("cuMemHostAlloc of 0 bytes", DRIVER(cuMemHostAlloc)(&host, 0, 0), 1);
  fact("cuMemAllocAsync of 0 bytes", DRIVER(cuMemAllocAsync)(&other, 0, nullptr), 1);
  fact("cuMemFree of null", DRIVER(cuMemFree_v2)(0), 0);
  fact("cuMemAlloc of too much", DRIVER(cuMemAlloc_v2)(&device, std::size_t{1} << 50), 2);
  DRIVER(cuMemAlloc_v2)(&device, 64);
  fact("cuMemFree of an inner address", DRIVER(cuMemFree_v2)(device + 1), 1);
  fact("cuMemFree of pageable memory", DRIVER(cuMemFree_v2)(address(bytes)), 1);
  fact("cuMemFreeHost of pageable memory", DRIVER(cuMemFreeHost)(bytes), 1);
  fact("copy to a pageable 'device'",
       DRIVER(cuMemcpyHtoDAsync_v2)(address(bytes), bytes, 8, nullptr), 1);
  fact("copy to null", DRIVER(cuMemcpyHtoDAsync_v2)(0, bytes, 8, nullptr), 1);
  fact("copy of 0 bytes to null", DRIVER(cuMemcpyHtoDAsync_v2)(0, bytes, 0, nullptr), 0);
  fact("cuMemcpyAsync from pageable", DRIVER(cuMemcpyAsync)(device, address(bytes), 8, nullptr), 0);
  Copy2D narrow = {};
  narrow.source_type = MemoryType::host;
  narrow.source_host = bytes;
  narrow.source_pitch = 16;
  narrow.target_type = MemoryType::device;
  narrow.target_device = device;
  narrow.target_pitch = 8;
  narrow.width = 16;
  narrow.height = 2;
  fact("rows wider than their pitch", DRIVER(cuMemcpy2DAsync_v2)(&narrow, nullptr), 1);
  fact("cuMemFreeAsync of cuMemAlloc's", DRIVER(cuMemFreeAsync)(device, nullptr), 0);
  fact("cuCtxSynchronize", DRIVER(cuCtxSynchronize)(), 0);
  fact("cuStreamDestroy of the legacy stream", DRIVER(cuStreamDestroy_v2)(number(1)), 400);
}

void about_events(void *context) {
  void *stream = nullptr, *event = nullptr, *other = nullptr;
  fact("cuStreamCreate", DRIVER(cuStreamCreate)(&stream, 1), 0);
  fact("cuEventCreate", DRIVER(cuEventCreate)(&event, 2), 0);
  fact("cuEventQuery, never recorded", DRIVER(cuEventQuery)(event), 0);
  fact("cuStreamWaitEvent, never recorded", DRIVER(cuStreamWaitEvent)(stream, event, 0), 0);
  fact("cuEventSynchronize, never recorded", DRIVER(cuEventSynchronize)(event), 0);
  for (const std::uintptr_t handle : {0U, 1U, 2U})
    fact("cuEventRecord on a default stream", DRIVER(cuEventRecord)(event, number(handle)), 0);
  fact("cuEventRecord", DRIVER(cuEventRecord)(event, stream), 0);
  std::thread([&] {
    fact("cuEventQuery, no context current", DRIVER(cuEventQuery)(event) != 0, 1);
    fact("cuStreamSynchronize, no context current", DRIVER(cuStreamSynchronize)(stream), 201);
  }).join();
  fact("cuCtxCreate", DRIVER(cuCtxCreate_v2)(&other, 0, 0), 0);
  fact("cuEventRecord, two contexts", DRIVER(cuEventRecord)(event, nullptr), 400);
  fact("cuStreamSynchronize of another context's", DRIVER(cuStreamSynchronize)(stream), 400);
  fact("cuStreamIsCapturing of another context's", capture_status(stream), -400);
  fact("cuCtxDestroy", DRIVER(cuCtxDestroy_v2)(other), 0);
  void *current = nullptr;
  DRIVER(cuCtxGetCurrent)(&current);
  fact("  leaves what was below", current == context, 1);
  fact("cuEventDestroy", DRIVER(cuEventDestroy_v2)(event), 0);
  fact("cuStreamDestroy", DRIVER(cuStreamDestroy_v2)(stream), 0);
}

// Runs one question while a blocking stream is captured, and says what became of the capture.
template <typename Question>
void while_captured(const char *question, long long expected, long long status, Question ask) {
  void *stream = nullptr, *graph = nullptr;
  DRIVER(cuStreamCreate)(&stream, 0);
  const Result began = DRIVER(cuStreamBeginCapture_v2)(stream, 0);
  if (began != SUCCESS) fact("cuStreamBeginCapture", began, 0);
  fact(question, ask(stream), expected);
  fact("  capture", capture_status(stream), status);
  fact("  end", DRIVER(cuStreamEndCapture)(stream, &graph), status == 2 ? 901 : 0);
  if (graph) DRIVER(cuGraphDestroy)(graph);
  DRIVER(cuStreamDestroy_v2)(stream);
}

void about_captures() {
  Pointer device = 0, more = 0;
  void *host = nullptr, *event = nullptr, *outside = nullptr, *other = nullptr;
  void *more_events = nullptr, *more_memory = nullptr;
  char bytes[64] = {};
  DRIVER(cuMemAlloc_v2)(&device, 64);
  DRIVER(cuMemHostAlloc)(&host, 64, 0);
  DRIVER(cuEventCreate)(&event, 2);
  DRIVER(cuEventCreate)(&outside, 2);
  DRIVER(cuStreamCreate)(&other, 1);
  DRIVER(cuEventRecord)(outside, number(2));
  DRIVER(cuCtxSynchronize)();
  std::printf("- while a stream is captured, in global mode\n");
  while_captured("a copy", 0, 1, [&](void *stream) {
    return DRIVER(cuMemcpyDtoHAsync_v2)(host, device, 64, stream);
  });
  while_captured("a copy to pageable memory", 900, 2, [&](void *stream) {
    return DRIVER(cuMemcpyDtoHAsync_v2)(bytes, device, 64, stream);
  });
  while_captured("cuStreamSynchronize", 900, 2,
                 [&](void *stream) { return DRIVER(cuStreamSynchronize)(stream); });
  while_captured("cuStreamQuery", 900, 2,
                 [&](void *stream) { return DRIVER(cuStreamQuery)(stream); });
  while_captured("cuCtxSynchronize", 900, 2, [&](void *) { return DRIVER(cuCtxSynchronize)(); });
  while_captured("cuMemAlloc", 900, 2, [&](void *) { return DRIVER(cuMemAlloc_v2)(&more, 8); });
  while_captured("cuStreamSynchronize of another stream", 0, 1,
                 [&](void *) { return DRIVER(cuStreamSynchronize)(other); });
  while_captured("cuMemAlloc in relaxed mode", 0, 1, [&](void *) {
    int mode = 2;
    DRIVER(cuThreadExchangeStreamCaptureMode)(&mode);
    const Result result = DRIVER(cuMemAlloc_v2)(&more, 8);
    DRIVER(cuThreadExchangeStreamCaptureMode)(&mode);
    return result;
  });
  while_captured("cuEventCreate", 0, 1,
                 [&](void *) { return DRIVER(cuEventCreate)(&more_events, 0); });
  while_captured("cuPointerGetAttribute", 2, 1,
                 [&](void *) { return attribute<unsigned>(2, device); });
  while_captured("cuMemFreeHost", 900, 2, [&](void *) { return DRIVER(cuMemFreeHost)(host); });
  while_captured("cuMemFreeAsync of memory from outside", 1, 2,
                 [&](void *stream) { return DRIVER(cuMemFreeAsync)(device, stream); });
  while_captured("cuMemHostAlloc", 900, 2,
                 [&](void *) { return DRIVER(cuMemHostAlloc)(&more_memory, 64, 0); });
  while_captured("cuMemFree", 900, 2, [&](void *) { return DRIVER(cuMemFree_v2)(device); });
  while_captured("cuEventQuery of an event outside", 900, 2,
                 [&](void *) { return DRIVER(cuEventQuery)(outside); });
  while_captured("cuEventQuery of its event", 907, 2, [&](void *stream) {
    DRIVER(cuEventRecord)(event, stream);
    return DRIVER(cuEventQuery)(event);
  });
  while_captured("cuStreamWaitEvent of an event outside", 905, 2,
                 [&](void *stream) { return DRIVER(cuStreamWaitEvent)(stream, outside, 0); });
  while_captured("a copy on the legacy stream", 906, 2,
                 [&](void *) { return DRIVER(cuMemcpyDtoHAsync_v2)(host, device, 64, nullptr); });
  while_captured("cuStreamSynchronize of the legacy stream", 906, 2,
                 [&](void *) { return DRIVER(cuStreamSynchronize)(nullptr); });
  while_captured("cuStreamIsCapturing of the legacy stream", -906, 1,
                 [&](void *) { return capture_status(nullptr); });
  for (void *made : {outside, more_events}) DRIVER(cuEventDestroy_v2)(made);
  DRIVER(cuStreamDestroy_v2)(other);
  for (const Pointer made : {device, more}) DRIVER(cuMemFree_v2)(made);
  DRIVER(cuMemFreeHost)(host);
  DRIVER(cuEventDestroy_v2)(event);
}

}  // namespace

int main(int argc, char **argv) {
  library = dlopen(argc > 1 ? argv[1] : "libcuda.so.1", RTLD_NOW);
  if (!library) {
    std::printf("no driver: %s\n", dlerror());
    return 77;
  }
  void *context = nullptr;
  about_beginnings();
  about_contexts(context);
  about_attributes(context);
  about_misuse();
  about_events(context);
  about_captures();
  fact("cuDevicePrimaryCtxRelease", DRIVER(cuDevicePrimaryCtxRelease_v2)(0), 0);
  std::printf("%d answers, %d not as the fake driver's\n", asked, differing);
  return std::min(differing, 100);
}
