// Prepared calls: what is settled once, and what each run may vary.
#include "puppet.h"

namespace {

using namespace test;

class Prepared : public testing::Test {
 protected:
  Component square = component("square");
  Doubles x{1.0, 2.0, 3.0}, y = zeros({3});
  Doubles a = scalar(2.0);

  Call prepared(int32_t endpoint, Wanted inputs, Wanted of = nullptr, Wanted wrt = nullptr,
                uint32_t flags = 0) {
    auto outcome = prepare(square, signature(endpoint, inputs, of, wrt, flags));
    EXPECT_TRUE(succeeds(outcome));
    return std::move(outcome.value);
  }
};

TEST_F(Prepared, Apply) {
  const Call call = prepared(TESSERACT_ENDPOINT_APPLY, Leaves{"x", "a"});
  ASSERT_TRUE(succeeds(run(call.get(), {&x.tensor, &a.tensor}, {&y.tensor})));
  EXPECT_EQ(y.values, (std::vector<double>{2.0, 8.0, 18.0}));
  x.values[0] = 10.0;
  ASSERT_TRUE(succeeds(run(call.get(), {&x.tensor, &a.tensor}, {&y.tensor})));
  EXPECT_EQ(y.values[0], 200.0);
}

TEST_F(Prepared, PositionsAreTheSignatures) {
  const Call call = prepared(TESSERACT_ENDPOINT_APPLY, Leaves{"a", "x"});
  ASSERT_TRUE(succeeds(run(call.get(), {&a.tensor, &x.tensor}, {&y.tensor})));
  EXPECT_EQ(y.values, (std::vector<double>{2.0, 8.0, 18.0}));
}

TEST_F(Prepared, JsonAndDefaultsAreSettledOnce) {
  Leaves json;
  json.add("x").json(R"({"a": 4})");
  const Call four = prepared(TESSERACT_ENDPOINT_APPLY, json);
  const Call one = prepared(TESSERACT_ENDPOINT_APPLY, Leaves{"x"});
  ASSERT_TRUE(succeeds(run(four.get(), {&x.tensor}, {&y.tensor})));
  EXPECT_EQ(y.values, (std::vector<double>{4.0, 16.0, 36.0}));
  ASSERT_TRUE(succeeds(run(one.get(), {&x.tensor}, {&y.tensor})));
  EXPECT_EQ(y.values, (std::vector<double>{1.0, 4.0, 9.0}));
}

TEST_F(Prepared, JsonArrayFixesItsNamedLength) {
  Puppet puppet;
  puppet.description = R"({"name": "puppet", "inputs": [
      {"path": "x", "dtype": "float64", "shape": ["n"]},
      {"path": "w", "dtype": "float64", "shape": ["n"]}],
    "outputs": [{"path": "y", "dtype": "float64", "shape": ["n"]}]})";
  const auto opened = puppet.opened();
  Leaves inputs;
  inputs.add("x").json(R"({"w": [1, 2]})");
  const auto call = prepare(opened, signature(TESSERACT_ENDPOINT_APPLY, inputs));
  ASSERT_TRUE(succeeds(call));
  EXPECT_TRUE(
      fails(run(call.get(), {&x.tensor}, {&y.tensor}), TESSERACT_ERROR_SCHEMA, {"x", "2", "3"}));
}

TEST_F(Prepared, Products) {
  Doubles one{1.0, 1.0, 1.0}, dx = zeros({3}), da = scalar(0.0);
  const Call forward = prepared(TESSERACT_ENDPOINT_JVP, Leaves{"x", "a"}, Leaves{"y"}, Leaves{"x"});
  ASSERT_TRUE(succeeds(run(forward.get(), {&x.tensor, &a.tensor, &one.tensor}, {&y.tensor})));
  EXPECT_EQ(y.values, (std::vector<double>{4.0, 8.0, 12.0}));
  const Call reverse =
      prepared(TESSERACT_ENDPOINT_VJP, Leaves{"x", "a"}, Leaves{"y"}, Leaves{"a", "x"});
  ASSERT_TRUE(
      succeeds(run(reverse.get(), {&x.tensor, &a.tensor, &one.tensor}, {&da.tensor, &dx.tensor})));
  EXPECT_EQ(dx.values, (std::vector<double>{4.0, 8.0, 12.0}));
  EXPECT_EQ(da.values[0], 14.0);
}

