// Loops over the elements of a batch.
#include "frame.h"

namespace {

using namespace test;

std::string batched(const char *spec, std::string_view batch) {
  std::string text(spec);
  return text.insert(1, "\"batch\":" + std::string(batch) + ",");
}

class Batches : public testing::Test {
 protected:
  Component square = component("square");
  Added added{square_id, square};
  Doubles a = scalar(2.0);
};

TEST_F(Batches, OfOneLevel) {
  Frame frame(square_id, "apply", batched(square_apply, "[[1,0]]"));
  Doubles x({2, 3}, {1, 2, 3, 4, 5, 6}), y = zeros({2, 3});
  frame.in(x).in(a).out(y);
  ASSERT_TRUE(succeeds(frame.call()));
  EXPECT_EQ(y.values, (std::vector<double>{2, 8, 18, 32, 50, 72}));
  EXPECT_EQ(statistics_of(square).calls, 2u);
  EXPECT_EQ(statistics_of(square).layout_copies, 0u);
}

TEST_F(Batches, OfTheOtherOperand) {
  Frame frame(square_id, "apply", batched(square_apply, "[[0,1]]"));
  Doubles x{1, 2}, as{1, 2, 3}, y = zeros({3, 2});
  frame.in(x).in(as).out(y);
  ASSERT_TRUE(succeeds(frame.call()));
  EXPECT_EQ(y.values, (std::vector<double>{1, 4, 2, 8, 3, 12}));
}

TEST_F(Batches, Nested) {
  // Outer level: only x; inner level: only a.
  Frame frame(square_id, "apply", batched(square_apply, "[[1,0],[0,1]]"));
  Doubles x({2, 2}, {1, 2, 3, 4}), as{1, 10, 100}, y = zeros({2, 3, 2});
  frame.in(x).in(as).out(y);
  ASSERT_TRUE(succeeds(frame.call()));
  EXPECT_EQ(y.values, (std::vector<double>{1, 4, 10, 40, 100, 400, 9, 16, 90, 160, 900, 1600}));
}

TEST_F(Batches, OfBothInTwoLevels) {
  Frame frame(square_id, "apply", batched(square_apply, "[[1,1],[1,0]]"));
  Doubles x({2, 2, 1}, {1, 2, 3, 4}), as{1, 10}, y = zeros({2, 2, 1});
  frame.in(x).in(as).out(y);
  ASSERT_TRUE(succeeds(frame.call()));
  EXPECT_EQ(y.values, (std::vector<double>{1, 4, 90, 160}));
}

TEST_F(Batches, OfNothing) {
  Frame frame(square_id, "apply", batched(square_apply, "[[0,0]]"));
  Doubles x{1, 2}, y = zeros({3, 2});
  frame.in(x).in(a).out(y);
  ASSERT_TRUE(succeeds(frame.call()));
  EXPECT_EQ(y.values, (std::vector<double>{2, 8, 2, 8, 2, 8}));
}

TEST_F(Batches, OfDerivatives) {
  Frame frame(square_id, "vjp", batched(square_vjp, "[[0,0,1]]"));
  Doubles x{1, 2}, dy({2, 2}, {1, 0, 0, 1}), dx = zeros({2, 2}), da = zeros({2});
  frame.in(x).in(a).in(dy).out(dx).out(da);
  ASSERT_TRUE(succeeds(frame.call()));
  EXPECT_EQ(dx.values, (std::vector<double>{4, 0, 0, 8}));
  EXPECT_EQ(da.values, (std::vector<double>{1, 4}));
}

TEST_F(Batches, OfSizeZero) {
  for (const char *batch : {"[[1,0]]", "[[1,0],[1,0]]"}) {
    Frame frame(square_id, "apply", batched(square_apply, batch));
    const bool nested = std::string_view(batch).size() > 8;
    const std::vector<int64_t> shape =
        nested ? std::vector<int64_t>{3, 0, 2} : std::vector<int64_t>{0, 2};
    frame.in(XLA_F64, nullptr, shape).in(a).out(XLA_F64, nullptr, shape);
    EXPECT_TRUE(succeeds(frame.call()));
  }
  EXPECT_EQ(statistics_of(square).calls, 0u);
}

TEST_F(Batches, OfEmptyElements) {
  Frame frame(square_id, "apply", batched(square_apply, "[[1,0]]"));
  frame.in(XLA_F64, nullptr, {3, 0}).in(a).out(XLA_F64, nullptr, {3, 0});
  EXPECT_TRUE(succeeds(frame.call()));
  EXPECT_EQ(statistics_of(square).calls, 3u);
}

TEST_F(Batches, OfOtherSizesEachTime) {
  for (const int64_t size : {1, 5, 2}) {
    Frame frame(square_id, "apply", batched(square_apply, "[[1,0]]"));
    Doubles x = zeros({size, 3}), y = zeros({size, 3});
    for (double &value : x.values) value = static_cast<double>(size);
    frame.in(x).in(a).out(y);
    ASSERT_TRUE(succeeds(frame.call()));
    EXPECT_EQ(y.values.back(), static_cast<double>(2 * size * size));
  }
  EXPECT_EQ(statistics_of(square).prepared, 1u);
}

TEST_F(Batches, NamesTheElementThatFails) {
  Frame frame(square_id, "apply", batched(square_apply, "[[0,1],[1,0]]"));
  Doubles x = zeros({2, 1}), as{1, -1}, y = zeros({2, 2, 1});
  frame.in(x).in(as).out(y);
  EXPECT_TRUE(fails(frame.call(), XLA_INVALID_ARGUMENT, {"[1, 0]", "square", "a is negative"}));
}

TEST_F(Batches, RefusesSizesThatDiffer) {
  Frame frame(square_id, "apply", batched(square_apply, "[[1,1]]"));
  Doubles x = zeros({2, 3}), as{1, 2, 3}, y = zeros({2, 3});
  frame.in(x).in(as).out(y);
  EXPECT_TRUE(fails(frame.call(), XLA_INVALID_ARGUMENT, {"level 0", "2 and 3"}));
  Frame result(square_id, "apply", batched(square_apply, "[[1,0]]"));
  Doubles wrong = zeros({4, 3});
  result.in(x).in(a).out(wrong);
  EXPECT_TRUE(fails(result.call(), XLA_INVALID_ARGUMENT, {"level 0", "2 and 4"}));
}

TEST_F(Batches, RefusesMissingAxes) {
  Frame frame(square_id, "apply", batched(square_apply, "[[1,0]]"));
  Doubles x = zeros({3}), y = zeros({2, 3});
  frame.in(x).in(a).out(y);
  EXPECT_TRUE(fails(frame.call(), XLA_INVALID_ARGUMENT, {"operand 0", "rank 1", "rank 2"}));
}

TEST_F(Batches, RefusesArraysWithoutData) {
  Frame frame(square_id, "apply", batched(square_apply, "[[1,0]]"));
  Doubles y = zeros({2, 3});
  frame.in(XLA_F64, nullptr, {2, 3}).in(a).out(y);
  EXPECT_TRUE(fails(frame.call(), XLA_INVALID_ARGUMENT, {"no data"}));
}

}  // namespace
