// Components that break the contract: each becomes an error that names the component, and the
// process, the host and, where it lives, the component go on.
#include "puppet.h"

namespace {

using namespace test;

// ---- At open ------------------------------------------------------------------------------------

TEST(Entry, Fails) {
  for (const int32_t status : {TESSERACT_ERROR_INTERNAL, 13, -1, 1000}) {
    Puppet puppet;
    puppet.entry = [status](auto, auto) { return status; };
    const auto outcome = puppet.open();
    EXPECT_FALSE(outcome.ok());
    EXPECT_TRUE(outcome.status >= TESSERACT_ERROR_INVALID_ARGUMENT &&
                outcome.status <= TESSERACT_ERROR_INTERNAL)
        << status << " became " << outcome.status;
    EXPECT_NE(outcome.message().find(puppet.path), std::string::npos) << outcome.message();
  }
}

TEST(Entry, HandsOutNoTable) {
  Puppet puppet;
  puppet.entry = [](auto, auto) { return TESSERACT_OK; };
  EXPECT_TRUE(fails(puppet.open(), TESSERACT_ERROR_COMPONENT, {puppet.path}));
}

TEST(Entry, GetsTheHostsTable) {
  Puppet puppet;
  const tesseract_host_table *seen = nullptr;
  puppet.entry = [&](auto host, auto out) {
    seen = host;
    *out = &puppet.table;
    return TESSERACT_OK;
  };
  const auto opened = puppet.opened();
  ASSERT_NE(seen, nullptr);
  EXPECT_GE(seen->size, sizeof(tesseract_host_table));
  EXPECT_LE(seen->abi.min, seen->abi.max);
  EXPECT_EQ(seen->abi.max, tesseract_host_abi()->max);
}

TEST(Entry, VersionRangesThatDoNotMeet) {
  const tesseract_range ranges[] = {{2, 2}, {2, 9}, {0, 0}, {2, 1}, {UINT32_MAX, UINT32_MAX}};
  for (const auto range : ranges) {
    Puppet puppet;
    puppet.table.abi = range;
    const std::string min = std::to_string(range.min), max = std::to_string(range.max);
    EXPECT_TRUE(fails(puppet.open(), TESSERACT_ERROR_VERSION, {puppet.path, min, max, "1"}))
        << min << " to " << max;
  }
}

TEST(Entry, WiderVersionRangeIsServed) {
  Puppet puppet;
  puppet.table.abi = {1, 7};
  EXPECT_TRUE(identity_works(puppet.opened()));
}

TEST(Table, TooSmall) {
  for (const uint32_t size : {0u, 4u, 8u, 16u}) {
    Puppet puppet;
    puppet.table.size = size;
    EXPECT_TRUE(
        fails(puppet.open(), {TESSERACT_ERROR_VERSION, TESSERACT_ERROR_COMPONENT}, {puppet.path}))
        << size;
  }
}

TEST(Table, LacksWhatIsRequired) {
  Puppet undescribed;
  undescribed.table.describe = nullptr;
  EXPECT_TRUE(fails(undescribed.open(), TESSERACT_ERROR_COMPONENT, {undescribed.path, "describe"}));
  Puppet idle;
  idle.table.apply = nullptr;
  EXPECT_TRUE(fails(idle.open(), TESSERACT_ERROR_COMPONENT, {idle.path, "apply"}));
}

TEST(Table, PrepareWithoutForget) {
  Puppet puppet;
  puppet.table.prepare = [](void *, const tesseract_signature *, void **plan, tesseract_frame *) {
    *plan = nullptr;
    return TESSERACT_OK;
  };
  EXPECT_TRUE(fails(puppet.open(), TESSERACT_ERROR_COMPONENT, {"forget"}));
}

TEST(Create, Fails) {
  Puppet puppet;
  puppet.table.create = [](const char *, uint64_t, void **, tesseract_frame *frame) {
    return tesseract_fail(frame, TESSERACT_ERROR_UNAVAILABLE, nullptr, "no licence today");
  };
  puppet.table.destroy = [](void *) { ADD_FAILURE() << "there is nothing to destroy"; };
  EXPECT_TRUE(fails(puppet.open(), TESSERACT_ERROR_UNAVAILABLE, {"no licence today"}));
}

TEST(Create, IsUndoneWhenDescribeFails) {
  static int destroyed;
  destroyed = 0;
  Puppet puppet;
  puppet.table.destroy = [](void *) { destroyed++; };
  puppet.table.describe = [](void *, const char **, uint64_t *, tesseract_frame *frame) {
    return tesseract_fail(frame, TESSERACT_ERROR_COMPONENT, nullptr, "can't describe myself");
  };
  EXPECT_TRUE(fails(puppet.open(), TESSERACT_ERROR_COMPONENT, {"can't describe myself"}));
  EXPECT_EQ(destroyed, 1);
}

TEST(Create, GetsNullWhereNothingIsGiven) {
  static std::string options;
  Puppet puppet;
  puppet.table.create = [](const char *text, uint64_t length, void **instance,
                           tesseract_frame *frame) {
    options.assign(text, length);
    EXPECT_EQ(frame->endpoint, 0);
    EXPECT_NE(frame->host, nullptr);
    EXPECT_NE(frame->log, nullptr);
    EXPECT_EQ(frame->signature, nullptr);
    EXPECT_EQ(frame->n_inputs + frame->n_seeds + frame->n_outputs, 0u);
    EXPECT_EQ(*instance, nullptr);
    return TESSERACT_ERROR_COMPONENT;
  };
  EXPECT_FALSE(puppet.open().ok());
  EXPECT_EQ(options, "{}");
}

TEST(Describe, GivesNoText) {
  Puppet puppet;
  puppet.table.describe = [](void *, const char **text, uint64_t *length, tesseract_frame *) {
    *text = nullptr;
    *length = 10;
    return TESSERACT_OK;
  };
  EXPECT_TRUE(fails(puppet.open(), TESSERACT_ERROR_COMPONENT, {"describe"}));
}

TEST(Describe, GivesNulTerminatedText) {
  Puppet puppet;
  puppet.table.describe = [](void *instance, const char **text, uint64_t *length,
                             tesseract_frame *) {
    *text = static_cast<Puppet *>(instance)->description.c_str();
    *length = TESSERACT_NTS;
    return TESSERACT_OK;
  };
  EXPECT_TRUE(identity_works(puppet.opened()));
}

// ---- In a call ----------------------------------------------------------------------------------

class Misbehaviour : public testing::Test {
 protected:
  // The outcome of one call of the puppet on a vector of three.
  Outcome<Result> call(const Component &component) {
    Leaves inputs;
    inputs.add("x", x_);
    return evaluate(component, inputs);
  }
  Component opened() { return puppet.opened(); }
  // Its apply misbehaves, then it behaves.
  testing::AssertionResult works_again(const Component &component) {
    puppet.apply = Puppet::copy_first;
    return identity_works(component);
  }

