// apply and abstract_eval, one-shot.
#include "puppet.h"

namespace {

using namespace test;

class Square : public testing::Test {
 protected:
  Component square = component("square");
  Doubles x{1.0, 2.0, 3.0};
  Doubles a = scalar(2.0);
  Leaves inputs;

  void SetUp() override { inputs.add("x", x).add("a", a); }
  void TearDown() override { EXPECT_TRUE(usable(square)); }
};

TEST_F(Square, ComputesEveryOutput) {
  const auto outcome = evaluate(square, inputs);
  ASSERT_TRUE(succeeds(outcome));
  EXPECT_EQ(tesseract_result_count(outcome.get()), 1);
  EXPECT_EQ(values_of(outcome), (std::vector<double>{2.0, 8.0, 18.0}));
  EXPECT_STREQ(tesseract_result_json(outcome.get(), nullptr), "{}");
}

TEST_F(Square, OrderOfLeavesIsFree) {
  Leaves turned;
  turned.add("a", a).add("x", x);
  EXPECT_EQ(values_of(evaluate(square, turned)), (std::vector<double>{2.0, 8.0, 18.0}));
}

TEST_F(Square, DefaultWhereNothingIsGiven) {
  Leaves only;
  only.add("x", x);
  EXPECT_EQ(values_of(evaluate(square, only)), (std::vector<double>{1.0, 4.0, 9.0}));
}

TEST_F(Square, LeavesInTheJson) {
  Leaves number, all;
  number.add("x", x).json(R"({"a": 3})");
  EXPECT_EQ(values_of(evaluate(square, number)), (std::vector<double>{3.0, 12.0, 27.0}));
  all.json(R"({"x": [1, 2], "a": 0.5})");
  EXPECT_EQ(values_of(evaluate(square, all)), (std::vector<double>{0.5, 2.0}));
}

TEST_F(Square, SizesMayChangeFromCallToCall) {
  for (const int64_t n : {0, 1, 5, 1000, 2}) {
    Doubles vector = zeros({n});
    Leaves given;
    given.add("x", vector).add("a", a);
    EXPECT_EQ(values_of(evaluate(square, given)).size(), static_cast<size_t>(n));
  }
}

TEST_F(Square, WantsNothing) {
  const auto outcome = evaluate(square, inputs, Leaves{});
  ASSERT_TRUE(succeeds(outcome));
  EXPECT_EQ(tesseract_result_count(outcome.get()), 0);
}

TEST_F(Square, WantsAllByCount) {
  Leaves all;
  all.raw.count = TESSERACT_ALL;
  EXPECT_EQ(tesseract_result_count(evaluate(square, inputs, all).get()), 1);
}

TEST_F(Square, InputsAreNotWritten) {
  evaluate(square, inputs);
  EXPECT_EQ(x.values, (std::vector<double>{1.0, 2.0, 3.0}));
  EXPECT_EQ(a.values, std::vector<double>{2.0});
}

TEST_F(Square, OutOfDomainHasItsStatusAndPath) {
  a.values[0] = -1.0;
  const auto outcome = evaluate(square, inputs);
  EXPECT_TRUE(fails(outcome, TESSERACT_ERROR_OUT_OF_DOMAIN, {"square", "apply", "a is negative"}));
  EXPECT_EQ(outcome.detail(TESSERACT_DETAIL_PATH), "a");
}

TEST_F(Square, NullArgumentsAreRefused) {
  tesseract_result *result = nullptr;
  EXPECT_EQ(tesseract_apply(nullptr, inputs, nullptr, nullptr, &result, nullptr),
            TESSERACT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(tesseract_apply(square.get(), inputs, nullptr, nullptr, nullptr, nullptr),
            TESSERACT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(result, nullptr);
}

TEST_F(Square, InputsMayBeNullWhereNoneIsRequired) {
  EXPECT_TRUE(fails(evaluate(square, nullptr), TESSERACT_ERROR_SCHEMA, {"x"}));
  EXPECT_TRUE(succeeds(evaluate(component("empty"), nullptr)));
}

TEST_F(Square, OwnerIsNotRetainedWhereNothingIsKept) {
  tesseract_owner owner{nullptr, [](void *) { ADD_FAILURE() << "retained"; },
                        [](void *) { ADD_FAILURE() << "released"; }};
  Leaves owned;
  owned.add("x", &x.tensor, &owner).add("a", a);
  EXPECT_TRUE(succeeds(evaluate(square, owned)));
}

// ---- Several outputs ----------------------------------------------------------------------------

TEST(Apply, OnlyWhatIsWanted) {
  const auto many = component("many");
  std::deque<Doubles> x;
  Leaves inputs;
  for (int k = 0; k < 8; k++)
    inputs.add("x" + std::to_string(k), x.emplace_back(Doubles({1, 2}, {1.0 * k, 10.0 * k})));
  const auto outcome = evaluate(many, inputs, Leaves{"y3", "y1"});
  ASSERT_TRUE(succeeds(outcome));
  EXPECT_EQ(tesseract_result_count(outcome.get()), 2);
  EXPECT_STREQ(tesseract_result_path(outcome.get(), 0, nullptr), "y3");
  EXPECT_EQ(values_of(outcome, 0), (std::vector<double>{10.0, 100.0}));
  EXPECT_EQ(values_of(outcome, 1), (std::vector<double>{6.0, 60.0}));
}

TEST(Apply, ComponentSeesNullForWhatIsNotWantedOrGiven) {
  Puppet puppet;
  puppet.description = R"({"name": "puppet", "inputs": [
      {"path": "x", "dtype": "float64", "shape": [], "required": false},
      {"path": "z", "dtype": "float64", "shape": [], "default": 3}],
    "outputs": [{"path": "u", "dtype": "float64", "shape": []},
                {"path": "v", "dtype": "float64", "shape": []}]})";
  puppet.apply = [](tesseract_frame *frame) {
    EXPECT_EQ(frame->endpoint, TESSERACT_ENDPOINT_APPLY);
    EXPECT_EQ(frame->n_inputs, 2u);
    EXPECT_EQ(frame->n_seeds, 0u);
    EXPECT_EQ(frame->n_outputs, 2u);
    EXPECT_EQ(frame->inputs[0], nullptr);
    EXPECT_EQ(frame->outputs[0], nullptr);
    EXPECT_EQ(*static_cast<const double *>(frame->inputs[1]->data), 3.0);
    *static_cast<double *>(frame->outputs[1]->data) = 5.0;
    return TESSERACT_OK;
  };
  const auto component = puppet.opened();
  EXPECT_EQ(values_of(evaluate(component, nullptr, Leaves{"v"})), std::vector<double>{5.0});
}

