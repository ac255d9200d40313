// Memory of the fake driver: what it is, who may touch it, misuse.
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "support.h"

namespace {

using Memory = FakeCuda;

// Whether the CPU can read there; the kernel tries, and says so where it can't.
bool readable(Pointer pointer) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const long written = syscall(SYS_write, ends[1], pointer, 1);
  EXPECT_TRUE(written == 1 || errno == EFAULT);
  close(ends[0]);
  close(ends[1]);
  return written == 1;
}

template <typename Value>
Value attribute(int number, Pointer pointer) {
  Value value = {};
  EXPECT_EQ(cuPointerGetAttribute(&value, number, pointer), SUCCESS) << number;
  return value;
}

TEST_F(Memory, OfADeviceIsOutOfTheCpusReach) {
  const Pointer pointer = device_memory(64);
  EXPECT_FALSE(readable(pointer));
  const double value = 3;
  EXPECT_EQ(fake_cuda_write(pointer + 8, &value, 8), SUCCESS);
  EXPECT_EQ(values_at(pointer + 8, 1)[0], 3);
  EXPECT_FALSE(readable(pointer));
}

TEST_F(Memory, OfTheHostIsInReachUntilItIsFreed) {
  int *memory = host_memory<int>(4);
  EXPECT_TRUE(readable(reinterpret_cast<Pointer>(memory)));
  EXPECT_TRUE(poisoned(memory, 16));
  EXPECT_EQ(cuMemFreeHost(memory), SUCCESS);
  EXPECT_FALSE(readable(reinterpret_cast<Pointer>(memory)));
}

TEST_F(Memory, BeginsPoisoned) {
  unsigned char bytes[32];
  EXPECT_EQ(fake_cuda_read(device_memory(32), bytes, 32), SUCCESS);
  EXPECT_TRUE(poisoned(bytes, 32));
}

TEST_F(Memory, KnowsWhatItIs) {
  const Pointer device = device_memory(100);
  EXPECT_EQ(attribute<unsigned>(2, device + 99), 2U);
  EXPECT_EQ(attribute<int>(9, device), 0);
  EXPECT_EQ(attribute<void *>(1, device), context);
  EXPECT_EQ(attribute<int>(8, device), 0);
  EXPECT_EQ(attribute<Pointer>(3, device + 5), device + 5);
  Pointer managed = 0;
  EXPECT_EQ(cuMemAllocManaged(&managed, 64, 1), SUCCESS);
  EXPECT_EQ(attribute<unsigned>(2, managed), 2U);
  EXPECT_EQ(attribute<int>(8, managed), 1);
  EXPECT_TRUE(readable(managed));
  const auto host = reinterpret_cast<Pointer>(host_memory<char>(10));
  EXPECT_EQ(attribute<unsigned>(2, host), 1U);
  std::vector<char> own(100);
  const auto registered = reinterpret_cast<Pointer>(own.data());
  int value = 0;
  EXPECT_EQ(cuPointerGetAttribute(&value, 2, registered), INVALID_VALUE);
  EXPECT_EQ(cuMemHostRegister_v2(own.data(), own.size(), 0), SUCCESS);
  EXPECT_EQ(attribute<unsigned>(2, registered), 1U);
  EXPECT_EQ(cuMemHostRegister_v2(own.data() + 50, 10, 0), 712);
  EXPECT_EQ(cuMemHostUnregister(own.data()), SUCCESS);
  EXPECT_EQ(cuMemHostUnregister(own.data()), 713);
  EXPECT_EQ(cuMemFree_v2(device), SUCCESS);
  EXPECT_EQ(cuPointerGetAttribute(&value, 2, device), INVALID_VALUE);
}

TEST_F(Memory, OfASecondDeviceSaysSo) {
  void *other = nullptr;
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&other, 1), SUCCESS);
  EXPECT_EQ(cuCtxPushCurrent_v2(other), SUCCESS);
  EXPECT_EQ(attribute<int>(9, device_memory(8)), 1);
}

TEST_F(Memory, IsCountedAndEnds) {
  fake_cuda_set("memory", 1 << 20);
  const Pointer pointer = device_memory(1 << 19);
  Pointer more = 0;
  EXPECT_EQ(cuMemAlloc_v2(&more, (1 << 19) + 1), OUT_OF_MEMORY);
  EXPECT_EQ(cuMemAlloc_v2(&more, 0), INVALID_VALUE);
  EXPECT_EQ(state().device_allocations, 1);
  EXPECT_EQ(state().device_bytes, 1 << 19);
  EXPECT_EQ(cuMemFree_v2(pointer), SUCCESS);
  EXPECT_EQ(state().device_allocations, 0);
  EXPECT_EQ(cuMemAlloc_v2(&more, 1 << 20), SUCCESS);
  fake_cuda_set("host_memory", 64);
  void *host = nullptr;
  EXPECT_EQ(cuMemHostAlloc(&host, 65, 0), OUT_OF_MEMORY);
  EXPECT_EQ(state().host_allocations, 0);
}

TEST_F(Memory, AddressesArentGivenAgain) {
  const Pointer pointer = device_memory(8);
  EXPECT_EQ(cuMemFree_v2(pointer), SUCCESS);
  EXPECT_NE(device_memory(8), pointer);
}

TEST_F(Memory, FreedTwiceIsAFault) {
  const Pointer pointer = device_memory(8);
  EXPECT_EQ(cuMemFree_v2(pointer), SUCCESS);
  EXPECT_EQ(cuMemFree_v2(pointer), INVALID_VALUE);
  expect_fault("double-free");
  EXPECT_EQ(cuMemFreeAsync(pointer, nullptr), INVALID_VALUE);
  expect_fault("double-free");
  char *host = host_memory<char>(8);
  EXPECT_EQ(cuMemFreeHost(host), SUCCESS);
  EXPECT_EQ(cuMemFreeHost(host), INVALID_VALUE);
  expect_fault("double-free");
  EXPECT_EQ(cuMemFree_v2(0), SUCCESS);
}

