// jvp, vjp and jacobian: those a component has, and those the host derives.
#include "puppet.h"

namespace {

using namespace test;

// y = a x^2 at x = (1, 2, 3), a = 2: dy/dx = diag(4, 8, 12), dy/da = (1, 4, 9).
class SquareFamily : public testing::TestWithParam<const char *> {
 protected:
  Component square = component(GetParam());
  Doubles x{1.0, 2.0, 3.0};
  Doubles a = scalar(2.0);
  Leaves inputs;

  void SetUp() override { inputs.add("x", x).add("a", a); }
  void TearDown() override { EXPECT_TRUE(usable(square)); }
};

class Forward : public SquareFamily {};
class Reverse : public SquareFamily {};
class Full : public SquareFamily {};

INSTANTIATE_TEST_SUITE_P(Own, Forward, testing::Values("square", "only_jvp"));
INSTANTIATE_TEST_SUITE_P(Derived, Forward, testing::Values("only_jacobian"));
INSTANTIATE_TEST_SUITE_P(Own, Reverse, testing::Values("square", "only_vjp"));
INSTANTIATE_TEST_SUITE_P(Derived, Reverse, testing::Values("only_jacobian"));
INSTANTIATE_TEST_SUITE_P(Own, Full, testing::Values("only_jacobian"));
INSTANTIATE_TEST_SUITE_P(Derived, Full, testing::Values("square", "only_jvp", "only_vjp"));

TEST_P(Forward, AlongOneInput) {
  Doubles dx{1.0, 0.0, -1.0};
  Leaves tangents;
  const auto outcome = jvp(square, inputs, tangents.add("x", dx));
  ASSERT_TRUE(succeeds(outcome));
  EXPECT_EQ(tesseract_result_count(outcome.get()), 1);
  EXPECT_STREQ(tesseract_result_path(outcome.get(), 0, nullptr), "y");
  EXPECT_EQ(values_of(outcome), (std::vector<double>{4.0, 0.0, -12.0}));
}

TEST_P(Forward, AlongSeveralInputs) {
  Doubles dx{1.0, 1.0, 1.0}, da = scalar(10.0);
  Leaves tangents;
  EXPECT_EQ(values_of(jvp(square, inputs, tangents.add("a", da).add("x", dx), Leaves{"y"})),
            (std::vector<double>{14.0, 48.0, 102.0}));
}

TEST_P(Forward, IntoADestination) {
  Doubles dx{1.0, 1.0, 1.0}, dy = zeros({3});
  Leaves tangents, of;
  ASSERT_TRUE(succeeds(jvp(square, inputs, tangents.add("x", dx), of.add("y", dy))));
  EXPECT_EQ(dy.values, (std::vector<double>{4.0, 8.0, 12.0}));
}

TEST_P(Forward, OfNoElements) {
  Doubles none = zeros({0});
  Leaves empty, tangents;
  empty.add("x", none);
  EXPECT_TRUE(values_of(jvp(square, empty, tangents.add("x", none))).empty());
}

TEST_P(Reverse, OfEveryGivenInput) {
  Doubles dy{1.0, 1.0, 1.0};
  Leaves cotangents;
  const auto outcome = vjp(square, inputs, cotangents.add("y", dy));
  ASSERT_TRUE(succeeds(outcome));
  EXPECT_EQ(tesseract_result_count(outcome.get()), 2);
  EXPECT_STREQ(tesseract_result_path(outcome.get(), 0, nullptr), "x");
  EXPECT_EQ(values_of(outcome, 0), (std::vector<double>{4.0, 8.0, 12.0}));
  EXPECT_EQ(values_of(outcome, 1), std::vector<double>{14.0});
}

TEST_P(Reverse, OnlyOfInputsGivenAsTensors) {
  Doubles dy{1.0, 1.0, 1.0};
  Leaves cotangents, defaulted;
  const auto outcome =
      vjp(square, defaulted.add("x", x).json(R"({"a": 2})"), cotangents.add("y", dy));
  EXPECT_EQ(tesseract_result_count(outcome.get()), 1);
  EXPECT_EQ(values_of(outcome), (std::vector<double>{4.0, 8.0, 12.0}));
}

TEST_P(Reverse, OfWhatIsWanted) {
  Doubles dy{1.0, 0.0, 1.0};
  Leaves cotangents;
  cotangents.add("y", dy);
  const auto outcome = vjp(square, inputs, cotangents, Leaves{"a"});
  EXPECT_EQ(tesseract_result_count(outcome.get()), 1);
  EXPECT_EQ(values_of(outcome), std::vector<double>{10.0});
  EXPECT_EQ(values_of(vjp(square, inputs, cotangents, Leaves{"a", "x"}), 1),
            (std::vector<double>{4.0, 0.0, 12.0}));
}

TEST_P(Reverse, IntoADestination) {
  Doubles dy{1.0, 1.0, 1.0}, dx = zeros({3});
  Leaves cotangents, wrt;
  ASSERT_TRUE(succeeds(vjp(square, inputs, cotangents.add("y", dy), wrt.add("x", dx))));
  EXPECT_EQ(dx.values, (std::vector<double>{4.0, 8.0, 12.0}));
}

TEST_P(Full, OfEverything) {
  const auto outcome = jacobian(square, inputs);
  ASSERT_TRUE(succeeds(outcome));
  ASSERT_EQ(tesseract_result_count(outcome.get()), 2);
  EXPECT_EQ(shape_of(tesseract_result_tensor(outcome.get(), 0)), (std::vector<int64_t>{3, 3}));
  EXPECT_EQ(shape_of(tesseract_result_tensor(outcome.get(), 1)), std::vector<int64_t>{3});
  EXPECT_EQ(values_of(outcome, 0), (std::vector<double>{4, 0, 0, 0, 8, 0, 0, 0, 12}));
  EXPECT_EQ(values_of(outcome, 1), (std::vector<double>{1, 4, 9}));
  EXPECT_STREQ(tesseract_result_path(outcome.get(), 1, nullptr), "y");
  EXPECT_STREQ(tesseract_result_wrt(outcome.get(), 1, nullptr), "a");
  EXPECT_EQ(tesseract_result_find(outcome.get(), "y", 1), 0);
}

TEST_P(Full, OfWhatIsWanted) {
  const auto outcome = jacobian(square, inputs, Leaves{"y"}, Leaves{"a"});
  EXPECT_EQ(tesseract_result_count(outcome.get()), 1);
  EXPECT_EQ(values_of(outcome), (std::vector<double>{1, 4, 9}));
  EXPECT_STREQ(tesseract_result_wrt(outcome.get(), 0, nullptr), "a");
}

TEST_P(Full, OfNoElements) {
  Doubles none = zeros({0});
  Leaves empty;
  const auto outcome = jacobian(square, empty.add("x", none));
  ASSERT_TRUE(succeeds(outcome));
  EXPECT_EQ(shape_of(tesseract_result_tensor(outcome.get(), 0)), (std::vector<int64_t>{0, 0}));
}

TEST_P(Full, TakesNoDestination) {
  Doubles destination = zeros({3, 3});
  Leaves of, wrt;
  EXPECT_TRUE(fails(jacobian(square, inputs, of.add("y", destination)),
                    TESSERACT_ERROR_INVALID_ARGUMENT, {"y"}));
  EXPECT_TRUE(fails(jacobian(square, inputs, nullptr, wrt.add("x", destination)),
                    TESSERACT_ERROR_INVALID_ARGUMENT, {"x"}));
}

// An input error of the component inside a derived endpoint is the caller's to see.
TEST_P(Full, PassesTheComponentsErrorOn) {
  Puppet puppet;
  puppet.derivative = [](auto frame) {
    return tesseract_fail(frame, TESSERACT_ERROR_OUT_OF_DOMAIN, "x", "x is singular");
  };
  puppet.offer(&tesseract_plugin_table::vjp);
  const auto component = puppet.opened();
  Leaves given;
  const auto outcome = jacobian(component, given.add("x", x));
  EXPECT_TRUE(
      fails(outcome, TESSERACT_ERROR_OUT_OF_DOMAIN, {"puppet", "jacobian", "x is singular"}));
  EXPECT_TRUE(identity_works(component));
}

// ---- What is missing ----------------------------------------------------------------------------

TEST(Derivatives, AreUnsupportedWhereNoneIsThere) {
  const auto apply_only = component("apply_only");
  Doubles x{1.0}, seed{1.0};
  Leaves inputs, by_x, by_y;
  inputs.add("x", x);
  by_x.add("x", seed);
  by_y.add("y", seed);
  EXPECT_TRUE(fails(jvp(apply_only, inputs, by_x), TESSERACT_ERROR_UNSUPPORTED, {"square", "jvp"}));
  EXPECT_TRUE(fails(vjp(apply_only, inputs, by_y), TESSERACT_ERROR_UNSUPPORTED, {"square", "vjp"}));
  EXPECT_TRUE(
      fails(jacobian(apply_only, inputs), TESSERACT_ERROR_UNSUPPORTED, {"square", "jacobian"}));
  EXPECT_TRUE(usable(apply_only));
}

TEST(Derivatives, ZeroSeedsAreNullForTheComponent) {
  const auto many = component("many");
  std::deque<Doubles> x;
  Leaves inputs, cotangents;
  for (int k = 0; k < 8; k++)
    inputs.add("x" + std::to_string(k), x.emplace_back(Doubles({1, 1}, {1.0})));
  Doubles seed({1, 1}, {5.0});
  const auto outcome =
      vjp(many, inputs, cotangents.add("y1", seed), Leaves{"x0", "x1", "x5", "x6"});
  EXPECT_EQ(values_of(outcome, 0), std::vector<double>{0.0});
  EXPECT_EQ(values_of(outcome, 1), std::vector<double>{5.0});
  EXPECT_EQ(values_of(outcome, 2), std::vector<double>{5.0});
  EXPECT_EQ(values_of(outcome, 3), std::vector<double>{0.0});
}

TEST(Derivatives, DerivedJacobianOfManyLeaves) {
  const auto many = component("many");
  std::deque<Doubles> x;
  Leaves inputs;
  for (int k = 0; k < 8; k++)
    inputs.add("x" + std::to_string(k), x.emplace_back(Doubles({1, 2}, {1.0, 2.0})));
  const auto outcome = jacobian(many, inputs, Leaves{"y2", "y0"}, Leaves{"x4", "x2", "x1"});
  ASSERT_TRUE(succeeds(outcome));
  ASSERT_EQ(tesseract_result_count(outcome.get()), 6);
  const std::vector<double> one{1, 0, 0, 1}, zero{0, 0, 0, 0};
  const std::vector<double> expected[] = {zero, one, zero, one, zero, zero};
  for (int64_t i = 0; i < 6; i++) {
    EXPECT_EQ(values_of(outcome, i), expected[i]) << i;
    EXPECT_EQ(shape_of(tesseract_result_tensor(outcome.get(), i)),
              (std::vector<int64_t>{1, 2, 1, 2}));
  }
  EXPECT_EQ(tesseract_result_find(outcome.get(), "y0", 2), 3);
}

// ---- Bad lists ----------------------------------------------------------------------------------

class BadDerivative : public testing::Test {
 protected:
  Component square = component("square");
  Doubles x{1.0, 2.0, 3.0}, seed{1.0, 1.0, 1.0};
  Leaves inputs, by_x, by_y;
  const std::vector<int32_t> refused = {TESSERACT_ERROR_INVALID_ARGUMENT, TESSERACT_ERROR_SCHEMA};

