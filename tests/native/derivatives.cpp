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

// ---- What derivations rest on -------------------------------------------------------------------

// Fills a tensor, whatever its strides, with 1, 2, ... in row-major order.
void fill_counting(const DLTensor *tensor) {
  const auto shape = shape_of(tensor);
  const auto n = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  for (int64_t i = 0; i < n; i++) {
    int64_t rest = i, at = 0, compact = 1;
    for (int32_t axis = tensor->ndim - 1; axis >= 0; axis--) {
      at += rest % tensor->shape[axis] * (tensor->strides ? tensor->strides[axis] : compact);
      rest /= tensor->shape[axis];
      compact *= tensor->shape[axis];
    }
    static_cast<double *>(tensor->data)[at] = static_cast<double>(i + 1);
  }
}

// A matrix by a matrix, whose Jacobian is 1 to 24 row by row: no two entries are the same.
TEST(Derivatives, DerivedProductsInEveryLayout) {
  std::vector<double> forward(4), reverse(6);  // of the seeds 1, 2, ...
  for (size_t i = 0; i < 4; i++)
    for (size_t j = 0; j < 6; j++) {
      const auto entry = static_cast<double>(6 * i + j + 1);
      forward[i] += entry * static_cast<double>(j + 1);
      reverse[j] += entry * static_cast<double>(i + 1);
    }
  for (const std::string layout : {"row-major", "column-major", "any"}) {
    Puppet puppet;
    puppet.description = R"({"name": "puppet", "inputs": [{"path": "x", "dtype": "float64",
        "shape": [2, 3], "differentiable": true, "layout": ")" +
                         layout + R"("}], "outputs": [{"path": "y", "dtype": "float64",
        "shape": [2, 2], "differentiable": true, "layout": ")" +
                         layout + "\"}]}";
    puppet.derivative = [](tesseract_frame *frame) {
      fill_counting(frame->outputs[0]);
      return TESSERACT_OK;
    };
    puppet.offer(&tesseract_plugin_table::jacobian);
    const auto component = puppet.opened();
    Doubles x = zeros({2, 3}), dx({2, 3}, {1, 2, 3, 4, 5, 6}), dy({2, 2}, {1, 2, 3, 4});
    Doubles dx_by_columns({2, 3}, {1, 4, 2, 5, 3, 6}), dy_by_columns({2, 2}, {1, 3, 2, 4});
    dx_by_columns.stride({1, 2});
    dy_by_columns.stride({1, 2});
    Leaves inputs, tangents[2], cotangents[2];
    inputs.add("x", x);
    tangents[0].add("x", dx);
    tangents[1].add("x", dx_by_columns);
    cotangents[0].add("y", dy);
    cotangents[1].add("y", dy_by_columns);
    for (const auto &seeds : tangents) {
      EXPECT_EQ(values_of(jvp(component, inputs, seeds)), forward) << layout;
      Doubles out = zeros({2, 2});
      Leaves of;
      ASSERT_TRUE(succeeds(jvp(component, inputs, seeds, of.add("y", out.stride({1, 2})))));
      EXPECT_EQ(values_of(&out.tensor), forward) << layout;
    }
    for (const auto &seeds : cotangents) {
      EXPECT_EQ(values_of(vjp(component, inputs, seeds)), reverse) << layout;
      Doubles out = zeros({2, 3});
      Leaves wrt;
      ASSERT_TRUE(succeeds(vjp(component, inputs, seeds, wrt.add("x", out.stride({1, 2})))));
      EXPECT_EQ(values_of(&out.tensor), reverse) << layout;
    }
  }
}

