// Each driver call fails in turn: an error that says so, and nothing lost.
#include "support.h"

namespace {

using namespace test;

constexpr int kUnknown = 999;

class Failures : public DeviceTest {
 protected:
  Puppet puppet;
  Stream stream;
  DeviceArray x{1.0, 2.0, 3.0}, y{0.0, 0.0, 0.0};

  // Runs `body` again and again, its n-th driver call failing, until none does.
  template <typename Body>
  void walk(Body body) {
    body();  // pools are filled
    stream.wait();
    const fake_cuda_state first = state();
    for (int64_t n = 1; n < 100; n++) {
      const fake_cuda_state before = state();
      fake_cuda_fail_nth(n, kUnknown);
      const int64_t failed_before = fake_cuda_failed();
      {
        const auto outcome = body();
        const bool failed = fake_cuda_failed() > failed_before;
        fake_cuda_fail_nth(0, 0);
        if (!failed) {
          EXPECT_TRUE(succeeds(outcome));
          EXPECT_GT(n, 2) << "driver calls were made";
          return;
        }
        if (!outcome.ok()) {
          EXPECT_TRUE(
              fails(outcome, TESSERACT_ERROR_DEVICE, {"puppet", "apply", "CUDA_ERROR_UNKNOWN"}))
              << n << "\n"
              << fake_cuda_trace();
        }
      }
      const fake_cuda_state after = state();
      EXPECT_EQ(after.device_allocations, before.device_allocations) << n << fake_cuda_trace();
      // One more of each where the driver does not say that the last are free.
      EXPECT_LE(after.host_allocations, first.host_allocations + 1) << n;
      EXPECT_LE(after.events, first.events + 1) << n;
      EXPECT_EQ(after.pushes_less_pops, before.pushes_less_pops) << n;
      EXPECT_EQ(faults(), "") << n;
      stream.wait();
    }
    FAIL() << "the walk has no end";
  }
};

TEST_F(Failures, DirectIntoADestination) {
  puppet.apply = double_on_device;
  puppet.description = description_with(on_cuda + R"("stream_ordered": false,)");
  const Component component = puppet.opened();
  walk([&] { return apply(component, x.tensor, &y.tensor, &stream.options); });
}

TEST_F(Failures, DirectForAResult) {
  puppet.apply = double_on_device;
  puppet.description = description_with(on_cuda);
  const Component component = puppet.opened();
  const Call call = prepared(component, x.tensor, y.tensor);
  walk([&] { return run_for_result(call.get(), {&x.tensor}, {nullptr}, &stream.options); });
}

TEST_F(Failures, DirectWithStrides) {
  puppet.apply = double_on_device;
  puppet.description = description_with(on_cuda);
  const Component component = puppet.opened();
  DeviceArray wide({3}, {1.0, -1.0, 2.0, -1.0, 3.0, -1.0});
  int64_t step = 2;
  wide.tensor.strides = &step;
  walk([&] { return apply(component, wide.tensor, &y.tensor, &stream.options); });
}

TEST_F(Failures, Staged) {
  puppet.apply = double_on_host;
  puppet.description = description_with("");
  const Component component = puppet.opened();
  walk([&] { return apply(component, x.tensor, &y.tensor, &stream.options); });
}

TEST_F(Failures, StagedForAResult) {
  puppet.apply = double_on_host;
  puppet.description = description_with("");
  const Component component = puppet.opened();
  const Call call = prepared(component, x.tensor, y.tensor);
  walk([&] { return run_for_result(call.get(), {&x.tensor}, {nullptr}, &stream.options); });
}

TEST_F(Failures, OutOfMemoryIsToldAsSuch) {
  puppet.apply = double_on_device;
  puppet.description = description_with(on_cuda);
  const Component component = puppet.opened();
  const Call call = prepared(component, x.tensor, y.tensor);
  fake_cuda_fail_next("cuMemAlloc", 2, 1);
  EXPECT_TRUE(fails(run_for_result(call.get(), {&x.tensor}, {nullptr}, &stream.options),
                    TESSERACT_ERROR_OUT_OF_MEMORY, {"CUDA_ERROR_OUT_OF_MEMORY"}));
}

TEST_F(Failures, WithoutPageLockedMemoryStagingUsesTheUsualKind) {
  puppet.apply = double_on_host;
  puppet.description = description_with("");
  const Component component = puppet.opened();
  DeviceArray large({100000}, std::vector<double>(100000, 1.0));
  DeviceArray out({100000}, std::vector<double>(100000, 0.0));
  fake_cuda_fail_next("cuMemHostAlloc", 2, 4);
  ASSERT_TRUE(succeeds(apply(component, large.tensor, &out.tensor, &stream.options)));
  fake_cuda_clear();
  stream.wait();
  EXPECT_EQ(out.read(), std::vector<double>(100000, 2.0));
}

}  // namespace
