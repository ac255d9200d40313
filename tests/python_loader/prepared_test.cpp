// Prepared calls, run again and again: what a module sees and what becomes of its results is the
// same whichever way a call takes.  The tests run with the compiled engine and without it.
#include "prepared.h"

#include <atomic>
#include <functional>
#include <map>
#include <thread>

namespace loader_test {
namespace {

using testing::HasSubstr;

enum Code { kPlain = 0, kKept = -1, kDescribe = -2, kCalls = -3, kAddress = -4, kBlocks = -5 };
constexpr double kInside = -6, kWrite = -7, kRaise = 200, kDomain = 201, kInterrupt = 202,
                 kPrint = 203;

// As in the module.
const char *const kReturned[] = {"instance", "list",    "strided", "int",   "swapped",
                                 "missing",  "unknown", "none",    "rank",  "complex",
                                 "subclass", "number",  "text",    "longer"};

// The module "prepared" with x, z and s as tensors.
class Calls : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(component_.opened.status, TESSERACT_OK) << component_.opened.message;
  }

  static Prepared apply(const Component &component, const std::string &json = "{}") {
    return {component, TESSERACT_ENDPOINT_APPLY, {"code", "x", "z", "s"}, {"y"}, {}, json};
  }

  // y = s x + z, with memory that is gone afterwards.
  static int32_t run(Prepared &call, double code, const Vector &x, double s = 2.0) {
    const Numbers number(code), first(x), second(Vector(x.size(), 1.0)), factor(s);
    return call.run({&number.tensor, &first.tensor, &second.tensor, &factor.tensor});
  }

  static Vector expected(const Vector &x, double s = 2.0) {
    Vector y;
    for (const double value : x) y.push_back(s * value + 1.0);
    return y;
  }

  static void expect_right(Prepared &call, const Vector &x, double s = 2.0) {
    ASSERT_EQ(run(call, kPlain, x, s), TESSERACT_OK) << call.failure.message;
    EXPECT_EQ(call.output(), expected(x, s));
  }

  Component component_{"prepared"};
  Prepared call_{apply(component_)};
};

TEST_F(Calls, GiveWhatTheirInputsSay) {
  for (double i = 0; i < 5; i++) expect_right(call_, {i, 2 * i, 3 * i}, i);
}

TEST_F(Calls, MayChangeTheirLengths) {
  for (const size_t length : {3u, 3u, 5u, 0u, 3u, 0u, 1u}) expect_right(call_, Vector(length, 4.0));
}

TEST_F(Calls, GoToDestinations) {
  const Numbers code(0.0), x({1, 2}), z({0, 0}), s(3.0);
  for (int i = 0; i < 4; i++) {
    Numbers y({-1, -1});
    ASSERT_EQ(call_.run({&code.tensor, &x.tensor, &z.tensor, &s.tensor}, {&y.tensor}),
              TESSERACT_OK);
    EXPECT_EQ(y.values(), (Vector{3, 6}));
  }
}

TEST_F(Calls, DoNotGoToDestinationsOfAnotherShape) {
  const Numbers code(0.0), x({1, 2}), z({0, 0}), s(3.0);
  for (int i = 0; i < 4; i++) {
    Numbers y({-1, -1, -1});
    EXPECT_EQ(call_.run({&code.tensor, &x.tensor, &z.tensor, &s.tensor}, {&y.tensor}),
              TESSERACT_ERROR_SCHEMA);
    EXPECT_EQ(call_.failure.path, "y");
  }
}

TEST_F(Calls, TakeArraysOfAnyLayout) {
  double data[] = {1, 9, 2, 9, 3, 9};
  int64_t length[] = {3}, stride[] = {2};
  DLTensor strided = tesseract_float64(data, 1, length);
  strided.strides = stride;
  const Numbers code(0.0), z({0, 0, 0}), s(1.0);
  for (int i = 0; i < 4; i++) {
    ASSERT_EQ(call_.run({&code.tensor, &strided, &z.tensor, &s.tensor}), TESSERACT_OK);
    EXPECT_EQ(call_.output(), (Vector{1, 2, 3}));
    expect_right(call_, {4, 5});
  }
}

