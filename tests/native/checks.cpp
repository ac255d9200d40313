// Bad input: every tensor, list and string that a call may be given wrongly becomes a status and a
// message, and the component works afterwards.
#include <cmath>
#include <limits>

#include "puppet.h"

namespace {

using namespace test;

constexpr int64_t largest = std::numeric_limits<int64_t>::max();
const std::vector<int32_t> unsound = {TESSERACT_ERROR_INVALID_ARGUMENT, TESSERACT_ERROR_SCHEMA};
const std::vector<int32_t> elsewhere = {TESSERACT_ERROR_DEVICE, TESSERACT_ERROR_UNAVAILABLE,
                                        TESSERACT_ERROR_INVALID_ARGUMENT};

// What is done to a sound tensor, and what the host says to it.
struct Tampering {
  std::string what;
  std::function<void(DLTensor &)> tamper;
  std::vector<int32_t> statuses;
  std::vector<std::string> texts = {};  // expected and found
};

void PrintTo(const Tampering &tampering, std::ostream *out) {
  *out << tampering.what;
}

// Lengths and strides that outlive the case.
int64_t *lasting(std::vector<int64_t> values) {
  static std::deque<std::vector<int64_t>> all;
  return all.emplace_back(std::move(values)).data();
}

void lengths(DLTensor &tensor, std::vector<int64_t> shape) {
  tensor.ndim = static_cast<int32_t>(shape.size());
  tensor.shape = lasting(std::move(shape));
}

std::string name_of(const testing::TestParamInfo<Tampering> &info) {
  return info.param.what;
}

// Wrong wherever a tensor is read or written.
std::vector<Tampering> wrong_anywhere() {
  return {
      {"NullData", [](auto &t) { t.data = nullptr; }, unsound},
      {"NullShape", [](auto &t) { t.shape = nullptr; }, unsound},
      {"NegativeRank", [](auto &t) { t.ndim = -1; }, unsound},
      {"HugeRank", [](auto &t) { t.ndim = 1 << 30; }, unsound},
      {"LowerRank", [](auto &t) { t.ndim = 0; }, unsound},
      {"HigherRank", [](auto &t) { lengths(t, {3, 1}); }, unsound},
      {"NegativeLength", [](auto &t) { lengths(t, {-3}); }, unsound, {"-3"}},
      {"SmallestLength", [](auto &t) { lengths(t, {INT64_MIN}); }, unsound},
      {"OverflowingLength", [](auto &t) { lengths(t, {largest}); }, unsound},
      {"OverflowingBytes", [](auto &t) { lengths(t, {int64_t{1} << 61}); }, unsound},
      {"OverflowingStride", [](auto &t) { t.strides = lasting({largest}); }, unsound},
      {"SmallestStride", [](auto &t) { t.strides = lasting({INT64_MIN}); }, unsound},
      {"StrideOverflowingBytes", [](auto &t) { t.strides = lasting({largest / 4}); }, unsound},
      {"ByteOffsetOverflows", [](auto &t) { t.byte_offset = UINT64_MAX - 7; }, unsound},
      {"Lanes", [](auto &t) { t.dtype.lanes = 2; }, unsound},
      {"NoLanes", [](auto &t) { t.dtype.lanes = 0; }, unsound},
      {"OddBits", [](auto &t) { t.dtype.bits = 63; }, unsound},
      {"NoBits", [](auto &t) { t.dtype.bits = 0; }, unsound},
      {"NoSuchDtype", [](auto &t) { t.dtype.code = 200; }, unsound},
      {"Complex",
       [](auto &t) {
         t.dtype = {kDLComplex, 128, 1};
         lengths(t, {1});
       },
       unsound,
       {"float64", "complex128"}},
      {"Cuda", [](auto &t) { t.device = {kDLCUDA, 0}; }, elsewhere},
      {"NoSuchDevice", [](auto &t) { t.device = {static_cast<DLDeviceType>(99), 0}; }, elsewhere},
  };
}

// ---- One tensor at a time -----------------------------------------------------------------------

class TensorIn : public testing::TestWithParam<Tampering> {
 protected:
  Component square = component("square");
  Doubles x{1.0, 2.0, 3.0}, y = zeros({3});
  Doubles a = scalar(2.0);

