// Results: reading, destinations, and tensors that outlive everything.
#include <thread>

#include "support.h"

namespace {

using namespace test;

class Results : public testing::Test {
 protected:
  Component square = component("square");
  Doubles x{1.0, 2.0, 3.0}, y = zeros({3});
  Leaves inputs;
  void SetUp() override { inputs.add("x", x); }

  Taken take(const Outcome<Result> &outcome, int64_t index = 0) {
    DLManagedTensorVersioned *taken = nullptr;
    EXPECT_EQ(tesseract_result_take(outcome.value.get(), index, &taken), TESSERACT_OK);
    return Taken(taken);
  }
};

TEST_F(Results, AreReadByIndexAndPath) {
  const auto outcome = evaluate(square, inputs);
  uint64_t length = 0;
  EXPECT_STREQ(tesseract_result_path(outcome.get(), 0, &length), "y");
  EXPECT_EQ(length, 1u);
  EXPECT_EQ(tesseract_result_find(outcome.get(), "y", 1), 0);
  EXPECT_EQ(tesseract_result_find(outcome.get(), "y", TESSERACT_NTS), 0);
  EXPECT_EQ(tesseract_result_find(outcome.get(), "yy", 1), 0);
  EXPECT_EQ(tesseract_result_find(outcome.get(), "x", 1), -1);
  EXPECT_EQ(tesseract_result_find(outcome.get(), "", 0), -1);
  EXPECT_EQ(tesseract_result_find(outcome.get(), nullptr, 0), -1);
  EXPECT_EQ(tesseract_result_wrt(outcome.get(), 0, nullptr), nullptr);
  EXPECT_STREQ(tesseract_result_json(outcome.get(), &length), "{}");
  EXPECT_EQ(length, 2u);
}

TEST_F(Results, IndicesOutsideAreNull) {
  const auto outcome = evaluate(square, inputs);
  DLManagedTensorVersioned *taken = nullptr;
  for (const int64_t index : {int64_t{-1}, int64_t{1}, INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(tesseract_result_tensor(outcome.get(), index), nullptr);
    EXPECT_EQ(tesseract_result_path(outcome.get(), index, nullptr), nullptr);
    EXPECT_EQ(tesseract_result_wrt(outcome.get(), index, nullptr), nullptr);
    EXPECT_NE(tesseract_result_take(outcome.value.get(), index, &taken), TESSERACT_OK);
  }
  EXPECT_EQ(taken, nullptr);
}

TEST_F(Results, NullResult) {
  DLManagedTensorVersioned *taken = nullptr;
  tesseract_result_free(nullptr);
  EXPECT_EQ(tesseract_result_take(nullptr, 0, &taken), TESSERACT_ERROR_INVALID_ARGUMENT);
  const auto outcome = evaluate(square, inputs);
  EXPECT_EQ(tesseract_result_take(outcome.value.get(), 0, nullptr),
            TESSERACT_ERROR_INVALID_ARGUMENT);
}

TEST_F(Results, TakenTensorMovesOut) {
  auto outcome = evaluate(square, inputs);
  const Taken taken = take(outcome);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->version.major, static_cast<uint32_t>(DLPACK_MAJOR_VERSION));
  EXPECT_EQ(taken->flags & DLPACK_FLAG_BITMASK_READ_ONLY, 0u);
  EXPECT_EQ(tesseract_result_tensor(outcome.get(), 0), nullptr) << "null once taken";
  EXPECT_EQ(tesseract_result_count(outcome.get()), 1);
  EXPECT_STREQ(tesseract_result_path(outcome.get(), 0, nullptr), "y");
  DLManagedTensorVersioned *again = nullptr;
  EXPECT_EQ(tesseract_result_take(outcome.value.get(), 0, &again),
            TESSERACT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(again, nullptr);
  outcome.value.reset();
  EXPECT_EQ(values_of(&taken->dl_tensor), (std::vector<double>{1.0, 4.0, 9.0}));
  EXPECT_NE(taken->dl_tensor.strides, nullptr);
}

TEST_F(Results, TakenTensorIsDeletedOnAnotherThreadAfterClose) {
  auto outcome = evaluate(square, inputs);
  Taken taken = take(outcome);
  outcome.value.reset();
  square.reset();
  std::thread([kept = std::move(taken)]() mutable {
    EXPECT_EQ(values_of(&kept->dl_tensor).size(), 3u);
    kept.reset();
  }).join();
}

TEST_F(Results, OutliveTheComponent) {
  const auto outcome = evaluate(square, inputs);
  square.reset();
  EXPECT_EQ(values_of(outcome), (std::vector<double>{1.0, 4.0, 9.0}));
  EXPECT_STREQ(tesseract_result_path(outcome.get(), 0, nullptr), "y");
}

TEST_F(Results, DestinationIsDescribedAndCannotBeTaken) {
  Leaves of;
  const auto outcome = evaluate(square, inputs, of.add("y", y));
  ASSERT_TRUE(succeeds(outcome));
  EXPECT_EQ(y.values, (std::vector<double>{1.0, 4.0, 9.0}));
  EXPECT_EQ(tesseract_result_tensor(outcome.get(), 0)->data, y.values.data());
  DLManagedTensorVersioned *taken = nullptr;
  EXPECT_EQ(tesseract_result_take(outcome.value.get(), 0, &taken),
            TESSERACT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(taken, nullptr);
}

TEST_F(Results, DestinationOfTheWrongShape) {
  for (const auto &shape : {std::vector<int64_t>{2}, {4}, {0}, {3, 1}}) {
    Doubles other = zeros(shape);
    Leaves of;
    EXPECT_TRUE(fails(evaluate(square, inputs, of.add("y", other)), TESSERACT_ERROR_SCHEMA,
                      {"square", "apply", "y"}));
  }
  EXPECT_TRUE(usable(square));
}

TEST_F(Results, DestinationOfADataDependentShape) {
  const auto dependent = component("dependent");
  Doubles some{1.0, -1.0, 2.0}, exact = zeros({2}), longer = zeros({3});
  Leaves given, fits, other;
  given.add("x", some);
  ASSERT_TRUE(succeeds(evaluate(dependent, given, fits.add("y", exact))));
  EXPECT_EQ(exact.values, (std::vector<double>{1.0, 2.0}));
  EXPECT_TRUE(fails(evaluate(dependent, given, other.add("y", longer)), TESSERACT_ERROR_SCHEMA,
                    {"dependent", "y", "2", "3"}));
}

TEST_F(Results, SomeDestinationsAndSomeNot) {
  const auto stateful = component("stateful");
  Leaves of;
  const auto outcome = evaluate(stateful, inputs, of.add("calls").add("y", y));
  ASSERT_TRUE(succeeds(outcome));
  EXPECT_EQ(values_of<int64_t>(outcome, 0), std::vector<int64_t>{1});
  EXPECT_EQ(y.values, x.values);
}

TEST_F(Results, ManyAtOnce) {
  std::vector<Outcome<Result>> kept;
  for (int i = 0; i < 100; i++) {
    x.values[0] = i;
    kept.push_back(evaluate(square, inputs));
  }
  for (int i = 0; i < 100; i++) EXPECT_EQ(values_of(kept[static_cast<size_t>(i)])[0], 1.0 * i * i);
}

}  // namespace
