// Which calls of a prepared signature need no Python but the module's function.
#include "prepared.h"

namespace loader_test {
namespace {

enum Code { kInstance = 0, kColour = 1, kNew = 2, kDump = 3, kDict = 4 };

// The module "routes", which tells how many Python functions it is called in.
class Routes : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(component_.opened.status, TESSERACT_OK) << component_.opened.message;
  }

  static int depth(Prepared &call, double code, const Vector &x = {1, 2}) {
    const Numbers number(code), array(x);
    EXPECT_EQ(call.run({&number.tensor, &array.tensor}), TESSERACT_OK) << call.failure.message;
    return call.values().value("depth", -1);
  }

  // Of a derivative, whose first result has it as its numbers.
  static int depth_of(Prepared &call, const std::vector<const DLTensor *> &in) {
    EXPECT_EQ(call.run(in), TESSERACT_OK) << call.failure.message;
    return static_cast<int>(call.output().at(0));
  }

  Prepared apply() { return {component_, TESSERACT_ENDPOINT_APPLY, {"code", "x"}, {"y"}}; }

  Component component_{"routes"};
};

TEST_F(Routes, AreShortFromTheSecondCallOn) {
  Prepared call = apply();
  EXPECT_GT(depth(call, kInstance), 1);
  for (const double code : {kInstance, kDict, kInstance}) EXPECT_EQ(depth(call, code), 1) << code;
  EXPECT_EQ(depth(call, kInstance, {1, 2, 3}), 1);
}

TEST_F(Routes, AreShortForContainers) {
  Prepared call(component_, TESSERACT_ENDPOINT_APPLY,
                {"code", "x", "part.u", "table.{one}", "steps.[0]"}, {"y"}, {},
                R"({"part": {"label": "l"}, "bounded": 2.5})");
  const Numbers code(0.0), x({1, 2});
  for (int i = 0; i < 3; i++) {
    ASSERT_EQ(call.run({&code.tensor, &x.tensor, &x.tensor, &x.tensor, &x.tensor}), TESSERACT_OK)
        << call.failure.message;
    EXPECT_EQ(call.values().at("depth") == 1, i > 0) << i;
  }
}

TEST_F(Routes, AreLongForInputsThatMustBeCopiedTogether) {
  Prepared call = apply();
  for (int i = 0; i < 2; i++) depth(call, kInstance);
  const Numbers code(0.0), wide({1, 2, 3, 4});
  int64_t length = 2, stride = 2;
  DLTensor strided = wide.tensor;
  strided.shape = &length;
  strided.strides = &stride;
  ASSERT_EQ(call.run({&code.tensor, &strided}), TESSERACT_OK) << call.failure.message;
  EXPECT_EQ(call.output(), (Vector{1, 3}));
  EXPECT_GT(call.values().at("depth"), 1);
  EXPECT_EQ(depth(call, kInstance), 1);
}

TEST_F(Routes, AreShortAgainAfterAFailure) {
  Prepared call = apply();
  for (int i = 0; i < 2; i++) depth(call, kInstance);
  const Numbers code(0.0), nothing({}, {0});
  EXPECT_EQ(call.run({&code.tensor, &nothing.tensor}), TESSERACT_ERROR_SCHEMA);
  EXPECT_EQ(depth(call, kInstance), 1);
}

TEST_F(Routes, AreShortForDerivatives) {
  const Numbers code(0.0), x({1, 2}), seed({1, 1});
  for (const int32_t endpoint :
       {TESSERACT_ENDPOINT_VJP, TESSERACT_ENDPOINT_JVP, TESSERACT_ENDPOINT_JACOBIAN}) {
    Prepared call(component_, endpoint, {"code", "x"}, {"y"}, {"x"});
    std::vector<const DLTensor *> in = {&code.tensor, &x.tensor};
    if (endpoint != TESSERACT_ENDPOINT_JACOBIAN) in.push_back(&seed.tensor);
    EXPECT_GT(depth_of(call, in), 1) << endpoint;
    for (int i = 0; i < 2; i++) EXPECT_EQ(depth_of(call, in), 1) << endpoint;
  }
}

// ---- Classes that the module changes -----------------------------------------------------------

TEST_F(Routes, StayShortWhereNothingOfPydanticsIsChanged) {
  Prepared call = apply();
  depth(call, kInstance);
  for (const double code : {kColour, kInstance, kColour}) EXPECT_EQ(depth(call, code), 1);
}

TEST_F(Routes, AreLongForInstancesThatAreMadeInAnotherWay) {
  Prepared call = apply();
  depth(call, kInstance);
  EXPECT_EQ(depth(call, kNew), 1);
  for (int i = 0; i < 2; i++) EXPECT_GT(depth(call, kInstance), 1);
}

TEST_F(Routes, DumpInTheWayThatTheModuleChose) {
  Prepared call = apply();
  for (int i = 0; i < 2; i++) depth(call, kInstance);
  EXPECT_EQ(call.output(), (Vector{1, 2}));
  depth(call, kDump);
  for (int i = 0; i < 2; i++) {
    EXPECT_EQ(depth(call, kInstance), 1);  // the check alone takes longer
    EXPECT_EQ(call.output(), (Vector{-1, -2}));
  }
}

}  // namespace
}  // namespace loader_test