  void SetUp() override {
    inputs.add("x", x);
    by_x.add("x", seed);
    by_y.add("y", seed);
  }
  void TearDown() override { EXPECT_TRUE(usable(square)); }
};

TEST_F(BadDerivative, EmptyList) {
  const Leaves none;
  EXPECT_TRUE(fails(jvp(square, inputs, by_x, none), refused, {"square", "jvp"}));
  EXPECT_TRUE(fails(jvp(square, inputs, none), refused, {"square", "jvp"}));
  EXPECT_TRUE(fails(vjp(square, inputs, by_y, none), refused, {"square", "vjp"}));
  EXPECT_TRUE(fails(vjp(square, inputs, none), refused, {"square", "vjp"}));
  EXPECT_TRUE(fails(jacobian(square, inputs, none), refused, {"square", "jacobian"}));
  EXPECT_TRUE(fails(jacobian(square, inputs, nullptr, none), refused, {"square", "jacobian"}));
}

TEST_F(BadDerivative, PathTwice) {
  Leaves twice;
  twice.add("x", seed).add("x", seed);
  EXPECT_TRUE(fails(jvp(square, inputs, twice), refused, {"x"}));
  EXPECT_TRUE(fails(jvp(square, inputs, by_x, Leaves{"y", "y"}), refused, {"y"}));
  EXPECT_TRUE(fails(vjp(square, inputs, by_y, Leaves{"x", "x"}), refused, {"x"}));
  EXPECT_TRUE(fails(jacobian(square, inputs, Leaves{"y", "y"}), refused, {"y"}));
  EXPECT_TRUE(fails(jacobian(square, inputs, nullptr, Leaves{"x", "x"}), refused, {"x"}));
}

TEST_F(BadDerivative, UnknownPath) {
  EXPECT_TRUE(fails(vjp(square, inputs, by_y, Leaves{"y"}), TESSERACT_ERROR_SCHEMA, {"y"}));
  EXPECT_TRUE(fails(vjp(square, inputs, by_x), TESSERACT_ERROR_SCHEMA, {"x"}));
  EXPECT_TRUE(fails(jvp(square, inputs, by_y), TESSERACT_ERROR_SCHEMA, {"y"}));
  EXPECT_TRUE(fails(jvp(square, inputs, by_x, Leaves{"x"}), TESSERACT_ERROR_SCHEMA, {"x"}));
  EXPECT_TRUE(fails(jacobian(square, inputs, Leaves{"z"}), TESSERACT_ERROR_SCHEMA, {"z"}));
}

TEST_F(BadDerivative, SeedsMustBeGiven) {
  Leaves all;
  all.raw.count = TESSERACT_ALL;
  EXPECT_TRUE(fails(jvp(square, inputs, nullptr), refused, {"square", "jvp"}));
  EXPECT_TRUE(fails(vjp(square, inputs, nullptr), refused, {"square", "vjp"}));
  EXPECT_TRUE(fails(jvp(square, inputs, all), refused, {"jvp"}));
  EXPECT_TRUE(fails(vjp(square, inputs, all), refused, {"vjp"}));
  EXPECT_TRUE(fails(jvp(square, inputs, Leaves{"x"}), refused, {"x"}));
  EXPECT_TRUE(fails(vjp(square, inputs, Leaves{"y"}), refused, {"y"}));
}

TEST_F(BadDerivative, SeedsHaveTheirLeafsShapeAndDtype) {
  Doubles shorter{1.0, 1.0}, matrix = zeros({3, 1});
  Array<int32_t> integers({3}, {1, 1, 1});
  Leaves wrong[3];
  wrong[0].add("y", shorter);
  wrong[1].add("y", matrix);
  EXPECT_TRUE(fails(vjp(square, inputs, wrong[0]), TESSERACT_ERROR_SCHEMA, {"y", "3", "2"}));
  EXPECT_TRUE(fails(vjp(square, inputs, wrong[1]), TESSERACT_ERROR_SCHEMA, {"y"}));
  Leaves tangents;
  EXPECT_TRUE(fails(jvp(square, inputs, tangents.add("x", shorter)), TESSERACT_ERROR_SCHEMA,
                    {"x", "3", "2"}));
}

TEST_F(BadDerivative, SeedsTakeNoJson) {
  Leaves json;
  json.json(R"({"y": [1, 1, 1]})");
  EXPECT_TRUE(fails(vjp(square, inputs, json), refused, {"vjp"}));
  by_y.json(R"({"y": [1, 1, 1]})");
  EXPECT_TRUE(fails(vjp(square, inputs, by_y), refused, {"vjp"}));
}

TEST(Derivatives, LeavesThatAreNotDifferentiable) {
  Puppet puppet;
  puppet.description = R"({"name": "puppet", "inputs": [
      {"path": "x", "dtype": "float64", "shape": ["n"], "differentiable": true},
      {"path": "fixed", "dtype": "float64", "shape": [], "default": 1}],
    "outputs": [{"path": "y", "dtype": "float64", "shape": ["n"], "differentiable": true},
                {"path": "count", "dtype": "float64", "shape": []}]})";
  puppet.derivative = [](auto) { return TESSERACT_OK; };
  puppet.offer(&tesseract_plugin_table::vjp);
  puppet.offer(&tesseract_plugin_table::jvp);
  const auto component = puppet.opened();
  Doubles x{1.0}, one = scalar(1.0);
  Leaves inputs, y, count, fixed;
  inputs.add("x", x).add("fixed", one);
  y.add("y", x);
  count.add("count", one);
  fixed.add("fixed", one);
  const std::vector<int32_t> refused = {TESSERACT_ERROR_SCHEMA, TESSERACT_ERROR_INVALID_ARGUMENT,
                                        TESSERACT_ERROR_UNSUPPORTED};
  EXPECT_TRUE(fails(vjp(component, inputs, y, Leaves{"fixed"}), refused, {"fixed"}));
  EXPECT_TRUE(fails(vjp(component, inputs, count), refused, {"count"}));
  EXPECT_TRUE(fails(jvp(component, inputs, fixed), refused, {"fixed"}));
  EXPECT_EQ(tesseract_result_count(vjp(component, inputs, y).get()), 1) << "all: only x";
}

}  // namespace