  template <class Handle>
  void expect_refused(const Outcome<Handle> &outcome, const char *endpoint, const char *path) {
    EXPECT_TRUE(fails(outcome, GetParam().statuses, {"square", endpoint, path}));
    for (const auto &text : GetParam().texts)
      EXPECT_NE(outcome.message().find(text), std::string::npos)
          << text << ": " << outcome.message();
    EXPECT_EQ(outcome.detail(TESSERACT_DETAIL_PATH), path);
    EXPECT_EQ(outcome.detail(TESSERACT_DETAIL_ENDPOINT), endpoint);
    EXPECT_EQ(outcome.detail(TESSERACT_DETAIL_COMPONENT), "square");
  }
  void TearDown() override { EXPECT_TRUE(usable(square)); }
};

class Input : public TensorIn {};
class Destination : public TensorIn {};
class Seed : public TensorIn {};
INSTANTIATE_TEST_SUITE_P(Wrong, Input, testing::ValuesIn(wrong_anywhere()), name_of);
INSTANTIATE_TEST_SUITE_P(Wrong, Destination, testing::ValuesIn(wrong_anywhere()), name_of);
INSTANTIATE_TEST_SUITE_P(Wrong, Seed, testing::ValuesIn(wrong_anywhere()), name_of);

TEST_P(Input, IsRefused) {
  GetParam().tamper(x.tensor);
  Leaves inputs;
  inputs.add("x", x).add("a", a);
  expect_refused(evaluate(square, inputs), "apply", "x");
}

TEST_P(Input, IsRefusedByARun) {
  const auto call = prepare(square, signature(TESSERACT_ENDPOINT_APPLY, Leaves{"x", "a"}));
  GetParam().tamper(x.tensor);
  expect_refused(run(call.get(), {&x.tensor, &a.tensor}, {&y.tensor}), "apply", "x");
}

TEST_P(Destination, IsRefused) {
  GetParam().tamper(y.tensor);
  Leaves inputs, of;
  inputs.add("x", x).add("a", a);
  expect_refused(evaluate(square, inputs, of.add("y", y)), "apply", "y");
}

TEST_P(Destination, IsRefusedByARun) {
  const auto call = prepare(square, signature(TESSERACT_ENDPOINT_APPLY, Leaves{"x", "a"}));
  GetParam().tamper(y.tensor);
  expect_refused(run(call.get(), {&x.tensor, &a.tensor}, {&y.tensor}), "apply", "y");
}

TEST_P(Seed, IsRefused) {
  GetParam().tamper(y.tensor);
  Leaves inputs, cotangents;
  inputs.add("x", x).add("a", a);
  expect_refused(vjp(square, inputs, cotangents.add("y", y)), "vjp", "y");
}

TEST_P(Seed, IsRefusedByARun) {
  Doubles dx = zeros({3});
  const auto call = prepare(
      square, signature(TESSERACT_ENDPOINT_VJP, Leaves{"x", "a"}, Leaves{"y"}, Leaves{"x"}));
  GetParam().tamper(y.tensor);
  expect_refused(run(call.get(), {&x.tensor, &a.tensor, &y.tensor}, {&dx.tensor}), "vjp", "y");
}

// ---- Tensors that belong together ---------------------------------------------------------------

class Matrices : public testing::Test {
 protected:
  Component many = component("many");
  std::deque<Doubles> x, y;
  std::vector<const DLTensor *> in;
  std::vector<DLTensor *> out;
  Call call;