  Puppet puppet;

 private:
  Doubles x_{1.0, 2.0, 3.0};
};

TEST_F(Misbehaviour, ErrorWithoutReason) {
  const auto component = opened();
  for (int32_t status = TESSERACT_ERROR_INVALID_ARGUMENT; status <= TESSERACT_ERROR_INTERNAL;
       status++) {
    puppet.apply = [=](auto) { return status; };
    EXPECT_TRUE(fails(call(component), status, {"puppet", "apply"})) << status;
  }
  EXPECT_TRUE(works_again(component));
}

TEST_F(Misbehaviour, StatusOutsideTheSet) {
  const auto component = opened();
  for (const int32_t status : {13, -1, 1000, INT32_MIN, INT32_MAX}) {
    puppet.apply = [=](auto) { return status; };
    EXPECT_TRUE(
        fails(call(component), TESSERACT_ERROR_COMPONENT, {"puppet", std::to_string(status)}));
    puppet.apply = [=](auto frame) { return tesseract_fail(frame, status, nullptr, "odd"); };
    EXPECT_TRUE(fails(call(component), TESSERACT_ERROR_COMPONENT, {"odd"}));
  }
  EXPECT_TRUE(works_again(component));
}

TEST_F(Misbehaviour, RecordsAnErrorAndReturnsOk) {
  puppet.apply = [](auto frame) {
    tesseract_fail(frame, TESSERACT_ERROR_COMPONENT, nullptr, "changed my mind");
    return Puppet::copy_first(frame);
  };
  EXPECT_TRUE(identity_works(opened()));
}

TEST_F(Misbehaviour, LastErrorCounts) {
  puppet.apply = [](auto frame) {
    tesseract_fail(frame, TESSERACT_ERROR_COMPONENT, "y", "first");
    return tesseract_fail(frame, TESSERACT_ERROR_OUT_OF_DOMAIN, "x", "second");
  };
  const auto outcome = call(opened());
  EXPECT_TRUE(fails(outcome, TESSERACT_ERROR_OUT_OF_DOMAIN, {"second"}));
  EXPECT_EQ(outcome.message().find("first"), std::string::npos);
  EXPECT_EQ(outcome.detail(TESSERACT_DETAIL_PATH), "x");
}

// The status that is returned is the call's, whatever was recorded.
TEST_F(Misbehaviour, ReturnsAnotherStatusThanItRecorded) {
  puppet.apply = [](auto frame) {
    tesseract_fail(frame, TESSERACT_ERROR_OUT_OF_DOMAIN, nullptr, "too far");
    return TESSERACT_ERROR_COMPONENT;
  };
  EXPECT_TRUE(fails(call(opened()), TESSERACT_ERROR_COMPONENT, {"too far"}));
}

TEST_F(Misbehaviour, ErrorTextOfAnyBytes) {
  const auto component = opened();
  static const char text[] = "zero \0 inside, and \xff\xc3( bytes";
  puppet.apply = [](auto frame) {
    return frame->host->error_set(frame, TESSERACT_ERROR_COMPONENT, "x\0y\xff", 4, text,
                                  sizeof text - 1);
  };
  const auto outcome = call(component);
  uint64_t length = 0;
  const char *message = tesseract_error_message(outcome.error.get(), &length);
  EXPECT_EQ(outcome.status, TESSERACT_ERROR_COMPONENT);
  EXPECT_EQ(message[length], '\0');
  EXPECT_NE(std::string(message, length).find("bytes"), std::string::npos);
  // What goes out is UTF-8.
  EXPECT_EQ(std::string(message, length).find('\xff'), std::string::npos);
  EXPECT_TRUE(works_again(component));
}

TEST_F(Misbehaviour, ErrorTextIsNullOrHuge) {
  const auto component = opened();
  puppet.apply = [](auto frame) {
    return frame->host->error_set(frame, TESSERACT_ERROR_COMPONENT, nullptr, 0, nullptr, 0);
  };
  EXPECT_TRUE(fails(call(component), TESSERACT_ERROR_COMPONENT, {"puppet"}));
  puppet.apply = [](auto frame) {
    return frame->host->error_set(frame, TESSERACT_ERROR_COMPONENT, nullptr, TESSERACT_NTS, nullptr,
                                  TESSERACT_NTS);
  };
  EXPECT_TRUE(fails(call(component), TESSERACT_ERROR_COMPONENT, {"puppet"}));
  puppet.apply = [](auto frame) {
    const std::string text(1 << 20, 'x');
    return frame->host->error_set(frame, TESSERACT_ERROR_COMPONENT, nullptr, 0, text.data(),
                                  text.size());
  };
  EXPECT_TRUE(fails(call(component), TESSERACT_ERROR_COMPONENT, {"xxxx"}));
  EXPECT_TRUE(works_again(component));
}

TEST_F(Misbehaviour, DetailOfAnyKind) {
  const auto component = opened();
  puppet.apply = [](auto frame) {
    frame->host->error_detail(frame, TESSERACT_DETAIL_TRACEBACK, "early", TESSERACT_NTS);
    const int32_t status = tesseract_fail(frame, TESSERACT_ERROR_COMPONENT, nullptr, "failed");
    frame->host->error_detail(frame, TESSERACT_DETAIL_TRACEBACK, "line 1\nline 2", TESSERACT_NTS);
    frame->host->error_detail(frame, 77, "unknown", TESSERACT_NTS);
    frame->host->error_detail(frame, -1, nullptr, 0);
    return status;
  };
  const auto outcome = call(component);
  EXPECT_TRUE(fails(outcome, TESSERACT_ERROR_COMPONENT, {"failed"}));
  EXPECT_EQ(outcome.detail(TESSERACT_DETAIL_TRACEBACK), "line 1\nline 2");
  EXPECT_TRUE(works_again(component));
}

// ---- Output allocation --------------------------------------------------------------------------

// Allocations that are refused, by the position and shape they ask for.
struct Allocation {
  const char *what;
  uint64_t index;
  DLDataType dtype;
  int32_t ndim;
  std::vector<int64_t> shape;
};

class Allocations : public Misbehaviour, public testing::WithParamInterface<Allocation> {};

TEST_P(Allocations, AreRefused) {
  puppet.description = R"({"name": "puppet",
    "inputs": [{"path": "x", "dtype": "float64", "shape": ["n"]}],
    "outputs": [{"path": "y", "dtype": "float64", "shape": [null]}]})";
  int32_t inner = TESSERACT_OK;
  puppet.apply = [&](tesseract_frame *frame) {
    const auto &asked = GetParam();
    DLTensor *tensor = nullptr;
    inner = frame->host->allocate_output(frame, asked.index, &asked.dtype, asked.ndim,
                                         asked.shape.data(), &tensor);
    EXPECT_EQ(tensor, nullptr);
    return inner;
  };
  const auto component = opened();
  EXPECT_TRUE(fails(call(component),
                    {TESSERACT_ERROR_SCHEMA, TESSERACT_ERROR_INVALID_ARGUMENT,
                     TESSERACT_ERROR_COMPONENT, TESSERACT_ERROR_OUT_OF_MEMORY},
                    {"puppet"}));
  EXPECT_NE(inner, TESSERACT_OK);
  puppet.apply = [](tesseract_frame *frame) {
    DLTensor *tensor = nullptr;
    return frame->host->allocate_output(frame, 0, nullptr, 1, frame->inputs[0]->shape, &tensor);
  };
  EXPECT_TRUE(succeeds(call(component)));
}