// Of an open length only the Jacobian tells what the seed's must be.
TEST(Derivatives, DerivedProductsHoldSeedsAgainstTheJacobian) {
  Puppet puppet;
  puppet.description = R"({"name": "puppet",
    "inputs": [{"path": "x", "dtype": "float64", "shape": [null], "differentiable": true}],
    "outputs": [{"path": "y", "dtype": "float64", "shape": [null], "differentiable": true}]})";
  puppet.derivative = [](tesseract_frame *frame) {
    const int64_t shape[] = {2, 3};
    DLTensor *block = nullptr;
    const int32_t status = frame->host->allocate_output(frame, 0, nullptr, 2, shape, &block);
    if (status == TESSERACT_OK) fill_counting(block);
    return status;
  };
  puppet.offer(&tesseract_plugin_table::jacobian);
  const auto component = puppet.opened();
  Doubles x{0.0, 0.0, 0.0};
  Leaves inputs;
  inputs.add("x", x);
  const auto product = [&](bool forward, int64_t length) {
    Doubles seed = zeros({length});
    std::fill(seed.values.begin(), seed.values.end(), 1.0);
    Leaves seeds;
    seeds.add(forward ? "x" : "y", seed);
    return forward ? jvp(component, inputs, seeds) : vjp(component, inputs, seeds);
  };
  EXPECT_EQ(values_of(product(true, 3)), (std::vector<double>{6, 15}));
  EXPECT_EQ(values_of(product(false, 2)), (std::vector<double>{5, 7, 9}));
  const std::pair<bool, int64_t> wrong[] = {{true, 0},  {true, 2},  {true, 4},  {true, 100000},
                                            {false, 0}, {false, 1}, {false, 3}, {false, 100000}};
  for (const auto &[forward, length] : wrong) {
    const auto outcome = product(forward, length);
    const char *path = forward ? "x" : "y";
    EXPECT_TRUE(fails(outcome, TESSERACT_ERROR_SCHEMA, {"puppet", path, std::to_string(length)}));
    EXPECT_EQ(outcome.detail(TESSERACT_DETAIL_PATH), path);
  }
}

TEST(Derivatives, DerivedByAnInputInJsonOfAPreparedComponent) {
  for (const auto endpoint : {&tesseract_plugin_table::jvp, &tesseract_plugin_table::vjp}) {
    Puppet puppet;
    puppet.table.prepare = [](void *, const tesseract_signature *, void **plan, tesseract_frame *) {
      *plan = nullptr;
      return TESSERACT_OK;
    };
    puppet.table.forget = [](void *, void *) {};
    puppet.derivative = [](auto) { return TESSERACT_OK; };
    puppet.offer(endpoint);
    const auto component = puppet.opened();
    Doubles dx{1.0, 1.0};
    Leaves inputs, tangents;
    inputs.json(R"({"x": [1, 2]})");
    const auto full = jacobian(component, inputs, Leaves{"y"}, Leaves{"x"});
    EXPECT_TRUE(fails(full, TESSERACT_ERROR_SCHEMA, {"puppet", "jacobian", "x"}));
    EXPECT_EQ(full.detail(TESSERACT_DETAIL_PATH), "x");
    if (endpoint == &tesseract_plugin_table::vjp) {
      const auto product = jvp(component, inputs, tangents.add("x", dx));
      EXPECT_TRUE(fails(product, TESSERACT_ERROR_SCHEMA, {"puppet", "jvp", "x"}));
      EXPECT_EQ(product.detail(TESSERACT_DETAIL_PATH), "x");
    }
    EXPECT_TRUE(identity_works(component));
  }
}

TEST(Derivatives, DerivedOfAnOutputThatIsLeftOut) {
  for (const auto endpoint : {&tesseract_plugin_table::jvp, &tesseract_plugin_table::vjp}) {
    Puppet puppet;
    puppet.description = R"({"name": "puppet",
      "inputs": [{"path": "x", "dtype": "float64", "shape": ["n"], "differentiable": true}],
      "outputs": [{"path": "y", "dtype": "float64", "shape": [null], "differentiable": true,
                   "required": false}]})";
    puppet.apply = [](auto) { return TESSERACT_OK; };
    puppet.derivative = [](auto) { return TESSERACT_OK; };
    puppet.offer(endpoint);
    const auto component = puppet.opened();
    Doubles x{1.0, 2.0};
    Leaves inputs;
    EXPECT_TRUE(succeeds(evaluate(component, inputs.add("x", x)))) << "it may be left out";
    const auto outcome = jacobian(component, inputs);
    EXPECT_TRUE(fails(outcome, TESSERACT_ERROR_COMPONENT, {"puppet", "jacobian", "y"}));
    EXPECT_EQ(outcome.detail(TESSERACT_DETAIL_PATH), "y");
  }
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
  EXPECT_TRUE(fails(jvp(square, inputs, nullptr), refused, {"square", "jvp", "tangents"}));
  EXPECT_TRUE(fails(vjp(square, inputs, nullptr), refused, {"square", "vjp", "cotangents"}));
  EXPECT_TRUE(fails(jvp(square, inputs, all), refused, {"jvp", "tangents"}));
  EXPECT_TRUE(fails(vjp(square, inputs, all), refused, {"vjp", "cotangents"}));
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