  void SetUp() override {
    Leaves inputs;
    for (int k = 0; k < 8; k++) {
      inputs.add("x" + std::to_string(k));
      in.push_back(&x.emplace_back(Doubles({2, 3}, {1, 2, 3, 4, 5, 6})).tensor);
    }
    for (int k = 0; k < 4; k++) out.push_back(&y.emplace_back(zeros({2, 3})).tensor);
    call = std::move(prepare(many, signature(TESSERACT_ENDPOINT_APPLY, inputs)).value);
    ASSERT_TRUE(call);
  }
  Outcome<Result> run_it(Options options = nullptr) {
    return test::run(call.get(), in, out, options);
  }
  void expect_sums() { EXPECT_EQ(values_of(out[0]), (std::vector<double>{2, 4, 6, 8, 10, 12})); }
  void TearDown() override {
    std::deque<Doubles> sound;
    for (auto &tensor : in) tensor = &sound.emplace_back(Doubles({1, 1}, {1.0})).tensor;
    for (auto &tensor : out) tensor = &sound.emplace_back(zeros({1, 1})).tensor;
    ASSERT_TRUE(succeeds(run_it()));
    EXPECT_EQ(values_of(out[3]), std::vector<double>{2.0});
  }
};

TEST_F(Matrices, AreSummed) {
  ASSERT_TRUE(succeeds(run_it()));
  expect_sums();
}

TEST_F(Matrices, NamedLengthsMustAgree) {
  Doubles longer = zeros({2, 4});
  in[6] = &longer.tensor;
  EXPECT_TRUE(fails(run_it(), TESSERACT_ERROR_SCHEMA, {"many", "apply", "x6", "3", "4"}));
  Doubles swapped = zeros({3, 2});
  in[6] = &x[6].tensor;
  out[2] = &swapped.tensor;
  EXPECT_TRUE(fails(run_it(), TESSERACT_ERROR_SCHEMA, {"many", "apply", "y2"}));
}

TEST_F(Matrices, DestinationMayNotBeAnInput) {
  for (const int k : {0, 3, 7}) {
    out[1] = &x[static_cast<size_t>(k)].tensor;
    EXPECT_TRUE(fails(run_it(), TESSERACT_ERROR_INVALID_ARGUMENT,
                      {"many", "apply", "y1", "x" + std::to_string(k)}));
  }
}

TEST_F(Matrices, DestinationMayNotOverlapAnInput) {
  std::vector<double> memory(20, 1.0);
  DLTensor left = x[0].tensor, right = y[0].tensor;
  in[0] = &left;
  out[0] = &right;
  left.data = memory.data();
  for (const int shift : {1, 5}) {
    right.data = memory.data() + shift;
    EXPECT_TRUE(fails(run_it(), TESSERACT_ERROR_INVALID_ARGUMENT, {"x0", "y0"})) << shift;
  }
  right.data = memory.data() + 6;
  EXPECT_TRUE(succeeds(run_it())) << "neighbours don't overlap";
  left.data = memory.data();
  left.byte_offset = 6 * sizeof(double);
  EXPECT_TRUE(fails(run_it(), TESSERACT_ERROR_INVALID_ARGUMENT, {"x0", "y0"})) << "byte_offset";
}

TEST_F(Matrices, DestinationsMayNotOverlap) {
  out[2] = out[1];
  EXPECT_TRUE(fails(run_it(), TESSERACT_ERROR_INVALID_ARGUMENT, {"many", "apply", "y1", "y2"}));
  DLTensor shifted = y[0].tensor;
  shifted.data = y[0].values.data() + 5;
  std::vector<double> room(20);
  y[0].tensor.data = room.data();
  shifted.data = room.data() + 5;
  out[2] = &shifted;
  EXPECT_TRUE(fails(run_it(), TESSERACT_ERROR_INVALID_ARGUMENT, {"y0", "y2"}));
}

TEST_F(Matrices, InputsMayBeOneArray) {
  for (auto &tensor : in) tensor = &x[0].tensor;
  ASSERT_TRUE(succeeds(run_it()));
  expect_sums();
}

TEST_F(Matrices, OverlappingDestinationIsRefused) {
  y[0].stride({1, 1});
  EXPECT_TRUE(fails(run_it(), unsound, {"many", "apply", "y0"}));
  y[0].stride({0, 0});
  EXPECT_TRUE(fails(run_it(), unsound, {"many", "apply", "y0"}));
}

// An input that lies over itself, as a broadcast array does, can be read but not handed on.
TEST_F(Matrices, OverlappingInputIsCopied) {
  x[0].stride({1, 1});
  ASSERT_TRUE(succeeds(run_it()));
  EXPECT_EQ(values_of(out[0]), (std::vector<double>{2, 4, 6, 6, 8, 10}));
  x[0].stride({0, 1});
  ASSERT_TRUE(succeeds(run_it()));
  EXPECT_EQ(values_of(out[0]), (std::vector<double>{2, 4, 6, 5, 7, 9}));
  tesseract_call_options options = TESSERACT_CALL_OPTIONS_INIT;
  options.flags = TESSERACT_NO_COPY;
  EXPECT_TRUE(fails(run_it(&options), unsound, {"many", "apply", "x0"}));
}

TEST_F(Matrices, StridesThatOverflowTogetherAreRefused) {
  x[0].stride({largest / 8, largest / 8});
  EXPECT_TRUE(fails(run_it(), unsound, {"many", "apply", "x0"}));
}

TEST_F(Matrices, StridedDestinationIsWrittenInPlace) {
  std::vector<double> wide(12, -1.0);
  y[0].tensor.data = wide.data();
  y[0].stride({6, 2});
  ASSERT_TRUE(succeeds(run_it()));
  EXPECT_EQ(wide, (std::vector<double>{2, -1, 4, -1, 6, -1, 8, -1, 10, -1, 12, -1}));
}

TEST_F(Matrices, ReversedArraysAreUnderstood) {
  x[0].tensor.data = x[0].values.data() + 5;
  x[0].stride({-3, -1});
  ASSERT_TRUE(succeeds(run_it()));
  EXPECT_EQ(values_of(out[0]), std::vector<double>(6, 7.0));
}

TEST_F(Matrices, StridesOfAxesOfOneElementAreFree) {
  tesseract_call_options options = TESSERACT_CALL_OPTIONS_INIT;
  options.flags = TESSERACT_NO_COPY;
  for (const int64_t odd : {int64_t{0}, int64_t{-7}, int64_t{1000}, largest, INT64_MIN}) {
    std::deque<Doubles> row;
    for (auto &tensor : in)
      tensor = &row.emplace_back(Doubles({1, 3}, {1, 2, 3})).stride({odd, 1}).tensor;
    for (auto &tensor : out) tensor = &row.emplace_back(zeros({1, 3})).stride({odd, 1}).tensor;
    ASSERT_TRUE(succeeds(run_it(&options))) << odd;
    EXPECT_EQ(row[8].values, (std::vector<double>{2, 4, 6})) << odd;
  }
  EXPECT_EQ(statistics_of(many).layout_copies, 0u);
}

TEST_F(Matrices, NoElements) {
  for (const auto &shape : {std::vector<int64_t>{0, 3}, {2, 0}, {0, 0}}) {
    std::deque<Doubles> none;
    for (auto &tensor : in) {
      none.emplace_back(zeros({0, 0})).shape = shape;
      none.back().tensor.data = nullptr;
      tensor = &none.back().tensor;
    }
    for (auto &tensor : out) {
      none.emplace_back(zeros({0, 0})).shape = shape;
      none.back().tensor.data = nullptr;
      tensor = &none.back().tensor;
    }
    EXPECT_TRUE(succeeds(run_it())) << shape[0] << " by " << shape[1];
  }
}

TEST_F(Matrices, UnalignedInputIsCopied) {
  std::vector<char> bytes(6 * sizeof(double) + 1);
  std::copy_n(reinterpret_cast<const char *>(x[0].values.data()), 6 * sizeof(double),
              bytes.data() + 1);
  x[0].tensor.data = bytes.data() + 1;
  const auto before = statistics_of(many).layout_copies;
  ASSERT_TRUE(succeeds(run_it()));
  expect_sums();
  EXPECT_EQ(statistics_of(many).layout_copies, before + 1);
  tesseract_call_options options = TESSERACT_CALL_OPTIONS_INIT;
  options.flags = TESSERACT_NO_COPY;
  EXPECT_TRUE(fails(run_it(&options), unsound, {"many", "apply", "x0"}));
}

TEST_F(Matrices, UnalignedDestinationIsFilled) {
  std::vector<char> bytes(6 * sizeof(double) + 1);
  y[0].tensor.data = bytes.data() + 1;
  ASSERT_TRUE(succeeds(run_it()));
  std::vector<double> values(6);
  std::copy_n(bytes.data() + 1, 6 * sizeof(double), reinterpret_cast<char *>(values.data()));
  EXPECT_EQ(values, (std::vector<double>{2, 4, 6, 8, 10, 12}));
}

TEST(Alignment, OfTheLeafIsKept) {
  Puppet puppet;
  puppet.description = R"({"name": "puppet",
    "inputs": [{"path": "x", "dtype": "float64", "shape": ["n"], "alignment": 64}],
    "outputs": [{"path": "y", "dtype": "float64", "shape": ["n"], "alignment": 64}]})";
  puppet.apply = [](tesseract_frame *frame) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(frame->inputs[0]->data) % 64, 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(frame->outputs[0]->data) % 64, 0u);
    return Puppet::copy_first(frame);
  };
  const auto component = puppet.opened();
  std::vector<double> memory(40, 1.0);
  for (size_t shift = 0; shift < 8; shift++) {
    int64_t three = 3;
    const DLTensor x = tesseract_float64(memory.data() + shift, 1, &three);
    Leaves inputs;
    EXPECT_EQ(values_of(evaluate(component, inputs.add("x", &x))), std::vector<double>(3, 1.0));
  }
}

