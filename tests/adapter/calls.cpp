// Calls from hand-made frames: what reaches the component, and what comes back.
#include "frame.h"

namespace {

using namespace test;

class Calls : public testing::Test {
 protected:
  Component square = component("square");
  Added added{square_id, square};
  Doubles x{1.0, 2.0, 3.0}, a = scalar(2.0), y = zeros({3});
};

TEST_F(Calls, Apply) {
  Frame frame(square_id, "apply", square_apply);
  frame.in(x).in(a).out(y);
  ASSERT_TRUE(succeeds(frame.call()));
  EXPECT_EQ(y.values, (std::vector<double>{2.0, 8.0, 18.0}));
  EXPECT_EQ(statistics_of(square).calls, 1u);
  EXPECT_EQ(statistics_of(square).layout_copies, 0u);
}

TEST_F(Calls, Jvp) {
  Frame frame(square_id, "jvp", square_jvp);
  Doubles dx{1.0, 0.0, 1.0};
  frame.in(x).in(a).in(dx).out(y);
  ASSERT_TRUE(succeeds(frame.call()));
  EXPECT_EQ(y.values, (std::vector<double>{4.0, 0.0, 12.0}));
}

TEST_F(Calls, Vjp) {
  Frame frame(square_id, "vjp", square_vjp);
  Doubles dy{1.0, 1.0, 1.0}, da = scalar(0.0);
  frame.in(x).in(a).in(dy).out(y).out(da);
  ASSERT_TRUE(succeeds(frame.call()));
  EXPECT_EQ(y.values, (std::vector<double>{4.0, 8.0, 12.0}));
  EXPECT_EQ(da.values, (std::vector<double>{14.0}));
}

TEST_F(Calls, Jacobian) {
  Frame frame(square_id, "jacobian", square_jacobian);
  Doubles by_x = zeros({3, 3}), by_a = zeros({3});
  frame.in(x).in(a).out(by_x).out(by_a);
  ASSERT_TRUE(succeeds(frame.call()));
  EXPECT_EQ(by_x.values, (std::vector<double>{4, 0, 0, 0, 8, 0, 0, 0, 12}));
  EXPECT_EQ(by_a.values, (std::vector<double>{1, 4, 9}));
}

TEST_F(Calls, PreparedOnceAndCounted) {
  Frame frame(square_id, "apply", square_apply);
  frame.in(x).in(a).out(y);
  const uint64_t before = calls(square_id, "apply");
  ASSERT_EQ(prepare(square_id, "apply", square_apply, frame.key()), TESSERACT_OK);
  ASSERT_EQ(prepare(square_id, "apply", square_apply, frame.key()), TESSERACT_OK);
  for (int i = 0; i < 3; i++) ASSERT_TRUE(succeeds(frame.call()));
  EXPECT_EQ(statistics_of(square).prepared, 1u);
  EXPECT_EQ(calls(square_id, "apply"), before + 3);
}

}  // namespace
