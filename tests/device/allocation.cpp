// A prepared run on device tensors of a stream-ordered component neither allocates nor locks.
#include "../native/interpose.h"
#include "support.h"

namespace {

using namespace test;

class Allocation : public DeviceTest {
 protected:
  // What a thousand runs ask for, after one that warms up.
  interposed_counts count(const std::string &properties, const DLTensor &x, DLTensor &y) {
    Puppet puppet;
    puppet.apply = [](tesseract_frame *) { return TESSERACT_OK; };
    puppet.description = description_with(properties);
    const Component component = puppet.opened();
    const Call call = prepared(component, x, y);
    const Stream stream;
    tesseract_call_options options = stream.options;
    // The fake driver allocates, so no function of it may be called while it is counted.
    options.flags = TESSERACT_CONTEXT_CURRENT;
    const Current context;
    const DLTensor *const in[] = {&x};
    DLTensor *const out[] = {&y};
    int failures = tesseract_call_run(call.get(), in, out, &options, nullptr, nullptr) != 0;
    interposed_start();
    for (int i = 0; i < 1000; i++)
      failures += tesseract_call_run(call.get(), in, out, &options, nullptr, nullptr) != 0;
    const interposed_counts counts = interposed_stop();
    EXPECT_EQ(failures, 0);
    return counts;
  }
};

TEST_F(Allocation, NoneOnTheDirectPath) {
  DeviceArray x{1.0, 2.0, 3.0}, y{0.0, 0.0, 0.0};
  const interposed_counts counts = count(on_cuda, x.tensor, y.tensor);
  EXPECT_EQ(counts.allocations, 0);
  EXPECT_EQ(counts.locks, 0);
}

TEST_F(Allocation, StridesCostMemory) {
  DeviceArray x({3}, {1.0, 0.0, 2.0, 0.0, 3.0}), y{0.0, 0.0, 0.0};
  int64_t step = 2;
  x.tensor.strides = &step;
  EXPECT_GT(count(on_cuda, x.tensor, y.tensor).allocations, 0);
}

}  // namespace