TEST(Overlap, IsAllowedWhereTheComponentSaysSo) {
  Puppet puppet;
  puppet.description = R"({"name": "puppet", "overlap": true,
    "inputs": [{"path": "x", "dtype": "float64", "shape": ["n"]}],
    "outputs": [{"path": "y", "dtype": "float64", "shape": ["n"]}]})";
  const auto component = puppet.opened();
  Doubles x{1.0, 2.0};
  Leaves inputs, of;
  ASSERT_TRUE(succeeds(evaluate(component, inputs.add("x", x), of.add("y", x))));
  EXPECT_EQ(x.values, (std::vector<double>{1.0, 2.0}));
}

TEST(FixedLengths, AreChecked) {
  Puppet puppet;
  puppet.description = R"({"name": "puppet",
    "inputs": [{"path": "x", "dtype": "float64", "shape": [3]}],
    "outputs": [{"path": "y", "dtype": "float64", "shape": [3]}]})";
  const auto component = puppet.opened();
  Doubles four = zeros({4});
  Leaves inputs;
  EXPECT_TRUE(fails(evaluate(component, inputs.add("x", four)), TESSERACT_ERROR_SCHEMA,
                    {"puppet", "apply", "x", "3", "4"}));
  EXPECT_TRUE(identity_works(component));
}