constexpr DLDataType float64 = {kDLFloat, 64, 1};

INSTANTIATE_TEST_SUITE_P(Wrong, Allocations,
                         testing::Values(Allocation{"Index", 1, float64, 1, {3}},
                                         Allocation{"HugeIndex", UINT64_MAX, float64, 1, {3}},
                                         Allocation{"HigherRank", 0, float64, 2, {3, 1}},
                                         Allocation{"LowerRank", 0, float64, 0, {}},
                                         Allocation{"NegativeRank", 0, float64, -1, {}},
                                         Allocation{"NegativeLength", 0, float64, 1, {-1}},
                                         Allocation{"HugeLength", 0, float64, 1, {INT64_MAX}},
                                         Allocation{
                                             "MoreThanMemory", 0, float64, 1, {int64_t{1} << 56}},
                                         Allocation{"Dtype", 0, {kDLFloat, 32, 1}, 1, {3}},
                                         Allocation{"NoDtypeAtAll", 0, {99, 13, 7}, 1, {3}}),
                         [](const auto &tested) { return std::string(tested.param.what); });

TEST_F(Misbehaviour, AllocatesTwice) {
  puppet.description = R"({"name": "puppet",
    "inputs": [{"path": "x", "dtype": "float64", "shape": ["n"]}],
    "outputs": [{"path": "y", "dtype": "float64", "shape": [null]}]})";
  int32_t second = TESSERACT_OK;
  puppet.apply = [&](tesseract_frame *frame) {
    DLTensor *one = nullptr, *two = nullptr;
    const int64_t longer = 5;
    const int32_t first =
        frame->host->allocate_output(frame, 0, nullptr, 1, frame->inputs[0]->shape, &one);
    EXPECT_EQ(first, TESSERACT_OK);
    for (int64_t i = 0; i < 3; i++) static_cast<double *>(one->data)[i] = 1.0;
    second = frame->host->allocate_output(frame, 0, nullptr, 1, &longer, &two);
    return first;
  };
  EXPECT_EQ(values_of(call(opened())), std::vector<double>(3, 1.0));
  EXPECT_NE(second, TESSERACT_OK);
}