TEST_F(Calls, ShowViewsOfTheCallersMemoryFromTheSecondOn) {
  const Numbers code(kAddress), x({1, 2}), z({0, 0}), s(3.0);
  std::vector<bool> same;
  for (int i = 0; i < 4; i++) {
    ASSERT_EQ(call_.run({&code.tensor, &x.tensor, &z.tensor, &s.tensor}), TESSERACT_OK);
    same.push_back(call_.values().at("number") ==
                   static_cast<double>(reinterpret_cast<uintptr_t>(x.data())));
  }
  EXPECT_EQ(same, (std::vector<bool>{false, true, true, true}));
}

// The module's view of its inputs, which no call may change.
TEST_F(Calls, ShowTheSameInputsEachTime) {
  const std::string json = R"({"part": {"label": "p"}, "steps": [null, [1, 2]], "fixed": [3, 4]})";
  Prepared call(component_, TESSERACT_ENDPOINT_APPLY,
                {"code", "x", "z", "part.u", "table.{one}", "table.{two}", "steps.[0]"}, {"y"}, {},
                json);
  const std::string seen =
      "['Apply_InputSchema', True, ['code', 'x', 'z', 's', 'part', 'table', 'steps', 'count', "
      "'fixed'], ['code', 'fixed', 'part', 'steps', 'table', 'x', 'z'], None, None, 'ndarray', "
      "'float64', False, True, 'float', ('Apply_Part', 'p', ['label', 'u']), "
      "['dict', ['one', 'two']], ['list', 2], 3, [3.0, 4.0]]";
  for (int i = 0; i < 4; i++) {
    const Numbers code(kDescribe), x({1, 2}), a({3, 4}), b({5, 6});
    ASSERT_EQ(
        call.run({&code.tensor, &x.tensor, &a.tensor, &b.tensor, &x.tensor, &a.tensor, &b.tensor}),
        TESSERACT_OK)
        << call.failure.message;
    EXPECT_EQ(call.values().at("seen"), seen);
  }
}

TEST_F(Calls, TakeContainers) {
  Prepared call(component_, TESSERACT_ENDPOINT_APPLY,
                {"code", "x", "z", "part.u", "table.{one}", "table.{two}", "steps.[0]"}, {"y"});
  for (double i = 0; i < 4; i++) {
    const Numbers code(0.0), x({i, 1}), z({0, i}), u({10, 10}), one({100, 0}), two({0, 100}),
        step({0.5, i});
    ASSERT_EQ(call.run({&code.tensor, &x.tensor, &z.tensor, &u.tensor, &one.tensor, &two.tensor,
                        &step.tensor}),
              TESSERACT_OK)
        << call.failure.message;
    EXPECT_EQ(call.output(), (Vector{i + 110.5, 2 * i + 111}));
  }
}

TEST_F(Calls, RefuseWhatTheSchemaRefusesEachTime) {
  Prepared call = apply(component_, R"({"fixed": [1, 2, 3]})");
  Prepared unknown = apply(component_, R"({"fixid": [1, 2]})");
  for (int i = 0; i < 3; i++) {
    EXPECT_EQ(run(call, kPlain, {1}), TESSERACT_ERROR_SCHEMA);
    EXPECT_EQ(call.failure.path, "fixed");
    EXPECT_EQ(run(unknown, kPlain, {1}), TESSERACT_ERROR_SCHEMA);
    EXPECT_EQ(unknown.failure.path, "fixid");
    expect_right(call_, {1});
  }
}

// ---- Results -----------------------------------------------------------------------------------

TEST_F(Calls, CheckEveryResultAndCallTheModuleOnce) {
  const std::map<std::string, int32_t> failing = {{"missing", TESSERACT_ERROR_COMPONENT},
                                                  {"unknown", TESSERACT_ERROR_COMPONENT},
                                                  {"none", TESSERACT_ERROR_COMPONENT},
                                                  {"rank", TESSERACT_ERROR_COMPONENT},
                                                  {"complex", TESSERACT_ERROR_COMPONENT}};
  double calls = 0;
  for (int round = 0; round < 3; round++) {
    for (size_t i = 0; i < std::size(kReturned); i++) {
      const std::string how = kReturned[i];
      const int32_t status = run(call_, 100.0 + static_cast<double>(i), {1, 2});
      calls++;
      if (failing.count(how)) {
        EXPECT_EQ(status, failing.at(how)) << how;
        EXPECT_THAT(call_.failure.traceback, HasSubstr("ValidationError")) << how;
        continue;
      }
      ASSERT_EQ(status, TESSERACT_OK) << how << call_.failure.message;
      const Vector y = how == "longer" ? Vector{3, 5, 3, 5} : Vector{3, 5};
      EXPECT_EQ(call_.output(), y) << how;
      if (how == "number") {
        EXPECT_EQ(call_.values().at("number"), 2.0);
      }
      if (how == "text") {
        EXPECT_EQ(call_.values().at("number"), 2.5);
      }
      if (how == "instance") {
        EXPECT_EQ(call_.values().at("seen"), "an instance");
      }
      if (how == "subclass") {
        EXPECT_EQ(call_.values().at("seen"), "a subclass");
      }
    }
  }
  ASSERT_EQ(run(call_, kCalls, {1}), TESSERACT_OK);
  EXPECT_EQ(call_.values().at("number"), calls + 1);
}