TEST(ComponentChecks, LeaveShapesToTheComponent) {
  Puppet puppet;
  puppet.description = R"({"name": "puppet", "checks": "component",
    "inputs": [{"path": "x", "dtype": "float64", "shape": [2]}],
    "outputs": [{"path": "rank", "dtype": "int64", "shape": []}]})";
  puppet.apply = [](tesseract_frame *frame) {
    *static_cast<int64_t *>(frame->outputs[0]->data) = frame->inputs[0]->ndim;
    return TESSERACT_OK;
  };
  const auto component = puppet.opened();
  Array<float> cube({1, 1, 1}, {1.0F});
  Leaves inputs;
  inputs.add("x", cube);
  EXPECT_EQ(values_of<int64_t>(evaluate(component, inputs)), std::vector<int64_t>{3});
  cube.tensor.data = nullptr;
  EXPECT_TRUE(fails(evaluate(component, inputs), unsound, {"x"})) << "soundness is the host's";
}

// ---- Dtypes -------------------------------------------------------------------------------------

TEST(Dtypes, AreConvertedWithinTheirKind) {
  const auto square = component("square");
  Array<float> narrow({3}, {1.0F, 2.0F, 3.0F});
  Array<int32_t> whole({3}, {1, 2, 3});
  Leaves floats, integers;
  const std::vector<double> expected{1.0, 4.0, 9.0};
  EXPECT_EQ(values_of(evaluate(square, floats.add("x", narrow))), expected);
  EXPECT_EQ(values_of(evaluate(square, integers.add("x", whole))), expected);
  const auto counted = statistics_of(square);
  EXPECT_EQ(counted.dtype_copies, 2u);
  EXPECT_EQ(counted.layout_copies, 0u);
  tesseract_call_options options = TESSERACT_CALL_OPTIONS_INIT;
  options.flags = TESSERACT_NO_COPY;
  EXPECT_TRUE(fails(evaluate(square, floats, nullptr, &options), unsound, {"x", "float32"}));
}

TEST(Dtypes, AreNotConvertedAcrossKinds) {
  const auto typed = component("typed");
  Doubles real{1.5}, whole{2.0};
  Leaves inputs[3];
  EXPECT_TRUE(fails(evaluate(typed, inputs[0].add("i64", real), Leaves{"i64"}),
                    TESSERACT_ERROR_SCHEMA, {"i64", "int64", "float64"}));
  EXPECT_TRUE(fails(evaluate(typed, inputs[1].add("i64", whole), Leaves{"i64"}),
                    TESSERACT_ERROR_SCHEMA, {"i64", "int64", "float64"}));
  EXPECT_TRUE(fails(evaluate(typed, inputs[2].add("flag", whole), Leaves{"flag"}),
                    TESSERACT_ERROR_SCHEMA, {"flag", "bool", "float64"}));
}