TEST_F(Prepared, JacobianIntoDestinations) {
  Doubles by_a = zeros({3}), by_x = zeros({3, 3});
  const Call call =
      prepared(TESSERACT_ENDPOINT_JACOBIAN, Leaves{"x", "a"}, Leaves{"y"}, Leaves{"a", "x"});
  ASSERT_TRUE(succeeds(run(call.get(), {&x.tensor, &a.tensor}, {&by_a.tensor, &by_x.tensor})));
  EXPECT_EQ(by_a.values, (std::vector<double>{1, 4, 9}));
  EXPECT_EQ(by_x.values, (std::vector<double>{4, 0, 0, 0, 8, 0, 0, 0, 12}));
}

TEST_F(Prepared, AbstractEval) {
  const Call call = prepared(TESSERACT_ENDPOINT_ABSTRACT_EVAL, Leaves{"x"});
  x.tensor.data = nullptr;
  const auto outcome = run_for_result(call.get(), {&x.tensor}, {nullptr});
  ASSERT_TRUE(succeeds(outcome));
  EXPECT_EQ(shape_of(tesseract_result_tensor(outcome.get(), 0)), std::vector<int64_t>{3});
}

TEST_F(Prepared, SizesAreReadAtEachRun) {
  const Call call = prepared(TESSERACT_ENDPOINT_APPLY, Leaves{"x"});
  for (const int64_t n : {0, 5, 1, 3}) {
    Doubles in = zeros({n}), out = zeros({n});
    for (double &value : in.values) value = 2.0;
    ASSERT_TRUE(succeeds(run(call.get(), {&in.tensor}, {&out.tensor})));
    EXPECT_EQ(out.values, std::vector<double>(static_cast<size_t>(n), 4.0));
  }
}

TEST_F(Prepared, NullStridesAndWrittenOnesInTurn) {
  const Call call =
      prepared(TESSERACT_ENDPOINT_APPLY, Leaves{"x"}, nullptr, nullptr, TESSERACT_NO_COPY);
  for (int i = 0; i < 4; i++) {
    x.tensor.strides = i % 2 ? x.stride({1}).tensor.strides : nullptr;
    ASSERT_TRUE(succeeds(run(call.get(), {&x.tensor}, {&y.tensor})));
    EXPECT_EQ(y.values, (std::vector<double>{1.0, 4.0, 9.0}));
  }
}

TEST_F(Prepared, RunWithAResult) {
  const Call call = prepared(TESSERACT_ENDPOINT_APPLY, Leaves{"x"});
  const auto made = run_for_result(call.get(), {&x.tensor}, {nullptr});
  EXPECT_EQ(values_of(made), (std::vector<double>{1.0, 4.0, 9.0}));
  const auto given = run_for_result(call.get(), {&x.tensor}, {&y.tensor});
  EXPECT_EQ(values_of(given), (std::vector<double>{1.0, 4.0, 9.0}));
  EXPECT_EQ(tesseract_result_tensor(given.get(), 0)->data, y.values.data());
}

TEST_F(Prepared, RunWithoutAResultNeedsDestinations) {
  const Call call = prepared(TESSERACT_ENDPOINT_APPLY, Leaves{"x"});
  EXPECT_TRUE(fails(run(call.get(), {&x.tensor}, {nullptr}), TESSERACT_ERROR_INVALID_ARGUMENT,
                    {"square", "apply", "y"}));
  EXPECT_TRUE(fails(outcome_of<Result>([&](auto **, auto **error) {
                      const DLTensor *in[] = {&x.tensor};
                      return tesseract_call_run(call.get(), in, nullptr, nullptr, nullptr, error);
                    }),
                    TESSERACT_ERROR_INVALID_ARGUMENT));
  EXPECT_TRUE(succeeds(run(call.get(), {&x.tensor}, {&y.tensor})));
}

TEST_F(Prepared, NullOutputsWithAResult) {
  const Call call = prepared(TESSERACT_ENDPOINT_APPLY, Leaves{"x"});
  const DLTensor *in[] = {&x.tensor};
  const auto outcome = outcome_of<Result>([&](auto **result, auto **error) {
    return tesseract_call_run(call.get(), in, nullptr, nullptr, result, error);
  });
  EXPECT_EQ(values_of(outcome), (std::vector<double>{1.0, 4.0, 9.0}));
  EXPECT_TRUE(succeeds(run(call.get(), {&x.tensor}, {&y.tensor})));
}

