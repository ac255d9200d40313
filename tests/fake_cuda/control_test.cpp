// The fake driver's beginnings, contexts, counting and failing.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "support.h"

namespace {

using Contexts = FakeCuda;
using Control = FakeCuda;

TEST(Beginning, NeedsCuInit) {
  fake_cuda_reset();
  int count = 0;
  EXPECT_EQ(cuDeviceGetCount(&count), NOT_INITIALIZED);
  EXPECT_EQ(cuInit(1), INVALID_VALUE);
  EXPECT_EQ(cuInit(0), SUCCESS);
  EXPECT_EQ(cuDeviceGetCount(&count), SUCCESS);
  EXPECT_EQ(count, 2);
  int device = 0;
  EXPECT_EQ(cuDeviceGet(&device, 2), INVALID_DEVICE);
}

TEST(Beginning, MayFail) {
  fake_cuda_reset();
  EXPECT_EQ(fake_cuda_set("devices", 0), 0);
  EXPECT_EQ(cuInit(0), NO_DEVICE);
  fake_cuda_set("init_result", 803);
  EXPECT_EQ(cuInit(0), 803);
  fake_cuda_reset();
  EXPECT_EQ(cuInit(0), SUCCESS);
  fake_cuda_set("driver_version", 11040);
  int version = 0;
  EXPECT_EQ(cuDriverGetVersion(&version), SUCCESS);
  EXPECT_EQ(version, 11040);
  fake_cuda_set("deinitialized", 1);
  EXPECT_EQ(cuDriverGetVersion(&version), DEINITIALIZED);
  EXPECT_EQ(fake_cuda_set("no_such_option", 1), -1);
  fake_cuda_reset();
}

TEST(Beginning, OfAnotherProcessIsNoneOfAFork) {
  fake_cuda_reset();
  EXPECT_EQ(cuInit(0), SUCCESS);
  const pid_t child = fork();
  if (child == 0) {
    int count = 0;
    _exit(cuInit(0) == NOT_INITIALIZED && cuDeviceGetCount(&count) == NOT_INITIALIZED ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Lookup, FindsTheNewestVariant) {
  fake_cuda_reset();
  void *address = nullptr;
  int status = -1;
  EXPECT_EQ(cuGetProcAddress_v2("cuMemAlloc", &address, 12000, 0, &status), SUCCESS);
  EXPECT_EQ(address, reinterpret_cast<void *>(&cuMemAlloc_v2));
  EXPECT_EQ(status, 0);
  EXPECT_EQ(cuGetProcAddress_v2("cuNothing", &address, 12000, 0, &status), SUCCESS);
  EXPECT_EQ(address, nullptr);
  EXPECT_EQ(status, 1);
  EXPECT_EQ(cuGetProcAddress_v2("cuMemAlloc", &address, 99000, 0, &status), INVALID_VALUE);
  EXPECT_EQ(cuGetProcAddress("cuMemAllocAsync", &address, 11020, 0), SUCCESS);
  fake_cuda_hide("cuMemAllocAsync");
  EXPECT_EQ(cuGetProcAddress("cuMemAllocAsync", &address, 11020, 0), NOT_FOUND);
  EXPECT_EQ(cuGetProcAddress_v2("cuInit", &address, 12000, 0, nullptr), SUCCESS);
}

// What a program finds that opens the driver by its name, and what the host uses.
TEST(Lookup, ServesWhoOpensTheDriver) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  EXPECT_EQ(dlsym(library, "cuInit"), reinterpret_cast<void *>(&cuInit));
  for (const char *name : {"cuInit",
                           "cuDriverGetVersion",
                           "cuGetProcAddress_v2",
                           "cuGetErrorName",
                           "cuGetErrorString",
                           "cuDeviceGetCount",
                           "cuDeviceGet",
                           "cuDeviceGetAttribute",
                           "cuDevicePrimaryCtxRetain",
                           "cuDevicePrimaryCtxRelease_v2",
                           "cuCtxPushCurrent_v2",
                           "cuCtxPopCurrent_v2",
                           "cuCtxGetCurrent",
                           "cuStreamSynchronize",
                           "cuStreamIsCapturing",
                           "cuStreamWaitEvent",
                           "cuEventCreate",
                           "cuEventRecord",
                           "cuEventQuery",
                           "cuEventSynchronize",
                           "cuEventDestroy_v2",
                           "cuMemAlloc_v2",
                           "cuMemFree_v2",
                           "cuMemAllocAsync",
                           "cuMemFreeAsync",
                           "cuMemHostAlloc",
                           "cuMemFreeHost",
                           "cuMemcpyHtoDAsync_v2",
                           "cuMemcpyDtoHAsync_v2",
                           "cuMemcpyDtoDAsync_v2",
                           "cuMemcpy2DAsync_v2",
                           "cuMemcpyAsync",
                           "cuPointerGetAttribute",
                           "cuStreamCreate",
                           "cuStreamDestroy_v2",
                           "cuCtxSynchronize"})
    EXPECT_NE(dlsym(library, name), nullptr) << name;
  dlclose(library);
}

TEST_F(Contexts, AreAStackPerThread) {
  void *current = nullptr, *other = nullptr;
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&other, 1), SUCCESS);
  EXPECT_NE(other, context);
  EXPECT_EQ(cuCtxPushCurrent_v2(other), SUCCESS);
  EXPECT_EQ(state().context_depth, 2);
  std::thread([&] {
    EXPECT_EQ(cuCtxGetCurrent(&current), SUCCESS);
    EXPECT_EQ(current, nullptr);
    EXPECT_EQ(state().context_depth, 0);
    EXPECT_EQ(state().pushes_less_pops, 2);
  }).join();
  int device = -1;
  EXPECT_EQ(cuCtxGetDevice(&device), SUCCESS);
  EXPECT_EQ(device, 1);
  EXPECT_EQ(cuCtxPopCurrent_v2(&current), SUCCESS);
  EXPECT_EQ(current, other);
  EXPECT_EQ(cuCtxGetCurrent(&current), SUCCESS);
  EXPECT_EQ(current, context);
}

