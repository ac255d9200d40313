// Outputs in memory of the component's own (ext/adopt.h): taken over without a copy, freed once.
#include "support.h"

namespace {

using namespace test;

class Adopt : public testing::Test {
 protected:
  Component adopts = component("adopts");
  Doubles x{1.0, 2.0, 3.0};
  const std::vector<double> doubled{2.0, 4.0, 6.0};

  Outcome<Result> call(int64_t wrong = 0) {
    Leaves inputs;
    return evaluate(adopts, inputs.add("x", x).json("{\"wrong\": " + std::to_string(wrong) + "}"));
  }
  static int64_t number(const Outcome<Result> &outcome, int64_t index) {
    return values_of<int64_t>(outcome, index).at(0);
  }
  static int64_t address(const Outcome<Result> &outcome) {
    return static_cast<int64_t>(
        reinterpret_cast<intptr_t>(tesseract_result_tensor(outcome.get(), 0)->data));
  }
};

TEST_F(Adopt, ResultsAreTheComponentsMemory) {
  const auto outcome = call();
  ASSERT_TRUE(succeeds(outcome));
  EXPECT_EQ(number(outcome, 1), TESSERACT_OK);
  EXPECT_EQ(number(outcome, 2), address(outcome));
  EXPECT_EQ(values_of(outcome), doubled);
}

TEST_F(Adopt, ItIsFreedOnceWithTheResult) {
  int64_t before = 0;
  {
    const auto outcome = call();
    before = number(outcome, 3);
  }
  EXPECT_EQ(number(call(), 3), before + 1);
}

TEST_F(Adopt, WhoTakesTheTensorFreesIt) {
  DLManagedTensorVersioned *taken = nullptr;
  int64_t before = 0;
  {
    auto outcome = call();
    before = number(outcome, 3);
    ASSERT_EQ(tesseract_result_take(outcome.value.get(), 0, &taken), TESSERACT_OK);
  }
  {
    const auto outcome = call();
    EXPECT_EQ(number(outcome, 3), before);
    EXPECT_EQ(static_cast<double *>(taken->dl_tensor.data)[2], 6.0);
  }
  taken->deleter(taken);
  EXPECT_EQ(number(call(), 3), before + 2);
}

TEST_F(Adopt, NotWhereThereIsADestination) {
  Doubles y = zeros({3});
  Leaves inputs, of;
  const auto outcome = evaluate(adopts, inputs.add("x", x), of.add("y", y).add("status"));
  ASSERT_TRUE(succeeds(outcome));
  EXPECT_EQ(number(outcome, 1), TESSERACT_ERROR_UNSUPPORTED);
  EXPECT_EQ(values_of(outcome), doubled);
}

TEST_F(Adopt, WhatIsNotAsSaidStaysTheComponents) {
  for (int64_t wrong = 1; wrong <= 8; wrong++) {
    const auto outcome = call(wrong);
    ASSERT_TRUE(succeeds(outcome)) << wrong;
    EXPECT_EQ(number(outcome, 1), TESSERACT_ERROR_UNSUPPORTED) << wrong;
    EXPECT_NE(number(outcome, 2), address(outcome)) << wrong;
    EXPECT_EQ(values_of(outcome), doubled) << wrong;
  }
}

}  // namespace