TEST_F(Misbehaviour, LeavesAnUnknownShapeUnallocated) {
  puppet.description = R"({"name": "puppet",
    "inputs": [{"path": "x", "dtype": "float64", "shape": ["n"]}],
    "outputs": [{"path": "y", "dtype": "float64", "shape": [null]}]})";
  puppet.apply = [](auto) { return TESSERACT_OK; };
  const auto component = opened();
  const auto outcome = call(component);
  EXPECT_TRUE(fails(outcome, TESSERACT_ERROR_COMPONENT, {"puppet", "y"}));
  EXPECT_EQ(outcome.detail(TESSERACT_DETAIL_PATH), "y");
  puppet.apply = [](tesseract_frame *frame) {
    DLTensor *tensor = nullptr;
    return frame->host->allocate_output(frame, 0, nullptr, 1, frame->inputs[0]->shape, &tensor);
  };
  EXPECT_TRUE(succeeds(call(component)));
}

TEST_F(Misbehaviour, AllocatesWhatTheDestinationIsNot) {
  puppet.description = R"({"name": "puppet",
    "inputs": [{"path": "x", "dtype": "float64", "shape": ["n"]}],
    "outputs": [{"path": "y", "dtype": "float64", "shape": [null]}]})";
  puppet.apply = [](tesseract_frame *frame) {
    DLTensor *tensor = nullptr;
    return frame->host->allocate_output(frame, 0, nullptr, 1, frame->inputs[0]->shape, &tensor);
  };
  const auto component = opened();
  Doubles x{1.0, 2.0, 3.0};
  Leaves inputs;
  inputs.add("x", x);
  for (const int64_t length : {2, 4}) {
    Doubles destination = zeros({length});
    Leaves of;
    of.add("y", destination);
    EXPECT_TRUE(fails(evaluate(component, inputs, of), TESSERACT_ERROR_SCHEMA,
                      {"y", "3", std::to_string(length)}));
  }
}