TEST(Dtypes, ValuesMustFit) {
  const auto typed = component("typed");
  Array<int64_t> fits({2}, {-128, 127}), large({1}, {128}), negative({1}, {-1});
  Doubles huge{1e40};
  Leaves inputs[4];
  EXPECT_EQ(values_of<int8_t>(evaluate(typed, inputs[0].add("i8", fits), Leaves{"i8"})),
            (std::vector<int8_t>{-128, 127}));
  EXPECT_TRUE(fails(evaluate(typed, inputs[1].add("i8", large), Leaves{"i8"}),
                    TESSERACT_ERROR_SCHEMA, {"i8", "int8"}));
  EXPECT_TRUE(fails(evaluate(typed, inputs[2].add("u64", negative), Leaves{"u64"}),
                    TESSERACT_ERROR_SCHEMA, {"u64", "uint64"}));
  EXPECT_TRUE(fails(evaluate(typed, inputs[3].add("f32", huge), Leaves{"f32"}),
                    TESSERACT_ERROR_SCHEMA, {"f32"}));
}

TEST(Dtypes, NonFiniteAndRoundedValuesPass) {
  const auto typed = component("typed");
  Doubles odd{std::numeric_limits<double>::infinity(), std::nan(""), 0.1};
  Leaves inputs;
  const auto values = values_of<float>(evaluate(typed, inputs.add("f32", odd), Leaves{"f32"}));
  ASSERT_EQ(values.size(), 3u);
  EXPECT_TRUE(std::isinf(values[0]));
  EXPECT_TRUE(std::isnan(values[1]));
  EXPECT_EQ(values[2], 0.1F);
}

TEST(Dtypes, DestinationsMustBeExact) {
  const auto square = component("square");
  Doubles x{1.0, 2.0};
  Array<float> y({2}, {0.0F, 0.0F});
  Leaves inputs, of;
  EXPECT_TRUE(fails(evaluate(square, inputs.add("x", x), of.add("y", y)), TESSERACT_ERROR_SCHEMA,
                    {"square", "apply", "y", "float64", "float32"}));
}

// ---- Abstract evaluation ------------------------------------------------------------------------

TEST(AbstractShapes, ThatOverflow) {
  const auto square = component("square"), any_strides = component("any_strides");
  for (int64_t length : {largest, int64_t{1} << 61}) {
    DLTensor x = tesseract_float64(nullptr, 1, &length);
    Leaves inputs;
    EXPECT_TRUE(fails(abstract_eval(square, inputs.add("x", &x)), TESSERACT_ERROR_SCHEMA,
                      {"square", "abstract_eval", "x"}));
  }
  int64_t shape[] = {int64_t{1} << 40, int64_t{1} << 40};
  DLTensor a = tesseract_float64(nullptr, 2, shape);
  Leaves inputs;
  EXPECT_TRUE(fails(abstract_eval(any_strides, inputs.add("a", &a)), TESSERACT_ERROR_SCHEMA,
                    {"any_strides", "abstract_eval", "a"}));
}

// ---- Lists and paths ----------------------------------------------------------------------------

class Lists : public testing::Test {
 protected:
  Component square = component("square");
  Doubles x{1.0, 2.0, 3.0};
  Leaves inputs;
  void TearDown() override { EXPECT_TRUE(usable(square)); }
};

TEST_F(Lists, UnknownInput) {
  EXPECT_TRUE(fails(evaluate(square, inputs.add("x", x).add("velocity", x)), TESSERACT_ERROR_SCHEMA,
                    {"square", "apply", "velocity"}));
}

TEST_F(Lists, MissingInput) {
  const auto outcome = evaluate(square, inputs);
  EXPECT_TRUE(fails(outcome, TESSERACT_ERROR_SCHEMA, {"square", "apply", "x"}));
  EXPECT_EQ(outcome.detail(TESSERACT_DETAIL_PATH), "x");
}

TEST_F(Lists, InputTwice) {
  EXPECT_TRUE(
      fails(evaluate(square, inputs.add("x", x).add("x", x)), unsound, {"square", "apply", "x"}));
}

TEST_F(Lists, InputAsTensorAndInTheJson) {
  EXPECT_TRUE(fails(evaluate(square, inputs.add("x", x).json(R"({"x": [1]})")), unsound,
                    {"square", "apply", "x"}));
}