TEST(Apply, DataDependentShape) {
  const auto dependent = component("dependent");
  Doubles x{-1.0, 2.0, 3.0, -4.0};
  Leaves inputs;
  inputs.add("x", x);
  const auto outcome = evaluate(dependent, inputs);
  EXPECT_EQ(values_of(outcome, 0), (std::vector<double>{2.0, 3.0}));
  EXPECT_EQ(values_of<int64_t>(outcome, 1), std::vector<int64_t>{2});
  EXPECT_EQ(values_of<int64_t>(evaluate(dependent, inputs, Leaves{"count"})),
            std::vector<int64_t>{2});
  for (double &value : x.values) value = -1.0;
  EXPECT_TRUE(values_of(evaluate(dependent, inputs)).empty());
}

TEST(Apply, ZeroSizeOutput) {
  const auto outcome = evaluate(component("empty"), nullptr);
  ASSERT_TRUE(succeeds(outcome));
  EXPECT_EQ(shape_of(tesseract_result_tensor(outcome.get(), 0)), (std::vector<int64_t>{2, 0}));
}

TEST(Apply, StateStaysWithTheInstance) {
  const auto stateful = component("stateful");
  Doubles x{1.0};
  Leaves inputs;
  inputs.add("x", x);
  for (int64_t call = 1; call <= 3; call++)
    EXPECT_EQ(values_of<int64_t>(evaluate(stateful, inputs), 1), std::vector<int64_t>{call});
}