TEST_F(Prepared, NullArgumentsAreRefused) {
  const Call call = prepared(TESSERACT_ENDPOINT_APPLY, Leaves{"x"});
  const DLTensor *in[] = {nullptr};
  DLTensor *out[] = {&y.tensor};
  EXPECT_EQ(tesseract_call_run(nullptr, in, out, nullptr, nullptr, nullptr),
            TESSERACT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(tesseract_call_run(call.get(), nullptr, out, nullptr, nullptr, nullptr),
            TESSERACT_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(
      fails(run(call.get(), {nullptr}, {&y.tensor}), TESSERACT_ERROR_INVALID_ARGUMENT, {"x"}));
  tesseract_call *made = nullptr;
  const auto apply = signature(TESSERACT_ENDPOINT_APPLY, nullptr);
  EXPECT_EQ(tesseract_prepare(nullptr, &apply, &made, nullptr), TESSERACT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(tesseract_prepare(square.get(), nullptr, &made, nullptr),
            TESSERACT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(tesseract_prepare(square.get(), &apply, nullptr, nullptr),
            TESSERACT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(made, nullptr);
  tesseract_call_free(nullptr);
  EXPECT_EQ(tesseract_call_signature(nullptr), nullptr);
}

TEST_F(Prepared, ResolvedSignature) {
  Leaves inputs{"x"};
  const Call call = prepared(TESSERACT_ENDPOINT_VJP, inputs, Leaves{"y"});
  const tesseract_signature *resolved = tesseract_call_signature(call.get());
  ASSERT_NE(resolved, nullptr);
  EXPECT_EQ(resolved->endpoint, TESSERACT_ENDPOINT_VJP);
  ASSERT_EQ(resolved->inputs->count, 1);
  ASSERT_EQ(resolved->of->count, 1);
  ASSERT_EQ(resolved->wrt->count, 1) << "every list is written out";
  EXPECT_EQ(std::string(resolved->wrt->items[0].path.data, resolved->wrt->items[0].path.length),
            "x");
  for (const tesseract_leaves *list : {resolved->inputs, resolved->of, resolved->wrt}) {
    const DLTensor *tensor = list->items[0].tensor;
    ASSERT_NE(tensor, nullptr);
    EXPECT_EQ(tensor->ndim, 1);
    EXPECT_EQ(tensor->shape[0], -1);
    EXPECT_EQ(tensor->dtype.bits, 64);
    EXPECT_EQ(tensor->device.device_type, kDLCPU);
  }
}

TEST_F(Prepared, KeepsNothingOfTheSignature) {
  Call call;
  {
    std::string path = "x", json = R"({"a": 3})";
    Leaves inputs;
    inputs.add(path).json(json);
    call = prepared(TESSERACT_ENDPOINT_APPLY, inputs);
    inputs.raw = {};
  }
  ASSERT_TRUE(succeeds(run(call.get(), {&x.tensor}, {&y.tensor})));
  EXPECT_EQ(y.values, (std::vector<double>{3.0, 12.0, 27.0}));
}

TEST_F(Prepared, OutlivesClose) {
  Call call = prepared(TESSERACT_ENDPOINT_APPLY, Leaves{"x"});
  square.reset();
  ASSERT_TRUE(succeeds(run(call.get(), {&x.tensor}, {&y.tensor})));
  EXPECT_EQ(y.values, (std::vector<double>{1.0, 4.0, 9.0}));
  const auto failure = run(call.get(), {nullptr}, {&y.tensor});
  EXPECT_TRUE(fails(failure, TESSERACT_ERROR_INVALID_ARGUMENT, {"square"}));
}

TEST_F(Prepared, DestroyComesWithTheLastReference) {
  static int destroyed;
  destroyed = 0;
  Puppet puppet;
  puppet.table.destroy = [](void *) { destroyed++; };
  auto opened = puppet.opened();
  auto one = prepare(opened, signature(TESSERACT_ENDPOINT_APPLY, Leaves{"x"}));
  auto two = prepare(opened, signature(TESSERACT_ENDPOINT_APPLY, Leaves{"x"}));
  opened.reset();
  one.value.reset();
  EXPECT_EQ(destroyed, 0);
  ASSERT_TRUE(succeeds(run(two.get(), {&x.tensor}, {&y.tensor})));
  two.value.reset();
  EXPECT_EQ(destroyed, 1);
}

TEST_F(Prepared, PlansAreForgottenBeforeDestroy) {
  static int plans, forgotten, alive;
  plans = forgotten = 0;
  alive = 1;
  Puppet puppet;
  puppet.table.destroy = [](void *) { alive = 0; };
  puppet.table.prepare = [](void *, const tesseract_signature *, void **plan, tesseract_frame *) {
    plans++;
    *plan = &plans;
    return TESSERACT_OK;
  };
  puppet.table.forget = [](void *, void *plan) {
    EXPECT_EQ(plan, &plans);
    EXPECT_EQ(alive, 1);
    forgotten++;
  };
  auto opened = puppet.opened();
  auto call = prepare(opened, signature(TESSERACT_ENDPOINT_APPLY, Leaves{"x"}));
  EXPECT_TRUE(identity_works(opened));
  ASSERT_TRUE(succeeds(run(call.get(), {&x.tensor}, {&y.tensor})));
  opened.reset();
  call.value.reset();
  EXPECT_GE(plans, 1);
  EXPECT_EQ(forgotten, plans);
  EXPECT_EQ(alive, 0);
}

TEST_F(Prepared, PlanSeesTheResolvedSignature) {
  static std::string seen;
  Puppet puppet;
  puppet.description = R"({"name": "puppet",
    "inputs": [{"path": "xs.[]", "dtype": "float64", "shape": [2, null], "differentiable": true}],
    "outputs": [{"path": "y", "dtype": "float64", "shape": []}]})";
  puppet.table.prepare = [](void *, const tesseract_signature *signature, void **plan,
                            tesseract_frame *frame) {
    EXPECT_EQ(frame->endpoint, 0);
    *plan = nullptr;
    seen.clear();
    for (int64_t i = 0; i < signature->inputs->count; i++) {
      const tesseract_leaf &leaf = signature->inputs->items[i];
      seen += std::string(leaf.path.data, leaf.path.length) + " ";
      for (int32_t d = 0; d < leaf.tensor->ndim; d++)
        seen += std::to_string(leaf.tensor->shape[d]) + " ";
    }
    seen += "of " + std::to_string(signature->of->count);
    return TESSERACT_OK;
  };
  puppet.table.forget = [](void *, void *) {};
  const auto opened = puppet.opened();
  ASSERT_TRUE(
      succeeds(prepare(opened, signature(TESSERACT_ENDPOINT_APPLY, Leaves{"xs.[0]", "xs.[1]"}))));
  EXPECT_EQ(seen, "xs.[0] 2 -1 xs.[1] 2 -1 of 1");
}

TEST_F(Prepared, OwnersByPosition) {
  const auto keeps = component("keeps");
  struct Counted {
    int held = 0;
  } counted;
  const tesseract_owner owner{&counted, [](void *p) { static_cast<Counted *>(p)->held++; },
                              [](void *p) { static_cast<Counted *>(p)->held--; }};
  const tesseract_owner *owners[] = {&owner};
  tesseract_call_options options = TESSERACT_CALL_OPTIONS_INIT;
  options.owners = owners;
  Doubles kept = scalar(-1.0);
  auto call = prepare(keeps, signature(TESSERACT_ENDPOINT_APPLY, Leaves{"x"}));
  ASSERT_TRUE(succeeds(run(call.get(), {&x.tensor}, {&kept.tensor}, &options)));
  EXPECT_EQ(counted.held, 1);
  EXPECT_EQ(kept.values[0], 0.0);
  owners[0] = nullptr;
  ASSERT_TRUE(succeeds(run(call.get(), {&x.tensor}, {&kept.tensor}, &options)));
  EXPECT_EQ(kept.values[0], 6.0);
  EXPECT_EQ(counted.held, 0);
}

TEST_F(Prepared, OwnerInALeafIsReleasedAtDestroy) {
  auto keeps = component("keeps");
  static int held;
  held = 0;
  const tesseract_owner owner{nullptr, [](void *) { held++; }, [](void *) { held--; }};
  Leaves inputs;
  inputs.add("x", &x.tensor, &owner);
  ASSERT_TRUE(succeeds(evaluate(keeps, inputs)));
  EXPECT_EQ(held, 1);
  EXPECT_EQ(values_of(evaluate(keeps, inputs)), std::vector<double>{6.0});
  EXPECT_EQ(held, 1);
  keeps.reset();
  EXPECT_EQ(held, 0);
}

// A copy of the host's is not the owner's array: a component may not keep it by that owner.
TEST_F(Prepared, OwnerIsNotPassedWithACopy) {
  const auto keeps = component("keeps");
  const tesseract_owner owner{nullptr, [](void *) { ADD_FAILURE() << "retained"; }, [](void *) {}};
  Doubles strided({3}, {1.0, 0.0, 2.0, 0.0, 3.0});
  strided.stride({2});
  Leaves inputs;
  inputs.add("x", &strided.tensor, &owner);
  ASSERT_TRUE(succeeds(evaluate(keeps, inputs)));
  EXPECT_EQ(values_of(evaluate(keeps, inputs)), std::vector<double>{0.0});
}

// ---- Signatures that are refused ----------------------------------------------------------------

TEST_F(Prepared, UnknownEndpoints) {
  for (const int32_t endpoint : {0, -1, 6, 1000})
    EXPECT_TRUE(fails(
        prepare(square, signature(endpoint, Leaves{"x"})),
        {TESSERACT_ERROR_INVALID_ARGUMENT, TESSERACT_ERROR_VERSION, TESSERACT_ERROR_UNSUPPORTED},
        {std::to_string(endpoint)}));
}

TEST_F(Prepared, ListsThatAnEndpointHasNot) {
  EXPECT_TRUE(
      fails(prepare(square, signature(TESSERACT_ENDPOINT_APPLY, Leaves{"x"}, nullptr, Leaves{"x"})),
            TESSERACT_ERROR_INVALID_ARGUMENT, {"wrt"}));
  EXPECT_TRUE(fails(prepare(square, signature(TESSERACT_ENDPOINT_JVP, Leaves{"x"})),
                    TESSERACT_ERROR_INVALID_ARGUMENT, {"jvp"}));
  EXPECT_TRUE(fails(prepare(square, signature(TESSERACT_ENDPOINT_VJP, Leaves{"x"})),
                    TESSERACT_ERROR_INVALID_ARGUMENT, {"vjp"}));
}

TEST_F(Prepared, DtypeAndRankAreSettled) {
  Doubles matrix = zeros({2, 2});
  Leaves inputs;
  EXPECT_TRUE(fails(prepare(square, signature(TESSERACT_ENDPOINT_APPLY, inputs.add("x", matrix))),
                    TESSERACT_ERROR_SCHEMA, {"x", "1", "2"}));
}

TEST_F(Prepared, DtypeOfTheSignatureHoldsAtTheRun) {
  Array<float> narrow({3}, {1.0F, 2.0F, 3.0F});
  const Call as_declared = prepared(TESSERACT_ENDPOINT_APPLY, Leaves{"x"});
  EXPECT_TRUE(fails(run(as_declared.get(), {&narrow.tensor}, {&y.tensor}), TESSERACT_ERROR_SCHEMA,
                    {"x", "float64", "float32"}));
  Leaves inputs;
  const Call converting = prepared(TESSERACT_ENDPOINT_APPLY, inputs.add("x", narrow));
  ASSERT_TRUE(succeeds(run(converting.get(), {&narrow.tensor}, {&y.tensor})));
  EXPECT_EQ(y.values, (std::vector<double>{1.0, 4.0, 9.0}));
  EXPECT_GE(statistics_of(square).dtype_copies, 1u);
  EXPECT_TRUE(fails(run(converting.get(), {&x.tensor}, {&y.tensor}), TESSERACT_ERROR_SCHEMA,
                    {"x", "float64", "float32"}));
}

TEST_F(Prepared, NoCopyRefusesConversionAtPrepare) {
  Array<float> narrow({3}, {1.0F, 2.0F, 3.0F});
  Leaves inputs;
  EXPECT_TRUE(fails(prepare(square, signature(TESSERACT_ENDPOINT_APPLY, inputs.add("x", narrow),
                                              nullptr, nullptr, TESSERACT_NO_COPY)),
                    {TESSERACT_ERROR_SCHEMA, TESSERACT_ERROR_INVALID_ARGUMENT}, {"x", "float32"}));
}

TEST_F(Prepared, NoCopyRefusesLayoutAtTheRun) {
  Doubles strided({3}, {1.0, 0.0, 2.0, 0.0, 3.0});
  strided.stride({2});
  const Call free = prepared(TESSERACT_ENDPOINT_APPLY, Leaves{"x"});
  const Call strict =
      prepared(TESSERACT_ENDPOINT_APPLY, Leaves{"x"}, nullptr, nullptr, TESSERACT_NO_COPY);
  ASSERT_TRUE(succeeds(run(free.get(), {&strided.tensor}, {&y.tensor})));
  EXPECT_EQ(y.values, (std::vector<double>{1.0, 4.0, 9.0}));
  const std::vector<int32_t> refused = {TESSERACT_ERROR_SCHEMA, TESSERACT_ERROR_INVALID_ARGUMENT};
  EXPECT_TRUE(fails(run(strict.get(), {&strided.tensor}, {&y.tensor}), refused, {"square", "x"}));
  tesseract_call_options options = TESSERACT_CALL_OPTIONS_INIT;
  options.flags = TESSERACT_NO_COPY;
  EXPECT_TRUE(fails(run(free.get(), {&strided.tensor}, {&y.tensor}, &options), refused, {"x"}));
  EXPECT_TRUE(succeeds(run(strict.get(), {&x.tensor}, {&y.tensor}, &options)));
}

}  // namespace