TEST_F(Contexts, PoppedTooOftenAreAFault) {
  EXPECT_EQ(cuCtxPopCurrent_v2(nullptr), SUCCESS);
  EXPECT_EQ(cuCtxPopCurrent_v2(nullptr), INVALID_CONTEXT);
  expect_fault("unbalanced-pop");
  Pointer pointer = 0;
  EXPECT_EQ(cuMemAlloc_v2(&pointer, 8), INVALID_CONTEXT);
  expect_fault("no-context");
}

TEST_F(Contexts, ReleasedTooOftenOrTooEarlyAreFaults) {
  EXPECT_EQ(state().retains, 1);
  device_memory(8);
  EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), SUCCESS);
  expect_fault("lost-memory");
  EXPECT_EQ(state().device_allocations, 0);
  EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), INVALID_CONTEXT);
  expect_fault("unbalanced-release");
  EXPECT_EQ(cuCtxPushCurrent_v2(context), INVALID_CONTEXT);
  expect_fault("bad-handle");
  EXPECT_EQ(cuCtxSynchronize(), 709);
  expect_fault("no-context");
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, 7), INVALID_DEVICE);
  expect_fault("wrong-device");
}

TEST_F(Contexts, OwnStreamsAndEvents) {
  void *stream = new_stream(), *event = new_event(), *other = nullptr;
  EXPECT_EQ(cuCtxCreate_v2(&other, 0, 1), SUCCESS);
  EXPECT_EQ(state().contexts, 1);
  EXPECT_EQ(cuStreamSynchronize(stream), INVALID_HANDLE);
  expect_fault("wrong-context");
  EXPECT_EQ(cuEventRecord(event, nullptr), INVALID_HANDLE);
  expect_fault("wrong-context");
  EXPECT_EQ(cuCtxDestroy_v2(other), SUCCESS);
  EXPECT_EQ(state().contexts, 0);
  EXPECT_EQ(state().context_depth, 1);
  EXPECT_EQ(cuStreamDestroy_v2(stream), SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream), INVALID_HANDLE);
  expect_fault("bad-handle");
  EXPECT_EQ(cuEventDestroy_v2(event), SUCCESS);
  EXPECT_EQ(cuEventDestroy_v2(event), INVALID_HANDLE);
  expect_fault("bad-handle");
  EXPECT_EQ(state().streams + state().events, 0);
}