TEST_F(Calls, FailAsTheirModuleDoes) {
  for (int i = 0; i < 3; i++) {
    EXPECT_EQ(run(call_, kRaise, {1}), TESSERACT_ERROR_COMPONENT);
    EXPECT_THAT(call_.failure.message, HasSubstr("RuntimeError: the mesh is tangled"));
    EXPECT_THAT(call_.failure.traceback, HasSubstr("raise RuntimeError(\"the mesh is tangled\")"));
    EXPECT_EQ(run(call_, kDomain, {1}), TESSERACT_ERROR_OUT_OF_DOMAIN);
    EXPECT_THAT(call_.failure.message, HasSubstr("too far"));
    EXPECT_EQ(run(call_, kInterrupt, {1}), TESSERACT_ERROR_COMPONENT);
    EXPECT_THAT(call_.failure.message, HasSubstr("KeyboardInterrupt"));
    expect_right(call_, {1, 2});
  }
}

TEST_F(Calls, LogWhatTheirModulePrintsAndWarns) {
  for (int i = 0; i < 3; i++) {
    component_.log.lines.clear();
    ASSERT_EQ(run(call_, kPrint, {1}), TESSERACT_OK);
    EXPECT_THAT(component_.log.lines, HasSubstr("a line without an end\n"));
    EXPECT_THAT(component_.log.lines,
                i == 0 ? HasSubstr("UserWarning: the mesh is coarse") : HasSubstr(""));
  }
}

// Even a read-only array has an address.
TEST_F(Calls, ThatWriteToTheirInputsAreFoundWhenDebugging) {
  for (const bool debug : {false, true}) {
    const Component component("prepared", debug ? R"({"debug_views": true})" : "{}");
    Prepared call = apply(component);
    for (int i = 0; i < 2; i++) expect_right(call, {1, 2});
    const int32_t status = run(call, kWrite, {1, 2});
    EXPECT_EQ(status, debug ? TESSERACT_ERROR_COMPONENT : TESSERACT_OK);
    if (debug) {
      EXPECT_EQ(call.failure.path, "x");
      EXPECT_THAT(call.failure.message, HasSubstr("was written to"));
    }
    expect_right(call, {3, 4});
  }
}

TEST(Options, OfDebuggingAreTrueOrFalse) {
  const Component component("prepared", R"({"debug_views": 1})");
  EXPECT_EQ(component.opened.status, TESSERACT_ERROR_INVALID_ARGUMENT);
  EXPECT_THAT(component.opened.message, HasSubstr("debug_views"));
}

// ---- The user's functions
// ------------------------------------------------------------------------

TEST(Validators, RunOnceForEachCall) {
  const Component component("prepared/validated.py");
  ASSERT_EQ(component.opened.status, TESSERACT_OK) << component.opened.message;
  Prepared call(component, TESSERACT_ENDPOINT_APPLY, {"x", "s"}, {"y"});
  for (double i = 0; i < 4; i++) {
    const Numbers x({i, 1}), s(3.0);
    ASSERT_EQ(call.run({&x.tensor, &s.tensor}), TESSERACT_OK) << call.failure.message;
    EXPECT_EQ(call.output(), (Vector{3 * i, 3}));
    EXPECT_EQ(call.values().at("seen"), (nlohmann::json{"x", "model"}));
  }
}