TEST_F(Lists, UnknownOutput) {
  inputs.add("x", x);
  EXPECT_TRUE(fails(evaluate(square, inputs, Leaves{"z"}), TESSERACT_ERROR_SCHEMA,
                    {"square", "apply", "z"}));
  EXPECT_TRUE(fails(evaluate(square, inputs, Leaves{"x"}), TESSERACT_ERROR_SCHEMA, {"x"}));
}

TEST_F(Lists, OutputTwice) {
  inputs.add("x", x);
  EXPECT_TRUE(fails(evaluate(square, inputs, Leaves{"y", "y"}), unsound, {"square", "apply", "y"}));
}

TEST_F(Lists, InputWithoutTensor) {
  EXPECT_TRUE(fails(evaluate(square, inputs.add("x")), TESSERACT_ERROR_INVALID_ARGUMENT,
                    {"square", "apply", "x"}));
}

TEST_F(Lists, OddCounts) {
  inputs.add("x", x);
  for (const int64_t count : {int64_t{-1}, int64_t{-2}, INT64_MIN}) {
    inputs.raw.count = count;
    EXPECT_TRUE(fails(evaluate(square, inputs), TESSERACT_ERROR_INVALID_ARGUMENT, {"square"}))
        << count;
  }
  inputs.raw.count = 1;
  Leaves of;
  of.raw.count = -2;
  EXPECT_TRUE(fails(evaluate(square, inputs, of), TESSERACT_ERROR_INVALID_ARGUMENT, {"square"}));
}

TEST_F(Lists, CountWithoutItems) {
  for (const int64_t count : {int64_t{1}, int64_t{1000}, largest}) {
    inputs.raw.count = count;
    EXPECT_TRUE(fails(evaluate(square, inputs), TESSERACT_ERROR_INVALID_ARGUMENT, {"square"}));
  }
}

TEST_F(Lists, OddPaths) {
  const std::string long_path(1 << 20, 'p');
  for (const std::string &path :
       {std::string(), std::string("x\0", 2), std::string("\xff\xfe"), std::string("."),
        std::string("x."), std::string(".x"), std::string("x.[0]"), std::string("x.{k}"),
        std::string("X"), std::string(" x"), long_path}) {
    Leaves odd;
    odd.add("x", x).add(path, x);
    EXPECT_TRUE(fails(evaluate(square, odd), unsound, {"square", "apply"})) << path.substr(0, 20);
    EXPECT_TRUE(
        fails(evaluate(square, inputs.raw.count ? inputs : inputs.add("x", x), Leaves{path}),
              unsound, {"square", "apply"}))
        << path.substr(0, 20);
  }
}

TEST_F(Lists, NullPaths) {
  inputs.add("x", x);
  inputs.item(0).path = {nullptr, 1};
  EXPECT_TRUE(fails(evaluate(square, inputs), TESSERACT_ERROR_INVALID_ARGUMENT, {"square"}));
  inputs.item(0).path = {nullptr, TESSERACT_NTS};
  EXPECT_TRUE(fails(evaluate(square, inputs), TESSERACT_ERROR_INVALID_ARGUMENT, {"square"}));
}

TEST_F(Lists, NulTerminatedPath) {
  inputs.add("x", x);
  inputs.item(0).path.length = TESSERACT_NTS;
  EXPECT_TRUE(succeeds(evaluate(square, inputs)));
}

TEST_F(Lists, JsonIsOnlyForInputs) {
  inputs.add("x", x);
  Leaves of{"y"};
  of.json("{}");
  EXPECT_TRUE(fails(evaluate(square, inputs, of), TESSERACT_ERROR_INVALID_ARGUMENT, {"square"}));
}

TEST_F(Lists, OwnersAreForPreparedCalls) {
  inputs.add("x", x);
  const tesseract_owner *owners[] = {nullptr};
  tesseract_call_options options = TESSERACT_CALL_OPTIONS_INIT;
  options.owners = owners;
  EXPECT_TRUE(fails(evaluate(square, inputs, nullptr, &options), TESSERACT_ERROR_INVALID_ARGUMENT,
                    {"square"}));
}

TEST_F(Lists, StreamWithoutADeviceIsIgnored) {
  inputs.add("x", x);
  tesseract_call_options options = TESSERACT_CALL_OPTIONS_INIT;
  options.stream = 12345;
  EXPECT_TRUE(succeeds(evaluate(square, inputs, nullptr, &options)));
}

}  // namespace