// ---- Containers ---------------------------------------------------------------------------------

class Containers : public testing::Test {
 protected:
  Component containers = component("containers");
  Doubles one{1.0, 2.0}, two{3.0, 4.0};
  Doubles p = scalar(2.0), q = scalar(3.0);
  void TearDown() override {
    Leaves inputs;
    inputs.add("xs.[0]", one).add("params.{p}", p);
    EXPECT_EQ(values_of(evaluate(containers, inputs, Leaves{"total"})), std::vector<double>{6.0});
  }
};

TEST_F(Containers, OfAnySize) {
  Leaves inputs;
  inputs.add("xs.[0]", one).add("xs.[1]", two).add("params.{layer 0}", p).add("params.{q}", q);
  const auto outcome = evaluate(containers, inputs, Leaves{"ys.[1]", "total"});
  EXPECT_EQ(values_of(outcome, 0), (std::vector<double>{15.0, 20.0}));
  EXPECT_EQ(values_of(outcome, 1), std::vector<double>{50.0});
  EXPECT_STREQ(tesseract_result_path(outcome.get(), 0, nullptr), "ys.[1]");
}

TEST_F(Containers, EscapedKeys) {
  Leaves inputs;
  inputs.add("xs.[0]", one).add(R"(params.{a\}b\\c.d\{})", p);
  EXPECT_EQ(values_of(evaluate(containers, inputs, Leaves{"total"})), std::vector<double>{6.0});
}

TEST_F(Containers, Gradients) {
  Leaves inputs, seeds;
  Doubles seed = scalar(10.0);
  inputs.add("xs.[0]", one).add("xs.[1]", two).add("params.{p}", p);
  seeds.add("total", seed);
  const auto outcome = vjp(containers, inputs, seeds, Leaves{"params.{p}", "xs.[1]"});
  EXPECT_EQ(values_of(outcome, 0), std::vector<double>{100.0});
  EXPECT_EQ(values_of(outcome, 1), (std::vector<double>{20.0, 20.0}));
}

TEST_F(Containers, HolesAndOddPathsAreRefused) {
  for (const char *path : {"xs.[2]", "xs.[-1]", "xs.[01]", "xs.[x]", "xs.[]", "xs.[1", "xs", "xs.0",
                           "xs.[99999999999999999999]", "params.{}.x", "params.{open",
                           "params.{a}b}", "params", "other.{p}"}) {
    Leaves inputs;
    inputs.add("xs.[0]", one).add(path, p.tensor.ndim == 0 && path[0] == 'p' ? p : two);
    EXPECT_TRUE(fails(evaluate(containers, inputs, Leaves{"total"}),
                      {TESSERACT_ERROR_SCHEMA, TESSERACT_ERROR_INVALID_ARGUMENT}, {path}))
        << path;
  }
}

TEST_F(Containers, PrepareMayRefuse) {
  Leaves inputs;
  inputs.add("xs.[0]", one);
  EXPECT_TRUE(fails(evaluate(containers, inputs, Leaves{"ys.[4]"}), TESSERACT_ERROR_SCHEMA,
                    {"ys.[4]", "no such element"}));
}

TEST_F(Containers, ManyDifferentKeysAreNoError) {
  for (int i = 0; i < 3000; i++) {
    Leaves inputs;
    inputs.add("xs.[0]", one).add("params.{key " + std::to_string(i) + "}", p);
    ASSERT_EQ(values_of(evaluate(containers, inputs, Leaves{"total"})), std::vector<double>{6.0});
  }
}

// ---- Layouts ------------------------------------------------------------------------------------