TEST_F(Memory, FreeingWhatIsNoAllocationIsAFault) {
  const Pointer pointer = device_memory(8);
  char own = 0;
  EXPECT_EQ(cuMemFree_v2(pointer + 1), INVALID_VALUE);
  expect_fault("unknown-pointer");
  EXPECT_EQ(cuMemFreeHost(&own), INVALID_VALUE);
  expect_fault("unknown-pointer");
  EXPECT_EQ(cuMemFree_v2(reinterpret_cast<Pointer>(host_memory<char>(8))), INVALID_VALUE);
  expect_fault("unknown-pointer");
}

TEST_F(Memory, FreedIsNotToBeCopied) {
  const Pointer pointer = device_memory(8);
  double value = 0;
  EXPECT_EQ(cuMemFree_v2(pointer), SUCCESS);
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(&value, pointer, 8, nullptr), INVALID_VALUE);
  expect_fault("use-after-free");
  double *host = host_memory<double>(1);
  EXPECT_EQ(cuMemFreeHost(host), SUCCESS);
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(device_memory(8), host, 8, nullptr), INVALID_VALUE);
  expect_fault("use-after-free");
}

TEST_F(Memory, CopiesStayInBounds) {
  const Pointer pointer = device_memory(16);
  char bytes[32] = {};
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(pointer + 8, bytes, 9, nullptr), INVALID_VALUE);
  expect_fault("out-of-bounds");
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(reinterpret_cast<Pointer>(bytes), bytes, 9, nullptr),
            INVALID_VALUE);
  expect_fault("unknown-pointer");
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(pointer, reinterpret_cast<void *>(pointer), 9, nullptr),
            INVALID_VALUE);
  expect_fault("unknown-pointer");
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(0, bytes, 0, nullptr), SUCCESS);
}

TEST_F(Memory, OfAnotherContextIsAFault) {
  const Pointer first = device_memory(8);
  Pointer pooled = 0;
  EXPECT_EQ(cuMemAllocAsync(&pooled, 8, nullptr), SUCCESS);
  void *other = nullptr;
  double value = 0;
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&other, 1), SUCCESS);
  EXPECT_EQ(cuCtxPushCurrent_v2(other), SUCCESS);
  for (const Pointer pointer : {first, pooled}) {
    EXPECT_EQ(cuMemcpyHtoDAsync_v2(pointer, &value, 8, nullptr), INVALID_VALUE);
    expect_fault("wrong-context");
  }
  EXPECT_EQ(cuMemcpyAsync(device_memory(8), first, 8, nullptr), SUCCESS);  // between devices
  EXPECT_EQ(cuCtxSynchronize(), SUCCESS);
  EXPECT_EQ(cuMemFree_v2(first), INVALID_VALUE);
  expect_fault("wrong-context");
}

TEST_F(Memory, OfThePoolFollowsStreams) {
  void *stream = new_stream();
  Pointer pointer = 0;
  EXPECT_EQ(cuMemAllocAsync(&pointer, 16, stream), SUCCESS);
  const Pointer from = doubles({1, 2});
  EXPECT_EQ(fake_cuda_launch_scale(stream, pointer, from, 2, 10), SUCCESS);
  const Pointer to = device_memory(16);
  EXPECT_EQ(cuMemcpyDtoDAsync_v2(to, pointer, 16, stream), SUCCESS);
  EXPECT_EQ(cuMemFreeAsync(pointer, stream), SUCCESS);
  EXPECT_EQ(state().device_allocations, 2);
  EXPECT_EQ(cuStreamSynchronize(stream), SUCCESS);
  EXPECT_EQ(values_at(to, 2), (std::vector<double>{10, 20}));
  EXPECT_EQ(fake_cuda_read(pointer, nullptr, 1), INVALID_VALUE);
  fake_cuda_set("memory_pools", 0);
  EXPECT_EQ(cuMemAllocAsync(&pointer, 16, stream), NOT_SUPPORTED);
  int supported = 1;
  EXPECT_EQ(cuDeviceGetAttribute(&supported, 115, 0), SUCCESS);
  EXPECT_EQ(supported, 0);
}

TEST_F(Memory, FreedInAnotherStreamIsARace) {
  void *one = new_stream(), *other = new_stream();
  const Pointer pointer = device_memory(16);
  EXPECT_EQ(fake_cuda_launch_scale(one, pointer, doubles({1, 2}), 2, 10), SUCCESS);
  EXPECT_EQ(cuMemFreeAsync(pointer, other), SUCCESS);
  expect_fault("race");
  EXPECT_EQ(fake_cuda_pump(other, -1), 1);
  EXPECT_EQ(fake_cuda_pump(one, -1), 1);
  expect_fault("freed-in-use");
}

TEST_F(Memory, UnregisteredWhileACopyNeedsItIsAFault) {
  std::vector<char> own(64);
  EXPECT_EQ(cuMemHostRegister_v2(own.data(), own.size(), 0), SUCCESS);
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(device_memory(64), own.data(), 64, nullptr), SUCCESS);
  EXPECT_EQ(cuMemHostUnregister(own.data()), SUCCESS);
  expect_fault("freed-in-use");
}

TEST_F(Memory, OfTheHostFreedWhileACopyNeedsItIsAFault) {
  char *host = host_memory<char>(64);
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(device_memory(64), host, 64, nullptr), SUCCESS);
  EXPECT_EQ(cuMemFreeHost(host), SUCCESS);
  expect_fault("freed-in-use");
}

}  // namespace