TEST_F(Control, CountsCalls) {
  fake_cuda_reset_calls();
  void *event = new_event();
  cuEventDestroy_v2(event);
  EXPECT_EQ(fake_cuda_calls("cuEventCreate"), 1);
  EXPECT_EQ(fake_cuda_calls("cuEventDestroy"), 1);
  EXPECT_EQ(fake_cuda_calls("cuEventDestroy_v2"), 1);
  EXPECT_EQ(fake_cuda_calls(nullptr), 2);
  EXPECT_STREQ(fake_cuda_trace(), "cuEventCreate\ncuEventDestroy_v2\n");
}

TEST_F(Control, FailsTheNthCall) {
  fake_cuda_fail_nth(2, OUT_OF_MEMORY);
  const Pointer pointer = device_memory(8);
  Pointer other = 0;
  EXPECT_EQ(cuMemAlloc_v2(&other, 8), OUT_OF_MEMORY);
  EXPECT_EQ(other, 0U);
  EXPECT_EQ(cuMemAlloc_v2(&other, 8), SUCCESS);
  EXPECT_EQ(fake_cuda_failed(), 1);
  fake_cuda_fail_nth(1, UNKNOWN);
  EXPECT_EQ(cuMemFree_v2(pointer), UNKNOWN);  // given back all the same
  EXPECT_EQ(state().device_allocations, 1);
}

TEST_F(Control, FailsCallsByName) {
  fake_cuda_fail_next("cuEventCreate", OUT_OF_MEMORY, 2);
  device_memory(8);
  void *event = nullptr;
  EXPECT_EQ(cuEventCreate(&event, 0), OUT_OF_MEMORY);
  EXPECT_EQ(cuEventCreate(&event, 0), OUT_OF_MEMORY);
  EXPECT_EQ(cuEventCreate(&event, 0), SUCCESS);
}

TEST_F(Control, SomeErrorsStick) {
  void *stream = new_stream();
  const Pointer pointer = doubles({1});
  EXPECT_EQ(fake_cuda_launch_scale(stream, pointer, pointer, 1, 2), SUCCESS);
  fake_cuda_fail_next("cuStreamSynchronize", 700, 1);
  EXPECT_EQ(cuStreamSynchronize(stream), 700);
  EXPECT_EQ(cuStreamSynchronize(stream), 700);
  EXPECT_EQ(state().pending, 0);
  EXPECT_EQ(cuMemFree_v2(pointer), 700);
  EXPECT_EQ(state().device_allocations, 0);
  void *current = nullptr;
  EXPECT_EQ(cuCtxPopCurrent_v2(&current), SUCCESS);  // the stack is no matter of the device
  EXPECT_EQ(cuCtxPushCurrent_v2(current), SUCCESS);
  fake_cuda_clear();
  EXPECT_EQ(cuStreamSynchronize(stream), SUCCESS);
  fake_cuda_stick(0, 719);
  EXPECT_EQ(cuStreamSynchronize(stream), 719);
}

TEST_F(Control, AStrayKernelSticks) {
  const Pointer pointer = device_memory(8);
  EXPECT_EQ(cuMemFree_v2(pointer), SUCCESS);
  EXPECT_EQ(fake_cuda_launch_scale(nullptr, pointer, pointer, 1, 2), SUCCESS);
  expect_fault("use-after-free");
  EXPECT_EQ(cuCtxSynchronize(), 700);
}

TEST_F(Control, NamesCodes) {
  const char *text = nullptr;
  EXPECT_EQ(cuGetErrorName(700, &text), SUCCESS);
  EXPECT_STREQ(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_EQ(cuGetErrorString(2, &text), SUCCESS);
  EXPECT_STREQ(text, "out of memory");
  EXPECT_EQ(cuGetErrorName(12345, &text), INVALID_VALUE);
}

}  // namespace
