// The error object: what it says, how it is owned, and how it is asked.
#include <tesseract_host/ext/nested.h>

#include "puppet.h"

namespace {

using namespace test;

TEST(Error, OfNothing) {
  uint64_t length = 7;
  EXPECT_EQ(tesseract_error_status(nullptr), TESSERACT_OK);
  EXPECT_STREQ(tesseract_error_message(nullptr, &length), "");
  EXPECT_EQ(length, 0u);
  EXPECT_EQ(tesseract_error_detail(nullptr, TESSERACT_DETAIL_PATH, nullptr), nullptr);
  EXPECT_EQ(tesseract_error_cause(nullptr), nullptr);
  tesseract_error_free(nullptr);
}

TEST(Error, NamesComponentEndpointPathExpectedAndFound) {
  const auto square = component("square");
  Doubles matrix = zeros({2, 5});
  Leaves inputs;
  const auto outcome = evaluate(square, inputs.add("x", matrix));
  EXPECT_TRUE(fails(outcome, TESSERACT_ERROR_SCHEMA, {"square", "apply", "x", "1", "2"}));
  EXPECT_EQ(outcome.detail(TESSERACT_DETAIL_COMPONENT), "square");
  EXPECT_EQ(outcome.detail(TESSERACT_DETAIL_ENDPOINT), "apply");
  EXPECT_EQ(outcome.detail(TESSERACT_DETAIL_PATH), "x");
  EXPECT_EQ(tesseract_error_detail(outcome.error.get(), TESSERACT_DETAIL_TRACEBACK, nullptr),
            nullptr);
  EXPECT_EQ(tesseract_error_cause(outcome.error.get()), nullptr);
  for (const int32_t which : {0, -1, 99})
    EXPECT_EQ(tesseract_error_detail(outcome.error.get(), which, nullptr), nullptr);
}

TEST(Error, LengthsAgreeWithTheTerminator) {
  const auto outcome = evaluate(component("square"), nullptr);
  uint64_t length = 0;
  const char *message = tesseract_error_message(outcome.error.get(), &length);
  EXPECT_EQ(std::string_view(message).size(), length);
  const char *detail =
      tesseract_error_detail(outcome.error.get(), TESSERACT_DETAIL_COMPONENT, &length);
  EXPECT_EQ(std::string_view(detail), "square");
  EXPECT_EQ(length, 6u);
}

TEST(Error, OutlivesItsComponent) {
  auto square = component("square");
  const auto outcome = evaluate(square, nullptr);
  square.reset();
  EXPECT_NE(outcome.message().find("square"), std::string::npos);
}

TEST(Error, PointerMayBeNull) {
  const auto square = component("square");
  tesseract_result *result = nullptr;
  EXPECT_EQ(tesseract_apply(square.get(), nullptr, nullptr, nullptr, &result, nullptr),
            TESSERACT_ERROR_SCHEMA);
  EXPECT_EQ(result, nullptr);
  EXPECT_TRUE(usable(square));
}

// An error that is still there would leak: the call is refused and the error left alone.
TEST(Error, PointerToAnErrorIsRefused) {
  const auto square = component("square");
  Doubles x{1.0};
  Leaves inputs;
  inputs.add("x", x);
  const auto first = evaluate(square, nullptr);
  const std::string message = first.message();
  const auto call = prepare(square, signature(TESSERACT_ENDPOINT_APPLY, inputs));
  const tesseract_signature again = signature(TESSERACT_ENDPOINT_APPLY, inputs);
  tesseract_error *error = first.error.get();
  tesseract_result *result = nullptr;
  tesseract_component *opened = nullptr;
  tesseract_call *prepared = nullptr;
  const char *text = nullptr;
  const DLTensor *in[] = {&x.tensor};
  DLTensor *out[] = {nullptr};
  const int32_t statuses[] = {
      tesseract_apply(square.get(), inputs, nullptr, nullptr, &result, &error),
      tesseract_jvp(square.get(), inputs, inputs, nullptr, nullptr, &result, &error),
      tesseract_jacobian(square.get(), inputs, nullptr, nullptr, nullptr, &result, &error),
      tesseract_abstract_eval(square.get(), inputs, nullptr, &result, &error),
      tesseract_prepare(square.get(), &again, &prepared, &error),
      tesseract_call_run(call.get(), in, out, nullptr, &result, &error),
      tesseract_open(library("square").c_str(), TESSERACT_NTS, nullptr, &opened, &error),
      tesseract_component_text(square.get(), TESSERACT_TEXT_NAME, &text, nullptr, &error),
  };
  for (const int32_t status : statuses) EXPECT_EQ(status, TESSERACT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(error, first.error.get());
  EXPECT_EQ(first.message(), message);
  EXPECT_EQ(result, nullptr);
  EXPECT_EQ(opened, nullptr);
  EXPECT_EQ(prepared, nullptr);
  EXPECT_TRUE(usable(square));
}

TEST(Error, IsNotWrittenOnSuccess) {
  const auto square = component("square");
  Doubles x{1.0};
  Leaves inputs;
  tesseract_error *error = nullptr;
  tesseract_result *result = nullptr;
  ASSERT_EQ(tesseract_apply(square.get(), inputs.add("x", x), nullptr, nullptr, &result, &error),
            TESSERACT_OK);
  EXPECT_EQ(error, nullptr);
  tesseract_result_free(result);
}

TEST(Error, OutPointersAreNotWrittenOnFailure) {
  const auto square = component("square");
  int marker = 0;
  auto *result = reinterpret_cast<tesseract_result *>(&marker);
  auto *call = reinterpret_cast<tesseract_call *>(&marker);
  auto *opened = reinterpret_cast<tesseract_component *>(&marker);
  const auto bad = signature(77, nullptr);
  EXPECT_NE(tesseract_apply(square.get(), nullptr, nullptr, nullptr, &result, nullptr),
            TESSERACT_OK);
  EXPECT_NE(tesseract_prepare(square.get(), &bad, &call, nullptr), TESSERACT_OK);
  EXPECT_NE(tesseract_open("/no/such.so", TESSERACT_NTS, nullptr, &opened, nullptr), TESSERACT_OK);
  EXPECT_EQ(static_cast<void *>(result), &marker);
  EXPECT_EQ(static_cast<void *>(call), &marker);
  EXPECT_EQ(static_cast<void *>(opened), &marker);
}

TEST(Error, OfARunNamesItsEndpoint) {
  const auto square = component("square");
  Doubles x{1.0}, y{1.0}, two{1.0, 2.0};
  const auto call =
      prepare(square, signature(TESSERACT_ENDPOINT_VJP, Leaves{"x"}, Leaves{"y"}, Leaves{"x"}));
  const auto outcome = run(call.get(), {&x.tensor, &two.tensor}, {&y.tensor});
  EXPECT_TRUE(fails(outcome, TESSERACT_ERROR_SCHEMA, {"square", "vjp", "y"}));
  EXPECT_EQ(outcome.detail(TESSERACT_DETAIL_ENDPOINT), "vjp");
}

TEST(Error, OfComponentHasItsTraceback) {
  Puppet puppet;
  puppet.apply = [](tesseract_frame *frame) {
    const auto status = tesseract_fail(frame, TESSERACT_ERROR_COMPONENT, "x", "did not converge");
    frame->host->error_detail(frame, TESSERACT_DETAIL_TRACEBACK, "solver.f90:12\n", 14);
    return status;
  };
  const auto opened = puppet.opened();
  Doubles x{1.0};
  Leaves inputs;
  const auto outcome = evaluate(opened, inputs.add("x", x));
  EXPECT_TRUE(
      fails(outcome, TESSERACT_ERROR_COMPONENT, {"puppet", "apply", "x", "did not converge"}));
  EXPECT_EQ(outcome.detail(TESSERACT_DETAIL_TRACEBACK), "solver.f90:12\n");
}

// An error of one call does not colour the next one's.
TEST(Error, IsTheCallsOwn) {
  Puppet puppet;
  int calls = 0;
  puppet.apply = [&](tesseract_frame *frame) -> int32_t {
    if (calls++ == 0) return tesseract_fail(frame, TESSERACT_ERROR_COMPONENT, "x", "first");
    return TESSERACT_ERROR_OUT_OF_DOMAIN;
  };
  const auto opened = puppet.opened();
  Doubles x{1.0};
  Leaves inputs;
  inputs.add("x", x);
  EXPECT_TRUE(fails(evaluate(opened, inputs), TESSERACT_ERROR_COMPONENT, {"first"}));
  const auto second = evaluate(opened, inputs);
  EXPECT_TRUE(fails(second, TESSERACT_ERROR_OUT_OF_DOMAIN));
  EXPECT_EQ(second.message().find("first"), std::string::npos);
  EXPECT_EQ(second.detail(TESSERACT_DETAIL_PATH), "");
}

// ---- Causes -------------------------------------------------------------------------------------

TEST(Cause, OfANestedCall) {
  const auto nested = component("nested", "{\"inner\": \"" + library("square") + "\"}");
  Doubles x{1.0, 2.0};
  Leaves inputs, bad;
  inputs.add("x", x);
  EXPECT_EQ(values_of(evaluate(nested, inputs)), (std::vector<double>{2.0, 5.0}));
  const auto outcome = evaluate(nested, bad.add("x", x).json(R"({"a": -1})"));
  EXPECT_TRUE(fails(outcome, TESSERACT_ERROR_OUT_OF_DOMAIN,
                    {"nested", "apply", "the inner component failed"}));
  const tesseract_error *cause = tesseract_error_cause(outcome.error.get());
  ASSERT_NE(cause, nullptr);
  EXPECT_EQ(tesseract_error_status(cause), TESSERACT_ERROR_OUT_OF_DOMAIN);
  EXPECT_NE(std::string(tesseract_error_message(cause, nullptr)).find("a is negative"),
            std::string::npos);
  EXPECT_STREQ(tesseract_error_detail(cause, TESSERACT_DETAIL_COMPONENT, nullptr), "square");
  EXPECT_EQ(tesseract_error_cause(cause), nullptr);
  EXPECT_TRUE(succeeds(evaluate(nested, inputs)));
}

TEST(Cause, OfOpening) {
  const auto outcome = open(library("nested"), R"({"inner": "/no/such.so"})");
  EXPECT_TRUE(fails(outcome, TESSERACT_ERROR_NOT_FOUND));
  const tesseract_error *cause = tesseract_error_cause(outcome.error.get());
  ASSERT_NE(cause, nullptr);
  EXPECT_NE(std::string(tesseract_error_message(cause, nullptr)).find("/no/such.so"),
            std::string::npos);
}

TEST(Cause, OfThreeLevels) {
  Puppet puppet;
  const auto middle = component("nested", "{\"inner\": \"" + library("square") + "\"}");
  // A component may also use what it was handed from outside.
  puppet.apply = [&](tesseract_frame *frame) {
    const auto *host = static_cast<const tesseract_nested_table *>(
        frame->host->extension(TESSERACT_NESTED_ID, TESSERACT_NTS));
    Leaves inputs;
    inputs.add("x", frame->inputs[0]).json(R"({"a": -1})");
    tesseract_result *result = nullptr;
    tesseract_error *error = nullptr;
    EXPECT_NE(host->apply(middle.get(), inputs, nullptr, nullptr, &result, &error), TESSERACT_OK);
    return host->error_nested(frame, error);
  };
  const auto opened = puppet.opened();
  Doubles x{1.0};
  Leaves inputs;
  const auto outcome = evaluate(opened, inputs.add("x", x));
  EXPECT_TRUE(fails(outcome, TESSERACT_ERROR_OUT_OF_DOMAIN, {"puppet"}));
  const tesseract_error *cause = tesseract_error_cause(outcome.error.get());
  ASSERT_NE(cause, nullptr);
  ASSERT_NE(tesseract_error_cause(cause), nullptr);
  EXPECT_STREQ(
      tesseract_error_detail(tesseract_error_cause(cause), TESSERACT_DETAIL_COMPONENT, nullptr),
      "square");
}

TEST(Cause, MadeOfNothing) {
  Puppet puppet;
  puppet.apply = [](tesseract_frame *frame) {
    const auto *host = static_cast<const tesseract_nested_table *>(
        frame->host->extension(TESSERACT_NESTED_ID, TESSERACT_NTS));
    EXPECT_EQ(host->error_nested(frame, nullptr), TESSERACT_OK);
    return Puppet::copy_first(frame);
  };
  EXPECT_TRUE(identity_works(puppet.opened()));
}

}  // namespace
