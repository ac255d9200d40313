// ext/device.h, which loaders and bindings use.
#include "support.h"

namespace {

using namespace test;

class Table : public DeviceTest {
 protected:
  const tesseract_device_table *table = static_cast<const tesseract_device_table *>(
      tesseract_host_extension(TESSERACT_DEVICE_ID, TESSERACT_NTS));
  DeviceArray x{1.0, 2.0, 3.0}, y{0.0, 0.0, 0.0};
  Stream stream;
  const DLDevice first{kDLCUDA, 0};

  // What a function that makes nothing did.
  template <typename Function, typename... Arguments>
  static Outcome<Error> ask(Function function, Arguments... arguments) {
    Outcome<Error> outcome;
    tesseract_error *error = nullptr;
    outcome.status = function(arguments..., &error);
    outcome.error.reset(error);
    return outcome;
  }
  DLDevice locate(const void *address) {
    DLDevice found{};
    EXPECT_TRUE(succeeds(ask(table->locate, address, &found)));
    return found;
  }
};

TEST_F(Table, IsAvailable) {
  ASSERT_NE(table, nullptr);
  EXPECT_TRUE(succeeds(ask(table->available)));
}

TEST_F(Table, FindsWhereAnAddressIs) {
  DeviceArray there({1}, {1.0}, 1);
  DeviceArray managed({1}, {1.0}, 0, DeviceArray::Memory::managed);
  void *locked = nullptr;
  {
    const Current context;
    ASSERT_EQ(cuMemHostAlloc(&locked, 64, 0), 0);
  }
  double on_host = 0;
  EXPECT_EQ(locate(x.tensor.data).device_type, kDLCUDA);
  EXPECT_EQ(locate(x.tensor.data).device_id, 0);
  EXPECT_EQ(locate(there.tensor.data).device_id, 1);
  EXPECT_EQ(locate(managed.tensor.data).device_type, kDLCUDAManaged);
  EXPECT_EQ(locate(locked).device_type, kDLCUDAHost);
  EXPECT_EQ(locate(&on_host).device_type, kDLCPU);
  there.free();
  EXPECT_EQ(locate(there.tensor.data).device_type, kDLCPU);
  const Current context;
  EXPECT_EQ(cuMemFreeHost(locked), 0);
}

TEST_F(Table, Waits) {
  {
    const Current context;
    ASSERT_EQ(fake_cuda_launch_scale(handle_of(stream.handle), y.address, x.address, 3, 2.0), 0);
  }
  EXPECT_TRUE(succeeds(ask(table->synchronize, first, stream.handle)));
  EXPECT_EQ(y.read(), doubled);
  EXPECT_TRUE(fails(ask(table->synchronize, first, uint64_t{0}), TESSERACT_ERROR_INVALID_ARGUMENT,
                    {"stream"}));
  EXPECT_TRUE(fails(ask(table->synchronize, DLDevice{kDLCPU, 0}, uint64_t{1}),
                    TESSERACT_ERROR_INVALID_ARGUMENT, {"device"}));
  EXPECT_TRUE(fails(ask(table->synchronize, DLDevice{kDLCUDA, 9}, uint64_t{1}),
                    TESSERACT_ERROR_DEVICE, {"9"}));
}

TEST_F(Table, ACaptureIsNotWaitedFor) {
  const Current context;
  ASSERT_EQ(fake_cuda_begin_capture(handle_of(stream.handle), 0), 0);
  EXPECT_TRUE(
      fails(ask(table->synchronize, first, stream.handle), TESSERACT_ERROR_DEVICE, {"captured"}));
  int64_t captured = 0;
  EXPECT_EQ(fake_cuda_end_capture(handle_of(stream.handle), &captured), 0);
}

TEST_F(Table, OrdersStreams) {
  Stream other;
  DeviceArray last{0.0, 0.0, 0.0};
  {
    const Current context;
    ASSERT_EQ(fake_cuda_launch_scale(handle_of(stream.handle), y.address, x.address, 3, 2.0), 0);
  }
  const fake_cuda_state before = state();
  ASSERT_TRUE(succeeds(ask(table->order, first, stream.handle, other.handle)));
  EXPECT_EQ(state().host_waits, before.host_waits);
  EXPECT_EQ(state().events, before.events);
  {
    const Current context;
    ASSERT_EQ(fake_cuda_launch_scale(handle_of(other.handle), last.address, y.address, 3, 1.0), 0);
  }
  other.wait();
  EXPECT_EQ(last.read(), doubled);
}

TEST_F(Table, CopiesBetweenHostAndDevice) {
  Doubles host{5.0, 6.0, 7.0}, back = zeros({3});
  ASSERT_TRUE(succeeds(ask(table->copy, &host.tensor, &y.tensor, stream.handle)));
  ASSERT_TRUE(succeeds(ask(table->copy, &y.tensor, &back.tensor, stream.handle)));
  EXPECT_EQ(back.values, host.values);
}

TEST_F(Table, CopiesOnTheDeviceWithoutWaiting) {
  const fake_cuda_state before = state();
  ASSERT_TRUE(succeeds(ask(table->copy, &x.tensor, &y.tensor, stream.handle)));
  EXPECT_EQ(state().host_waits, before.host_waits);
  EXPECT_NE(y.read(), x.read());
  stream.wait();
  EXPECT_EQ(y.read(), x.read());
}

// Every layout of a 2 x 3 x 2 array, from each into each.
TEST_F(Table, CopiesAnyStrides) {
  std::vector<double> numbers(40);
  std::iota(numbers.begin(), numbers.end(), 1.0);
  const std::vector<std::vector<int64_t>> layouts{{6, 2, 1}, {1, 2, 6},  {12, 4, 2},
                                                  {2, 4, 1}, {-6, 2, 1}, {20, 1, 4}};
  for (const auto &from : layouts) {
    for (const auto &to : layouts) {
      DeviceArray source({2, 3, 2}, numbers), target({2, 3, 2}, std::vector<double>(40, 0.0));
      source.tensor.strides = const_cast<int64_t *>(from.data());
      target.tensor.strides = const_cast<int64_t *>(to.data());
      if (from[0] < 0) source.tensor.byte_offset = 6 * sizeof(double);
      if (to[0] < 0) target.tensor.byte_offset = 6 * sizeof(double);
      ASSERT_TRUE(succeeds(ask(table->copy, &source.tensor, &target.tensor, stream.handle)));
      stream.wait();
      const auto read = [](const DeviceArray &array) {
        const std::vector<double> values = array.read();
        DLTensor on_host = array.tensor;
        on_host.data = const_cast<double *>(values.data());
        return values_of(&on_host);
      };
      EXPECT_EQ(read(target), read(source));
    }
  }
}

TEST_F(Table, CopiesOfUnequalTensorsAreRefused) {
  DeviceArray longer{0.0, 0.0, 0.0, 0.0};
  DeviceArray there({3}, {0.0, 0.0, 0.0}, 1);
  Doubles a{1.0}, b{1.0};
  EXPECT_TRUE(
      fails(ask(table->copy, &x.tensor, &longer.tensor, stream.handle), TESSERACT_ERROR_SCHEMA));
  EXPECT_TRUE(fails(ask(table->copy, &x.tensor, &there.tensor, stream.handle),
                    TESSERACT_ERROR_DEVICE, {"CUDA device 0", "CUDA device 1"}));
  EXPECT_TRUE(fails(ask(table->copy, &a.tensor, &b.tensor, stream.handle),
                    TESSERACT_ERROR_INVALID_ARGUMENT));
}

TEST_F(Table, MakesAContextCurrentForAFunction) {
  void *inside = nullptr;
  const auto look = [](void *data) { cuCtxGetCurrent(static_cast<void **>(data)); };
  ASSERT_EQ(table->run_current({kDLCUDA, 1}, look, &inside, nullptr), TESSERACT_OK);
  const Current second(1);
  EXPECT_EQ(inside, second.context);
  EXPECT_EQ(table->run_current({kDLCUDA, 9}, look, &inside, nullptr), TESSERACT_ERROR_DEVICE);
  EXPECT_EQ(table->run_current({kDLCUDA, 0}, nullptr, &inside, nullptr),
            TESSERACT_ERROR_INVALID_ARGUMENT);
}

TEST_F(Table, Allocates) {
  const int64_t shape[] = {2, 3};
  const DLDataType dtype = {kDLFloat, 64, 1};
  DLManagedTensorVersioned *made = nullptr;
  ASSERT_TRUE(succeeds(ask(table->allocate, first, &dtype, 2, &shape[0], stream.handle, &made)));
  const Taken owned(made);
  EXPECT_EQ(locate(made->dl_tensor.data).device_type, kDLCUDA);
  EXPECT_EQ(made->dl_tensor.strides[0], 3);
  const int64_t impossible[] = {INT64_MAX, INT64_MAX};
  EXPECT_TRUE(fails(ask(table->allocate, first, &dtype, 2, &impossible[0], stream.handle, &made),
                    TESSERACT_ERROR_SCHEMA));
}

}  // namespace