TEST(Validators, RefuseEachTime) {
  const Component component("prepared/validated.py");
  Prepared call(component, TESSERACT_ENDPOINT_APPLY, {"x", "s"}, {"y"});
  for (int i = 0; i < 3; i++) {
    const Numbers good(Vector{1}), bad(Vector{1.0 / 0.0}), s(3.0), large(300.0);
    EXPECT_EQ(call.run({&bad.tensor, &s.tensor}), TESSERACT_ERROR_SCHEMA);
    EXPECT_THAT(call.failure.message, HasSubstr("x must be finite"));
    EXPECT_EQ(call.failure.path, "x");
    EXPECT_EQ(call.run({&good.tensor, &large.tensor}), TESSERACT_ERROR_SCHEMA);
    EXPECT_THAT(call.failure.message, HasSubstr("s is too large"));
    EXPECT_EQ(call.run({&good.tensor, &s.tensor}), TESSERACT_OK);
  }
}

// ---- Derivatives
// ---------------------------------------------------------------------------------

TEST_F(Calls, OfVjpGetFreshSetsEachTime) {
  Prepared call(component_, TESSERACT_ENDPOINT_VJP, {"code", "x", "z", "s"}, {"y"}, {"s", "x"});
  for (double i = 0; i < 4; i++) {
    const Numbers code(0.0), x({i, 2}), z({0, 0}), s(3.0), seed({1, i});
    ASSERT_EQ(call.run({&code.tensor, &x.tensor, &z.tensor, &s.tensor, &seed.tensor}), TESSERACT_OK)
        << call.failure.message;
    EXPECT_EQ(call.output(0), (Vector{3 * i}));
    EXPECT_EQ(call.output(1), (Vector{3, 3 * i}));
  }
}

TEST_F(Calls, OfVjpCheckTheirResultsAndKeptSeeds) {
  Prepared call(component_, TESSERACT_ENDPOINT_VJP, {"code", "x", "z", "s"}, {"y"}, {"x"});
  const Numbers x({1, 2}), z({0, 0}), s(3.0);
  const auto run_with = [&](double number) {
    const Numbers code(number), seed({1, 10});
    return call.run({&code.tensor, &x.tensor, &z.tensor, &s.tensor, &seed.tensor});
  };
  for (int i = 0; i < 3; i++) {
    EXPECT_EQ(run_with(0), TESSERACT_OK);
    EXPECT_EQ(run_with(2), TESSERACT_ERROR_COMPONENT);
    EXPECT_THAT(call.failure.message, HasSubstr("lacks the keys ['x']"));
    EXPECT_EQ(run_with(3), TESSERACT_ERROR_COMPONENT);
    EXPECT_EQ(call.failure.path, "x");
    EXPECT_EQ(run_with(4), TESSERACT_ERROR_OUT_OF_DOMAIN);
  }
  EXPECT_EQ(run_with(1), TESSERACT_OK);
  EXPECT_THAT(component_.log.lines, HasSubstr("input y is kept"));
  ASSERT_EQ(run(call_, kKept, {1, 2}), TESSERACT_OK);
  EXPECT_EQ(call_.output(), (Vector{1, 10}));
}

TEST_F(Calls, OfJvpRefuseSeedsOfAnotherShape) {
  Prepared call(component_, TESSERACT_ENDPOINT_JVP, {"code", "x", "z", "s"}, {"y"}, {"x"});
  const Numbers code(0.0), x({1, 2}), z({0, 0}), s(3.0), right({1, 1}), wrong({1, 1, 1});
  for (int i = 0; i < 3; i++) {
    EXPECT_EQ(call.run({&code.tensor, &x.tensor, &z.tensor, &s.tensor, &right.tensor}),
              TESSERACT_OK)
        << call.failure.message;
    EXPECT_EQ(call.output(), (Vector{3, 3}));
    EXPECT_EQ(call.run({&code.tensor, &x.tensor, &z.tensor, &s.tensor, &wrong.tensor}),
              TESSERACT_ERROR_SCHEMA);
  }
}

TEST_F(Calls, OfJvpMayLackSeeds) {
  Prepared call(component_, TESSERACT_ENDPOINT_JVP, {"code", "x", "z", "s"}, {"y"}, {"s", "x"});
  const Numbers code(0.0), x({1, 2}), z({0, 0}), s(3.0), scalar(10.0), array({1, 1});
  for (int i = 0; i < 3; i++) {
    ASSERT_EQ(
        call.run({&code.tensor, &x.tensor, &z.tensor, &s.tensor, &scalar.tensor, &array.tensor}),
        TESSERACT_OK)
        << call.failure.message;
    EXPECT_EQ(call.output(), (Vector{13, 23}));
  }
}