// Whether the shape is the run's to find or the description's already.
TEST_F(Misbehaviour, AllocatesAWrongShape) {
  for (const char *shape : {"[null, 2]", "[\"n\", 2]"}) {
    puppet.description = std::string(R"({"name": "puppet",
      "inputs": [{"path": "x", "dtype": "float64", "shape": ["n"]}],
      "outputs": [{"path": "fine", "dtype": "float64", "shape": ["n"]},
                  {"path": "wrong", "dtype": "float64", "shape": )") +
                         shape + "}]}";
    puppet.apply = [](tesseract_frame *frame) {
      DLTensor *tensor = nullptr;
      const int64_t made[] = {3, 4};
      return frame->host->allocate_output(frame, 1, nullptr, 2, made, &tensor);
    };
    const auto component = opened();
    const std::vector<int32_t> statuses = {TESSERACT_ERROR_COMPONENT, TESSERACT_ERROR_SCHEMA};
    const auto outcome = call(component);
    EXPECT_TRUE(fails(outcome, statuses, {"puppet", "wrong", "4"})) << shape;
    EXPECT_EQ(outcome.detail(TESSERACT_DETAIL_PATH), "wrong") << shape;
    const auto prepared = prepare(component, signature(TESSERACT_ENDPOINT_APPLY, Leaves{"x"}));
    Doubles x{1.0, 2.0, 3.0}, fine = zeros({3}), wrong = zeros({3, 2});
    const auto ran = run(prepared.get(), {&x.tensor}, {&fine.tensor, &wrong.tensor});
    EXPECT_TRUE(fails(ran, statuses, {"puppet", "wrong", "4"})) << shape;
    EXPECT_EQ(ran.detail(TESSERACT_DETAIL_PATH), "wrong") << shape;
  }
}

TEST_F(Misbehaviour, AllocatesOneNameOfTwoLengths) {
  puppet.description = R"({"name": "puppet",
    "inputs": [{"path": "x", "dtype": "float64", "shape": ["n"]}],
    "outputs": [{"path": "y", "dtype": "float64", "shape": ["found"]},
                {"path": "z", "dtype": "float64", "shape": ["found"]}]})";
  int64_t second = 2;
  puppet.apply = [&](tesseract_frame *frame) {
    const int64_t lengths[] = {2, second};
    for (uint64_t k = 0; k < 2; k++) {
      DLTensor *tensor = nullptr;
      const int32_t status =
          frame->host->allocate_output(frame, k, nullptr, 1, &lengths[k], &tensor);
      if (status != TESSERACT_OK) return status;
      for (int64_t i = 0; i < lengths[k]; i++) static_cast<double *>(tensor->data)[i] = 1.0;
    }
    return int32_t{TESSERACT_OK};
  };
  const auto component = opened();
  EXPECT_EQ(values_of(call(component), 1), std::vector<double>(2, 1.0));
  for (const int64_t other : {1, 3}) {
    second = other;
    const auto outcome = call(component);
    EXPECT_TRUE(fails(outcome, TESSERACT_ERROR_COMPONENT, {"puppet", "z", std::to_string(other)}));
    EXPECT_EQ(outcome.detail(TESSERACT_DETAIL_PATH), "z");
  }
}

