// What the tests of the fake driver share.
#ifndef TESTS_FAKE_CUDA_SUPPORT_H
#define TESTS_FAKE_CUDA_SUPPORT_H

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "driver.h"
#include "fake_cuda.h"

using namespace fake;

// A process whose first device's primary context is current.
class FakeCuda : public testing::Test {
 protected:
  FakeCuda() {
    fake_cuda_reset();
    EXPECT_EQ(cuInit(0), SUCCESS);
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, 0), SUCCESS);
    EXPECT_EQ(cuCtxPushCurrent_v2(context), SUCCESS);
  }

  ~FakeCuda() override { fake_cuda_reset(); }

  // Each fault is asked for once; a test that asks for none had none.
  void TearDown() override {
    for (int32_t i = expected_; i < fake_cuda_faults(); i++) ADD_FAILURE() << fake_cuda_fault(i);
  }

  void expect_fault(const std::string &kind) {
    const char *text = fake_cuda_fault(expected_);
    ASSERT_NE(text, nullptr) << "no fault, where " << kind << " was expected";
    EXPECT_EQ(std::string(text).rfind(kind + ": ", 0), 0U) << text;
    expected_++;
  }

  void *context = nullptr;

 private:
  int32_t expected_ = 0;
};

inline fake_cuda_state state() {
  fake_cuda_state now;
  fake_cuda_get_state(&now);
  return now;
}

inline Pointer device_memory(std::size_t bytes) {
  Pointer pointer = 0;
  EXPECT_EQ(cuMemAlloc_v2(&pointer, bytes), SUCCESS);
  return pointer;
}

inline Pointer doubles(const std::vector<double> &values) {
  const Pointer pointer = device_memory(values.size() * sizeof(double));
  EXPECT_EQ(fake_cuda_write(pointer, values.data(), values.size() * sizeof(double)), SUCCESS);
  return pointer;
}

inline std::vector<double> values_at(Pointer pointer, std::size_t count) {
  std::vector<double> values(count);
  EXPECT_EQ(fake_cuda_read(pointer, values.data(), count * sizeof(double)), SUCCESS);
  return values;
}

template <typename Value>
Value *host_memory(std::size_t count) {
  void *memory = nullptr;
  EXPECT_EQ(cuMemHostAlloc(&memory, count * sizeof(Value), 0), SUCCESS);
  return static_cast<Value *>(memory);
}

inline void *new_stream(bool blocking = true) {
  void *stream = nullptr;
  EXPECT_EQ(cuStreamCreate(&stream, blocking ? 0 : 1), SUCCESS);
  return stream;
}

inline void *new_event() {
  void *event = nullptr;
  EXPECT_EQ(cuEventCreate(&event, 2), SUCCESS);
  return event;
}

inline bool poisoned(const void *memory, std::size_t bytes) {
  const auto *begin = static_cast<const unsigned char *>(memory);
  for (std::size_t i = 0; i < bytes; i++)
    if (begin[i] != FAKE_CUDA_POISON) return false;
  return true;
}

#endif