TEST(Layout, ColumnMajorComponentIsConvertedFor) {
  const auto column_major = component("column_major");
  Doubles a({2, 3}, {1, 2, 3, 4, 5, 6});
  Leaves inputs;
  inputs.add("a", a);
  const auto outcome = evaluate(column_major, inputs);
  EXPECT_EQ(values_of(outcome), (std::vector<double>{2, 4, 6, 8, 10, 12}));
}

TEST(Layout, ColumnMajorArraysAreNotCopiedForIt) {
  const auto column_major = component("column_major");
  Doubles a({2, 3}, {1, 4, 2, 5, 3, 6}), b = zeros({2, 3});
  a.stride({1, 2});
  b.stride({1, 2});
  Leaves inputs, of;
  inputs.add("a", a);
  of.add("b", b);
  tesseract_call_options options = TESSERACT_CALL_OPTIONS_INIT;
  options.flags = TESSERACT_NO_COPY;
  ASSERT_TRUE(succeeds(evaluate(column_major, inputs, of, &options)));
  EXPECT_EQ(b.values, (std::vector<double>{2, 8, 4, 10, 6, 12}));
  EXPECT_EQ(statistics_of(column_major).layout_copies, 0u);
}

TEST(Layout, RowMajorDestinationOfAColumnMajorLeaf) {
  const auto column_major = component("column_major");
  Doubles a({2, 3}, {1, 2, 3, 4, 5, 6}), b = zeros({2, 3});
  Leaves inputs, of;
  inputs.add("a", a);
  of.add("b", b);
  ASSERT_TRUE(succeeds(evaluate(column_major, inputs, of)));
  EXPECT_EQ(b.values, (std::vector<double>{2, 4, 6, 8, 10, 12}));
}

TEST(Layout, ColumnMajorArrayForARowMajorLeaf) {
  const auto many = component("many");
  Doubles transposed({2, 3}, {1, 4, 2, 5, 3, 6}), ones({2, 3}, {1, 1, 1, 1, 1, 1});
  transposed.stride({1, 2});
  Leaves inputs;
  inputs.add("x0", transposed);
  for (int k = 1; k < 8; k++) inputs.add("x" + std::to_string(k), ones);
  EXPECT_EQ(values_of(evaluate(many, inputs, Leaves{"y0"})),
            (std::vector<double>{2, 3, 4, 5, 6, 7}));
  const auto counted = statistics_of(many);
  EXPECT_EQ(counted.layout_copies, 1u);
  EXPECT_EQ(counted.layout_bytes, 48u);
}

TEST(Layout, AnyStridesReachTheComponentAsTheyAre) {
  const auto any_strides = component("any_strides");
  Doubles a({2, 2}, {1, 0, 2, 0, 3, 0, 4, 0});
  a.stride({4, 2});
  Leaves inputs;
  inputs.add("a", a);
  tesseract_call_options options = TESSERACT_CALL_OPTIONS_INIT;
  options.flags = TESSERACT_NO_COPY;
  const auto outcome = evaluate(any_strides, inputs, nullptr, &options);
  EXPECT_EQ(values_of(outcome), (std::vector<double>{2, 4, 6, 8}));
  EXPECT_EQ(values_of<int64_t>(outcome, 1), std::vector<int64_t>{4});
  EXPECT_EQ(values_of<int64_t>(outcome, 2), std::vector<int64_t>{2});
}

TEST(Layout, NullStridesAreWrittenForAnyStrides) {
  Doubles a({2, 2}, {1, 2, 3, 4});
  Leaves inputs;
  inputs.add("a", a);
  const auto outcome = evaluate(component("any_strides"), inputs);
  EXPECT_EQ(values_of(outcome), (std::vector<double>{2, 4, 6, 8}));
  EXPECT_EQ(values_of<int64_t>(outcome, 1), std::vector<int64_t>{2});
}

TEST(Layout, NegativeStridesAreMadeCompactForAnyStrides) {
  Doubles a({2, 2}, {1, 2, 3, 4});
  a.stride({-2, 1});
  a.tensor.data = a.values.data() + 2;
  Leaves inputs;
  inputs.add("a", a);
  const auto outcome = evaluate(component("any_strides"), inputs);
  EXPECT_EQ(values_of(outcome), (std::vector<double>{6, 8, 2, 4}));
  EXPECT_GT(values_of<int64_t>(outcome, 1).at(0), 0);
}