TEST_F(Calls, OfJacobianGiveAllBlocks) {
  Prepared call(component_, TESSERACT_ENDPOINT_JACOBIAN, {"code", "x", "z", "s"}, {"y"},
                {"s", "x"});
  for (double i = 1; i < 4; i++) {
    const Numbers code(0.0), x({1, i}), z({0, 0}), s(i);
    ASSERT_EQ(call.run({&code.tensor, &x.tensor, &z.tensor, &s.tensor}), TESSERACT_OK)
        << call.failure.message;
    EXPECT_EQ(call.output(0), (Vector{1, i}));
    EXPECT_EQ(call.output(1), (Vector{i, 0, 0, i}));
  }
}

// ---- Several at once
// -----------------------------------------------------------------------------

// A component whose log calls it again.
struct Again {
  std::function<void()> call;
  static void take(void *self, int32_t, const char *text, uint64_t length) {
    auto &again = *static_cast<Again *>(self);
    if (std::string(text, length) != "inside" || !again.call) return;
    std::exchange(again.call, nullptr)();
  }
};

TEST(CallsInsideOfCalls, DoNotDisturbThem) {
  Again again;
  tesseract_open_options options = TESSERACT_OPEN_OPTIONS_INIT;
  options.log = Again::take;
  options.log_data = &again;
  const std::string path = module_path("prepared");
  tesseract_component *component = nullptr;
  ASSERT_EQ(tesseract_open(path.data(), path.size(), &options, &component, nullptr), TESSERACT_OK);
  const Paths inputs = {"code", "x", "z", "s"}, outputs = {"y"};
  {
    Prepared call(component, TESSERACT_ENDPOINT_APPLY, inputs, outputs);
    const Numbers inside(kInside), plain(0.0), x({1, 2}), z({0, 0}), s(3.0), other({5, 6});
    for (int i = 0; i < 4; i++) {
      Numbers outer({0, 0}), inner({0, 0});
      again.call = [&] {
        EXPECT_EQ(call.run({&plain.tensor, &other.tensor, &z.tensor, &s.tensor}, {&inner.tensor}),
                  TESSERACT_OK);
      };
      EXPECT_EQ(call.run({&inside.tensor, &x.tensor, &z.tensor, &s.tensor}, {&outer.tensor}),
                TESSERACT_OK)
          << call.failure.message;
      EXPECT_EQ(inner.values(), (Vector{15, 18}));
      EXPECT_EQ(outer.values(), (Vector{3, 6}));
    }
  }
  tesseract_close(component);
}

TEST(CallsAtOnce, GetTheirOwnInputs) {
  const Component component("prepared", R"({"threads": "concurrent"})");
  ASSERT_EQ(component.opened.status, TESSERACT_OK) << component.opened.message;
  Prepared shared(component, TESSERACT_ENDPOINT_APPLY, {"code", "x", "z", "s"}, {"y"});
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (double t = 1; t <= 3; t++) {
    threads.emplace_back([&, t] {
      const Numbers code(0.0), x({t, 2 * t}), z({0, 0}), s(10.0);
      Numbers y({0, 0});
      for (int i = 0; i < 1000; i++) {
        const int32_t status =
            shared.run_quietly({&code.tensor, &x.tensor, &z.tensor, &s.tensor}, {&y.tensor});
        if (status != TESSERACT_OK || y.values() != Vector{10 * t, 20 * t}) wrong++;
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// ---- Leaks -------------------------------------------------------------------------------------

TEST_F(Calls, KeepNothing) {
  const auto blocks = [&] {
    EXPECT_EQ(run(call_, kBlocks, {1}), TESSERACT_OK);
    return call_.values().at("number").get<double>();
  };
  const std::vector<double> codes = {kPlain, kRaise, kDomain, 100, 101, 105, 108, kDescribe,
                                     15,     16,     18,      19,  20,  21,  22};
  for (const double code : codes) {
    for (int i = 0; i < 5; i++) run(call_, code, {1, 2, 3, 4});
    double kept = 400;
    for (int round = 0; round < 3 && kept >= 400; round++) {  // Python's caches fill up at first
      const double before = blocks();
      for (int i = 0; i < 1000; i++) run(call_, code, {1, 2, 3, 4});
      kept = blocks() - before;
    }
    EXPECT_LT(kept, 400) << code;
  }
}

}  // namespace
}  // namespace loader_test