TEST_F(Misbehaviour, AllocatesWhatIsNotWanted) {
  puppet.description = R"({"name": "puppet",
    "inputs": [{"path": "x", "dtype": "float64", "shape": ["n"]}],
    "outputs": [{"path": "y", "dtype": "float64", "shape": ["n"]},
                {"path": "z", "dtype": "float64", "shape": [null]}]})";
  int32_t unwanted = TESSERACT_OK;
  puppet.apply = [&](tesseract_frame *frame) {
    DLTensor *tensor = nullptr;
    unwanted = frame->host->allocate_output(frame, 1, nullptr, 1, frame->inputs[0]->shape, &tensor);
    EXPECT_EQ(tensor, nullptr);
    return Puppet::copy_first(frame);
  };
  const auto component = opened();
  Doubles x{1.0, 2.0};
  Leaves inputs;
  inputs.add("x", x);
  EXPECT_EQ(values_of(evaluate(component, inputs, Leaves{"y"})), x.values);
  EXPECT_NE(unwanted, TESSERACT_OK);
}

TEST_F(Misbehaviour, AllocatesAKnownShape) {
  puppet.apply = [](tesseract_frame *frame) {
    DLTensor *tensor = nullptr;
    const auto status =
        frame->host->allocate_output(frame, 0, nullptr, 1, frame->inputs[0]->shape, &tensor);
    if (status == TESSERACT_OK) {
      EXPECT_EQ(tensor->shape[0], 3);
      for (int64_t i = 0; i < 3; i++) static_cast<double *>(tensor->data)[i] = 4.0;
    }
    return status;
  };
  EXPECT_EQ(values_of(call(opened())), std::vector<double>(3, 4.0));
}

// ---- Output JSON --------------------------------------------------------------------------------

TEST_F(Misbehaviour, OutputJsonIsChecked) {
  puppet.description = R"({"name": "puppet",
    "inputs": [{"path": "x", "dtype": "float64", "shape": ["n"]}],
    "outputs": [{"path": "note", "type": "string"}]})";
  const auto component = opened();
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  for (const std::string &json :
       {std::string("{"), std::string("[]"), std::string("\"note\""), std::string("{\"note\": 1}"),
        std::string("{\"note\": \"\xff\"}"), std::string("{\"other\": \"\"}"), std::string("{}"),
        std::string(""), "{\"note\": " + deep + "}"}) {
    puppet.apply = [&](tesseract_frame *frame) {
      return frame->host->output_json(frame, json.data(), json.size());
    };
    EXPECT_TRUE(
        fails(call(component),
              {TESSERACT_ERROR_COMPONENT, TESSERACT_ERROR_SCHEMA, TESSERACT_ERROR_INVALID_ARGUMENT},
              {"puppet"}))
        << json.substr(0, 40);
  }
  puppet.apply = [](tesseract_frame *frame) {
    return frame->host->output_json(frame, "{\"note\": \"well\"}", TESSERACT_NTS);
  };
  EXPECT_TRUE(succeeds(call(component)));
}

