// A call from XLA of a concurrent native component neither allocates nor locks.
#include "../native/interpose.h"
#include "frame.h"

namespace {

using namespace test;

void expect_none(Frame &frame) {
  ASSERT_TRUE(succeeds(frame.call()));
  int failures = 0;
  interposed_start();
  for (int i = 0; i < 1000; i++)
    if (tesseract_jax_cpu(&frame.raw)) failures++;
  const interposed_counts counts = interposed_stop();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(counts.allocations, 0);
  EXPECT_EQ(counts.locks, 0);
}

TEST(Allocation, OfAFrameIsCounted) {
  interposed_start();
  {
    const Frame frame(square_id, "apply", square_apply);
  }
  EXPECT_GT(interposed_stop().allocations, 0);
}

TEST(Allocation, NoneOfCalls) {
  const Component square = component("square");
  const Added added(square_id, square);
  Doubles x{1.0, 2.0}, a = scalar(2.0), y = zeros({2}), dy{1.0, 1.0}, da = scalar(0.0);
  Frame apply(square_id, "apply", square_apply);
  expect_none(apply.in(x).in(a).out(y));
  Frame vjp(square_id, "vjp", square_vjp);
  expect_none(vjp.in(x).in(a).in(dy).out(y).out(da));
}

TEST(Allocation, NoneWithManyTensors) {
  const Component many = component("many");
  const Added added("many-0-0-0", many);
  std::string inputs, operands;
  std::deque<Doubles> arrays;
  for (int k = 0; k < 8; k++) {
    inputs += (k ? ",\"x" : "\"x") + std::to_string(k) + "\"";
    operands += k ? ",\"float64:2\"" : "\"float64:2\"";
  }
  Frame frame("many-0-0-0", "apply",
              "{\"inputs\":[" + inputs + "],\"of\":[\"y0\"],\"operands\":[" + operands +
                  "],\"results\":[\"float64:2\"]}");
  for (int k = 0; k < 8; k++) frame.in(arrays.emplace_back(zeros({8, 8})));
  frame.out(arrays.emplace_back(zeros({8, 8})));
  expect_none(frame);
}

TEST(Allocation, NoneOfRunsByKey) {
  const Component square = component("square");
  const Added added(square_id, square);
  ASSERT_EQ(prepare(square_id, "apply", square_apply, 77), TESSERACT_OK);
  Doubles x{1.0, 2.0}, a = scalar(2.0), y = zeros({2});
  const DLTensor *in[] = {&x.tensor, &a.tensor};
  DLTensor *out[] = {&y.tensor};
  interposed_start();
  const int32_t status = tesseract_jax_run(77, in, 2, out, 1, 0, nullptr);
  const interposed_counts counts = interposed_stop();
  EXPECT_EQ(status, TESSERACT_OK);
  EXPECT_EQ(counts.allocations, 0);
  EXPECT_EQ(counts.locks, 0);
}

}  // namespace
