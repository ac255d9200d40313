// Outputs that no signature can name: elements of a container whose keys only the run knows.
#include "puppet.h"

namespace {

using namespace test;

class AddedOutputs : public testing::Test {
 protected:
  Puppet puppet;
  Component opened;
  Doubles x{1.0, 2.0, 3.0};
  Leaves inputs;
  uint32_t flags = 0;                // of the last frame
  std::vector<std::string> paths;    // added by the next apply
  std::vector<int32_t> statuses;     // and what the host said to each
  std::vector<int64_t> shape = {1};  // of each

  void SetUp() override {
    inputs.add("x", x);
    puppet.description = R"({"name": "puppet",
      "inputs": [{"path": "x", "dtype": "float64", "shape": ["n"]}],
      "outputs": [{"path": "y", "dtype": "float64", "shape": ["n"]},
                  {"path": "parts.{}", "dtype": "float64", "shape": [null]},
                  {"path": "list.[]", "dtype": "float64", "shape": [null]}]})";
    puppet.table.prepare = [](void *, const tesseract_signature *, void **plan, tesseract_frame *) {
      *plan = nullptr;
      return TESSERACT_OK;
    };
    puppet.table.forget = [](void *, void *) {};
    puppet.apply = [this](tesseract_frame *frame) { return apply(frame); };
    opened = puppet.opened();
  }

  int32_t apply(tesseract_frame *frame) {
    flags = frame->flags;
    statuses.clear();
    for (const auto &path : paths) {
      DLTensor *tensor = nullptr;
      statuses.push_back(frame->host->add_output(frame, path.data(), path.size(), nullptr,
                                                 static_cast<int32_t>(shape.size()), shape.data(),
                                                 &tensor));
      EXPECT_EQ(statuses.back() == TESSERACT_OK, tensor != nullptr);
      if (tensor) static_cast<double *>(tensor->data)[0] = 5.0;
    }
    return frame->n_outputs ? Puppet::copy_first(frame) : TESSERACT_OK;
  }
  void TearDown() override {
    paths = {"parts.{again}"};
    shape = {1};
    EXPECT_TRUE(succeeds(evaluate(opened, inputs)));
  }
};

TEST_F(AddedOutputs, StandBehindTheOthers) {
  paths = {"parts.{b}", "parts.{a}", "list.[0]"};
  const auto outcome = evaluate(opened, inputs);
  ASSERT_TRUE(succeeds(outcome));
  EXPECT_NE(flags & TESSERACT_FRAME_ALL, 0u);
  EXPECT_EQ(tesseract_result_count(outcome.get()), 4);
  EXPECT_EQ(values_of(outcome, tesseract_result_find(outcome.get(), "y", 1)), x.values);
  for (const auto &path : paths) {
    const int64_t index = tesseract_result_find(outcome.get(), path.data(), path.size());
    EXPECT_EQ(values_of(outcome, index), std::vector<double>{5.0}) << path;
  }
}

TEST_F(AddedOutputs, CanBeTaken) {
  paths = {"parts.{a}"};
  auto outcome = evaluate(opened, inputs);
  DLManagedTensorVersioned *taken = nullptr;
  ASSERT_EQ(tesseract_result_take(outcome.value.get(), 1, &taken), TESSERACT_OK);
  const Taken kept(taken);
  outcome.value.reset();
  EXPECT_EQ(values_of(&kept->dl_tensor), std::vector<double>{5.0});
}

TEST_F(AddedOutputs, AreForCallersWhoWantAll) {
  paths = {"parts.{a}"};
  EXPECT_TRUE(succeeds(evaluate(opened, inputs, Leaves{"y"})));
  EXPECT_EQ(flags & TESSERACT_FRAME_ALL, 0u);
  EXPECT_EQ(statuses, std::vector<int32_t>{TESSERACT_ERROR_UNSUPPORTED});
}

TEST_F(AddedOutputs, NeedAResult) {
  paths = {"parts.{a}"};
  Doubles y = zeros({3});
  const auto call = prepare(opened, signature(TESSERACT_ENDPOINT_APPLY, inputs));
  ASSERT_TRUE(succeeds(call));
  EXPECT_TRUE(succeeds(run(call.get(), {&x.tensor}, {&y.tensor})));
  EXPECT_EQ(flags & TESSERACT_FRAME_ALL, 0u);
  EXPECT_EQ(statuses, std::vector<int32_t>{TESSERACT_ERROR_UNSUPPORTED});
  const auto outcome = run_for_result(call.get(), {&x.tensor}, {&y.tensor});
  ASSERT_TRUE(succeeds(outcome));
  EXPECT_EQ(tesseract_result_count(outcome.get()), 2);
}

TEST_F(AddedOutputs, OddOnesAreRefused) {
  for (const std::string &path :
       {std::string("other.{a}"), std::string("parts"), std::string("parts.a"),
        std::string("parts.{a"), std::string("list.[x]"), std::string(), std::string("\xff"),
        std::string("y")}) {
    paths = {path};
    evaluate(opened, inputs);
    EXPECT_NE(statuses.at(0), TESSERACT_OK) << path;
  }
  paths = {"parts.{a}", "parts.{a}"};
  evaluate(opened, inputs);
  EXPECT_EQ(statuses.at(0), TESSERACT_OK);
  EXPECT_NE(statuses.at(1), TESSERACT_OK) << "twice";
  for (const auto &odd : {std::vector<int64_t>{-1}, {INT64_MAX}, {1, 1}, {}}) {
    paths = {"parts.{a}"};
    shape = odd;
    evaluate(opened, inputs);
    EXPECT_NE(statuses.at(0), TESSERACT_OK) << testing::PrintToString(odd);
  }
}

}  // namespace