TEST(Layout, OverlappingStridesAreMadeCompactForAnyStrides) {
  Doubles a({2, 2}, {1, 2});
  a.stride({0, 1});
  Leaves inputs;
  inputs.add("a", a);
  const auto outcome = evaluate(component("any_strides"), inputs);
  EXPECT_EQ(values_of(outcome), (std::vector<double>{2, 4, 2, 4}));
  EXPECT_EQ(values_of<int64_t>(outcome, 1), std::vector<int64_t>{2});
}

TEST(Layout, ByteOffsetIsWrittenAsZero) {
  Puppet puppet;
  puppet.apply = [](tesseract_frame *frame) {
    EXPECT_EQ(frame->inputs[0]->byte_offset, 0u);
    return Puppet::copy_first(frame);
  };
  const auto component = puppet.opened();
  Doubles x({2}, {0.0, 1.0, 2.0});
  x.tensor.byte_offset = 8;
  Leaves inputs;
  inputs.add("x", x);
  EXPECT_EQ(values_of(evaluate(component, inputs)), (std::vector<double>{1.0, 2.0}));
}

// ---- Abstract evaluation ------------------------------------------------------------------------

TEST(AbstractEval, ByNamedLengths) {
  const auto square = component("square");
  Doubles x = zeros({7});
  x.tensor.data = nullptr;
  Leaves inputs;
  inputs.add("x", x);
  const auto outcome = abstract_eval(square, inputs);
  ASSERT_TRUE(succeeds(outcome));
  const DLTensor *y = tesseract_result_tensor(outcome.get(), 0);
  EXPECT_EQ(shape_of(y), std::vector<int64_t>{7});
  EXPECT_EQ(y->data, nullptr);
  EXPECT_EQ(y->dtype.code, kDLFloat);
  EXPECT_EQ(y->dtype.bits, 64);
  EXPECT_STREQ(tesseract_result_path(outcome.get(), 0, nullptr), "y");
}

TEST(AbstractEval, ByTheComponent) {
  Doubles x = zeros({7});
  x.tensor.data = nullptr;
  Leaves inputs;
  inputs.add("x", x);
  const auto outcome = abstract_eval(component("abstract"), inputs);
  ASSERT_TRUE(succeeds(outcome));
  EXPECT_EQ(shape_of(tesseract_result_tensor(outcome.get(), 0)), std::vector<int64_t>{14});
  EXPECT_EQ(shape_of(tesseract_result_tensor(outcome.get(), 1)), std::vector<int64_t>{-1});
}

TEST(AbstractEval, AgreesWithApply) {
  Doubles x{1.0, 2.0};
  Leaves inputs;
  inputs.add("x", x);
  EXPECT_EQ(values_of(evaluate(component("abstract"), inputs)),
            (std::vector<double>{1.0, 2.0, 1.0, 2.0}));
}

TEST(AbstractEval, ChecksShapesAndPaths) {
  const auto square = component("square");
  Doubles matrix = zeros({2, 2});
  Leaves inputs, unknown;
  EXPECT_TRUE(fails(abstract_eval(square, inputs.add("x", matrix)), TESSERACT_ERROR_SCHEMA,
                    {"square", "abstract_eval", "x"}));
  EXPECT_TRUE(
      fails(abstract_eval(square, unknown.add("z", matrix)), TESSERACT_ERROR_SCHEMA, {"z"}));
}

TEST(AbstractEval, OfADataDependentShapeNeedsTheComponent) {
  Doubles x = zeros({3});
  Leaves inputs;
  inputs.add("x", x);
  EXPECT_TRUE(fails(abstract_eval(component("dependent"), inputs), TESSERACT_ERROR_UNSUPPORTED,
                    {"dependent", "abstract_eval"}));
}

}  // namespace