TEST_F(Misbehaviour, OutputJsonIsNeverGiven) {
  for (const bool required : {true, false}) {
    puppet.description = std::string(R"({"name": "puppet",
      "inputs": [{"path": "x", "dtype": "float64", "shape": ["n"]}],
      "outputs": [{"path": "y", "dtype": "float64", "shape": ["n"]},
                  {"path": "note", "type": "string", "required": )") +
                         (required ? "true" : "false") + "}]}";
    const auto component = opened();
    const auto prepared = prepare(component, signature(TESSERACT_ENDPOINT_APPLY, Leaves{"x"}));
    Doubles x{1.0, 2.0, 3.0}, y = zeros({3});
    Outcome<Result> outcomes[] = {
        call(component),
        run_for_result(prepared.get(), {&x.tensor}, {nullptr, nullptr}),
        run_for_result(prepared.get(), {&x.tensor}, {&y.tensor, nullptr}),
    };
    for (const auto &outcome : outcomes) {
      if (required)
        EXPECT_TRUE(fails(outcome, TESSERACT_ERROR_COMPONENT, {"puppet", "note"}));
      else
        EXPECT_TRUE(succeeds(outcome));
    }
  }
}

TEST_F(Misbehaviour, OutputJsonTwice) {
  puppet.description = R"({"name": "puppet",
    "inputs": [{"path": "x", "dtype": "float64", "shape": ["n"]}],
    "outputs": [{"path": "note", "type": "string"}]})";
  int32_t second = TESSERACT_OK;
  puppet.apply = [&](tesseract_frame *frame) {
    const int32_t first = frame->host->output_json(frame, "{\"note\": \"one\"}", TESSERACT_NTS);
    second = frame->host->output_json(frame, "{\"note\": \"two\"}", TESSERACT_NTS);
    return first;
  };
  call(opened());
  EXPECT_NE(second, TESSERACT_OK);
}

// ---- Prepare ------------------------------------------------------------------------------------

TEST_F(Misbehaviour, PrepareFails) {
  static bool works;
  works = false;
  puppet.table.prepare = [](void *, const tesseract_signature *, void **plan,
                            tesseract_frame *frame) {
    *plan = nullptr;
    if (works) return TESSERACT_OK;
    return tesseract_fail(frame, TESSERACT_ERROR_SCHEMA, "x", "no plan for this");
  };
  puppet.table.forget = [](void *, void *) {
    if (!works) ADD_FAILURE() << "there is nothing to forget";
  };
  const auto component = opened();
  const auto outcome = call(component);
  EXPECT_TRUE(fails(outcome, TESSERACT_ERROR_SCHEMA, {"puppet", "no plan for this"}));
  EXPECT_EQ(outcome.detail(TESSERACT_DETAIL_PATH), "x");
  EXPECT_TRUE(fails(prepare(component, signature(TESSERACT_ENDPOINT_APPLY, Leaves{"x"})),
                    TESSERACT_ERROR_SCHEMA, {"no plan for this"}));
  works = true;
  EXPECT_TRUE(succeeds(call(component)));
}

// ---- C++ exceptions -----------------------------------------------------------------------------

TEST(Exceptions, BecomeErrors) {
  const auto throws = component("throws");
  Leaves inputs;
  EXPECT_TRUE(fails(evaluate(throws, inputs.json(R"({"kind": 1})")), TESSERACT_ERROR_COMPONENT,
                    {"throws", "thrown by apply"}));
  EXPECT_TRUE(fails(evaluate(throws, inputs.json(R"({"kind": 2})")), TESSERACT_ERROR_COMPONENT,
                    {"throws"}));
  EXPECT_TRUE(fails(evaluate(throws, inputs.json(R"({"kind": 3})")),
                    {TESSERACT_ERROR_OUT_OF_MEMORY, TESSERACT_ERROR_COMPONENT}));
  EXPECT_EQ(values_of(evaluate(throws, inputs.json(R"({"kind": 0})"))), std::vector<double>{1.0});
}

TEST(Exceptions, OfCreateBecomeErrors) {
  EXPECT_TRUE(fails(open(library("throws"), R"({"create": 1})"), TESSERACT_ERROR_COMPONENT,
                    {"thrown by create"}));
}

}  // namespace
