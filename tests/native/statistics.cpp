// What the host counts: calls, signatures, and copies with their reasons.
#include "puppet.h"

namespace {

using namespace test;

TEST(Statistics, CallsOfAnyEndpoint) {
  const auto square = component("square");
  EXPECT_EQ(statistics_of(square).calls, 0u);
  Doubles x{1.0}, y = zeros({1});
  Leaves inputs, seeds;
  inputs.add("x", x);
  seeds.add("y", x);
  evaluate(square, inputs);
  vjp(square, inputs, seeds);
  EXPECT_EQ(statistics_of(square).calls, 2u);
  const auto call = prepare(square, signature(TESSERACT_ENDPOINT_APPLY, inputs));
  for (int i = 0; i < 5; i++) run(call.get(), {&x.tensor}, {&y.tensor});
  EXPECT_EQ(statistics_of(square).calls, 7u);
}

TEST(Statistics, FailedCallsCount) {
  const auto square = component("square");
  Doubles x{1.0}, a = scalar(-1.0);
  Leaves inputs;
  evaluate(square, inputs.add("x", x).add("a", a));
  EXPECT_EQ(statistics_of(square).calls, 1u);
  EXPECT_FALSE(evaluate(square, inputs.add("velocity", x)).ok()) << "before any signature";
  EXPECT_EQ(statistics_of(square).calls, 2u);
}

TEST(Statistics, SignaturesAreResolvedOnce) {
  const auto square = component("square");
  Doubles x{1.0}, longer{1.0, 2.0}, a = scalar(1.0);
  Leaves inputs, sized, other;
  inputs.add("x", x);
  for (int i = 0; i < 5; i++) evaluate(square, inputs);
  EXPECT_EQ(statistics_of(square).prepared, 1u);
  evaluate(square, sized.add("x", longer));
  EXPECT_EQ(statistics_of(square).prepared, 1u) << "sizes are no part of a signature";
  evaluate(square, other.add("x", x).add("a", a));
  EXPECT_EQ(statistics_of(square).prepared, 2u);
  prepare(square, signature(TESSERACT_ENDPOINT_APPLY, inputs));
  EXPECT_GE(statistics_of(square).prepared, 2u);
}

TEST(Statistics, OfOneInstanceAreItsOwn) {
  const auto one = component("square"), two = component("square");
  Doubles x{1.0};
  Leaves inputs;
  evaluate(one, inputs.add("x", x));
  EXPECT_EQ(statistics_of(one).calls, 1u);
  EXPECT_EQ(statistics_of(two).calls, 0u);
}

TEST(Statistics, CopiesByTheComponent) {
  Puppet puppet;
  puppet.apply = [](tesseract_frame *frame) {
    frame->host->copied(frame, TESSERACT_COPY_LAYOUT, 10);
    frame->host->copied(frame, TESSERACT_COPY_DTYPE, 20);
    frame->host->copied(frame, TESSERACT_COPY_DEVICE, 30);
    frame->host->copied(frame, TESSERACT_COPY_OWNED, 40);
    frame->host->copied(frame, TESSERACT_COPY_OWNED, 2);
    frame->host->copied(frame, 99, 1000);
    return Puppet::copy_first(frame);
  };
  const auto opened = puppet.opened();
  EXPECT_TRUE(identity_works(opened));
  const auto counted = statistics_of(opened);
  EXPECT_EQ(counted.layout_copies, 1u);
  EXPECT_EQ(counted.layout_bytes, 10u);
  EXPECT_EQ(counted.dtype_copies, 1u);
  EXPECT_EQ(counted.dtype_bytes, 20u);
  EXPECT_EQ(counted.device_copies, 1u);
  EXPECT_EQ(counted.device_bytes, 30u);
  EXPECT_EQ(counted.owned_copies, 2u);
  EXPECT_EQ(counted.owned_bytes, 42u);
}

TEST(Statistics, NothingIsCopiedWhereNothingNeedsTo) {
  const auto square = component("square");
  Doubles x{1.0, 2.0}, a = scalar(3.0);
  Leaves inputs;
  evaluate(square, inputs.add("x", x).add("a", a));
  const auto counted = statistics_of(square);
  EXPECT_EQ(
      counted.layout_copies + counted.dtype_copies + counted.device_copies + counted.owned_copies,
      0u);
}

}  // namespace
