// Threading classes, many callers at once, and life cycles across threads.
#include <atomic>
#include <cfenv>
#include <iostream>
#include <thread>

#include "puppet.h"

namespace {

using namespace test;

// Runs `body(i)` on n threads at once.
template <class Body>
void together(int n, Body body) {
  std::atomic<int> ready = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < n; i++)
    threads.emplace_back([&, i] {
      for (++ready; ready < n;) std::this_thread::yield();
      body(i);
    });
  for (auto &thread : threads) thread.join();
}

// One call of an occupancy component that waits for `callers` inside at once.
Outcome<Result> enter(const Component &component, int64_t callers, Options options = nullptr) {
  Leaves inputs;
  return evaluate(component, inputs.json("{\"together\": " + std::to_string(callers) + "}"),
                  nullptr, options);
}

// An occupancy component in a library of its own, so that what other tests left does not count.
class Room {
 public:
  explicit Room(std::string_view name) : path_(folder_.copy(name, "liboccupancy.so")) {}
  Component open() const {
    auto outcome = test::open(path_);
    EXPECT_TRUE(succeeds(outcome));
    return std::move(outcome.value);
  }

 private:
  Folder folder_;
  std::string path_;
};

int64_t in_process(const Outcome<Result> &outcome) {
  return values_of<int64_t>(outcome, 0).at(0);
}
int64_t in_instance(const Outcome<Result> &outcome) {
  return values_of<int64_t>(outcome, 1).at(0);
}

TEST(Threads, ConcurrentInstanceIsEnteredTogether) {
  const Room room("concurrent");
  const auto concurrent = room.open();
  together(3, [&](int) {
    const auto outcome = enter(concurrent, 3);
    EXPECT_TRUE(succeeds(outcome));
    EXPECT_EQ(in_instance(outcome), 3);
  });
}

TEST(Threads, SerialInstanceIsEnteredByOne) {
  const Room room("serial_instance");
  const auto serial = room.open();
  together(4, [&](int) {
    for (int i = 0; i < 50; i++) EXPECT_EQ(in_instance(enter(serial, 1)), 1);
  });
  EXPECT_EQ(statistics_of(serial).calls, 200u);
}

TEST(Threads, SerialInstancesOfOneLibraryAreEnteredTogether) {
  const Room room("serial_instance");
  const auto one = room.open(), two = room.open();
  together(2, [&](int i) {
    const auto outcome = enter(i ? one : two, 2);
    EXPECT_TRUE(succeeds(outcome));
    EXPECT_EQ(in_process(outcome), 2);
    EXPECT_EQ(in_instance(outcome), 1);
  });
}

TEST(Threads, SerialProcessIsEnteredByOneOfAllInstances) {
  const Room room("serial_process");
  const auto one = room.open(), two = room.open();
  together(4, [&](int i) {
    for (int k = 0; k < 50; k++) EXPECT_EQ(in_process(enter(i % 2 ? one : two, 1)), 1);
  });
}

TEST(Threads, SerialClassHoldsForPreparedCallsAndOneShots) {
  const Room room("serial_instance");
  const auto serial = room.open();
  const auto call = prepare(serial, signature(TESSERACT_ENDPOINT_APPLY, nullptr));
  together(4, [&](int i) {
    for (int k = 0; k < 50; k++) {
      Array<int64_t> process({}, {0}), instance({}, {0});
      if (i % 2)
        EXPECT_EQ(in_instance(enter(serial, 1)), 1);
      else
        EXPECT_TRUE(succeeds(run(call.get(), {}, {&process.tensor, &instance.tensor})));
      EXPECT_LE(instance.values[0], 1);
    }
  });
}

// A caller that waits for a serial instance gets in when the one inside is cancelled.
TEST(Threads, WaitingCallersGetTheirTurn) {
  const Room room("serial_instance");
  const auto serial = room.open();
  const Cancel cancel = make_cancel();
  tesseract_call_options options = TESSERACT_CALL_OPTIONS_INIT;
  options.cancel = cancel.get();
  std::thread inside(
      [&] { EXPECT_TRUE(fails(enter(serial, 2, &options), TESSERACT_ERROR_CANCELLED)); });
  std::thread waiting([&] { EXPECT_EQ(in_instance(enter(serial, 1)), 1); });
  tesseract_cancel_request(cancel.get());
  inside.join();
  waiting.join();
}

TEST(Threads, OnePreparedCallByMany) {
  const auto square = component("square");
  const auto call = prepare(square, signature(TESSERACT_ENDPOINT_APPLY, Leaves{"x", "a"}));
  together(4, [&](int i) {
    Doubles x{1.0 * i, 2.0}, a = scalar(i), y = zeros({2});
    for (int k = 0; k < 500; k++) {
      ASSERT_TRUE(succeeds(run(call.get(), {&x.tensor, &a.tensor}, {&y.tensor})));
      ASSERT_EQ(y.values, (std::vector<double>{1.0 * i * i * i, 4.0 * i}));
    }
  });
  EXPECT_EQ(statistics_of(square).calls, 2000u);
}

TEST(Threads, ManyErrorsAtOnce) {
  const auto square = component("square");
  together(4, [&](int i) {
    for (int k = 0; k < 100; k++) {
      Doubles x = zeros({2, i + 3});
      Leaves inputs;
      ASSERT_TRUE(fails(evaluate(square, inputs.add("x", x)), TESSERACT_ERROR_SCHEMA, {"x"}));
    }
  });
  EXPECT_TRUE(usable(square));
}

TEST(Threads, OpenAndCloseByMany) {
  together(4, [](int) {
    for (int k = 0; k < 20; k++) ASSERT_TRUE(usable(component("square")));
  });
}

TEST(Threads, ManySignaturesByMany) {
  const auto containers = component("containers");
  together(4, [&](int i) {
    for (int k = 0; k < 100; k++) {
      Doubles x{1.0}, p = scalar(2.0);
      Leaves inputs;
      inputs.add("xs.[0]", x).add("params.{" + std::to_string(100 * i + k) + "}", p);
      ASSERT_EQ(values_of(evaluate(containers, inputs, Leaves{"total"})), std::vector<double>{2.0});
    }
  });
}

TEST(Threads, TextsByMany) {
  const auto square = component("square");
  together(4, [&](int) {
    EXPECT_FALSE(text_of(square, TESSERACT_TEXT_DESCRIPTION).empty());
    EXPECT_FALSE(text_of(square, TESSERACT_TEXT_OPENAPI).empty());
  });
}

// ---- Closing ------------------------------------------------------------------------------------

TEST(Threads, CloseWhileACallRuns) {
  const Cancel cancel = make_cancel();
  tesseract_call_options options = TESSERACT_CALL_OPTIONS_INIT;
  options.cancel = cancel.get();
  std::atomic<bool> running = false;
  tesseract_open_options opening = TESSERACT_OPEN_OPTIONS_INIT;
  opening.log_data = &running;
  opening.log = [](void *data, int32_t, const char *, uint64_t) {
    *static_cast<std::atomic<bool> *>(data) = true;
  };
  auto watched = open(library("slow"), &opening);
  ASSERT_TRUE(succeeds(watched));
  tesseract_component *component = watched.value.release();
  std::thread caller([&] {
    tesseract_result *result = nullptr;
    EXPECT_EQ(tesseract_apply(component, nullptr, nullptr, &options, &result, nullptr),
              TESSERACT_ERROR_CANCELLED);
  });
  while (!running) std::this_thread::yield();
  tesseract_close(component);
  tesseract_cancel_request(cancel.get());
  caller.join();
}

// ---- Re-entry -----------------------------------------------------------------------------------

class Reentry : public testing::TestWithParam<const char *> {
 protected:
  // A puppet whose apply calls itself once and returns the inner call's status.
  Outcome<Result> call_within_call(const std::string &members) {
    puppet.description = R"({"name": "puppet", )" + members +
                         R"("inputs": [{"path": "x", "dtype": "float64", "shape": ["n"]}],
                           "outputs": [{"path": "y", "dtype": "float64", "shape": ["n"]}]})";
    puppet.apply = [this](tesseract_frame *frame) {
      if (depth++ == 0) {
        Leaves inputs;
        inner = evaluate(opened, inputs.add("x", frame->inputs[0]));
      }
      return Puppet::copy_first(frame);
    };
    opened = puppet.opened();
    Leaves inputs;
    return evaluate(opened, inputs.add("x", x));
  }

  Puppet puppet;
  Component opened;
  Doubles x{1.0};
  Outcome<Result> inner;
  int depth = 0;
};

TEST_P(Reentry, OfASerialComponentIsAnError) {
  EXPECT_TRUE(succeeds(call_within_call(GetParam())));
  EXPECT_TRUE(
      fails(inner, {TESSERACT_ERROR_INVALID_ARGUMENT, TESSERACT_ERROR_UNAVAILABLE}, {"puppet"}));
  EXPECT_TRUE(identity_works(opened));
}

INSTANTIATE_TEST_SUITE_P(Serial, Reentry,
                         testing::Values("", R"("threads": "serial-per-instance", )",
                                         R"("threads": "serial-per-process", )"));

using AllowedReentry = Reentry;

TEST_F(AllowedReentry, OfAReentrantComponent) {
  EXPECT_TRUE(succeeds(call_within_call(R"("reentrant": true, )")));
  EXPECT_TRUE(succeeds(inner));
}

TEST_F(AllowedReentry, OfAConcurrentComponent) {
  EXPECT_TRUE(succeeds(call_within_call(R"("threads": "concurrent", )")));
  EXPECT_TRUE(succeeds(inner));
}

// ---- Floating point -----------------------------------------------------------------------------

TEST(FloatingPoint, DefaultIsAskedForAndTheCallersComesBack) {
  Puppet puppet;
  puppet.description.pop_back();
  puppet.description += R"(, "floating_point": "default"})";
  puppet.apply = [](tesseract_frame *frame) {
    EXPECT_EQ(std::fegetround(), FE_TONEAREST);
    EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), 0);
    std::fesetround(FE_UPWARD);
    std::feraiseexcept(FE_OVERFLOW);
    return Puppet::copy_first(frame);
  };
  const auto opened = puppet.opened();
  std::fesetround(FE_DOWNWARD);
  std::feclearexcept(FE_ALL_EXCEPT);
  std::feraiseexcept(FE_DIVBYZERO);
  EXPECT_TRUE(identity_works(opened));
  const int rounding = std::fegetround(), raised = std::fetestexcept(FE_ALL_EXCEPT);
  std::fesetround(FE_TONEAREST);
  std::feclearexcept(FE_ALL_EXCEPT);
  EXPECT_EQ(rounding, FE_DOWNWARD);
  EXPECT_NE(raised & FE_DIVBYZERO, 0);
  EXPECT_EQ(raised & FE_OVERFLOW, 0);
}

// With a trap left open, the conversion would end the process.
TEST(FloatingPointDeathTest, ConversionsSpringNoTraps) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto typed = component("typed");
  const auto conversions = [&](int raised) {
    Doubles huge{1e300}, fits{0.1};
    Leaves refused[3], taken[2];
    refused[0].add("f32", huge);
    refused[1].json(R"({"f32": [1e300]})");
    refused[2].json(R"({"f32": [1e400]})");
    taken[0].add("f32", fits);
    taken[1].json(R"({"f32": [0.1]})");
    feclearexcept(FE_ALL_EXCEPT);
    feraiseexcept(raised);
    feenableexcept(FE_OVERFLOW | FE_INVALID | FE_DIVBYZERO);
    const int traps = fegetexcept();  // those the machine has
    const auto unchanged = [&] {
      return fegetexcept() == traps && fetestexcept(FE_ALL_EXCEPT) == raised;
    };
    const char *const named[] = {"f32", "f32", "1e400"};
    for (size_t i = 0; i < 3; i++) {
      const auto outcome = evaluate(typed, refused[i], Leaves{"f32"});
      const bool as_before = unchanged();
      std::vector<int32_t> statuses = {TESSERACT_ERROR_SCHEMA};
      if (i == 2) statuses.push_back(TESSERACT_ERROR_INVALID_ARGUMENT);  // no number at all
      const auto refusal = fails(outcome, statuses, {"typed", "apply", named[i]});
      if (as_before && refusal) continue;
      std::cerr << "environment kept: " << as_before << "; " << refusal.message() << '\n';
      return 1;
    }
    for (const auto &inputs : taken) {
      const auto outcome = evaluate(typed, inputs, Leaves{"f32"});
      if (!unchanged() || values_of<float>(outcome) != std::vector<float>{0.1F}) return 2;
    }
    return 0;
  };
  for (const int raised : {0, FE_INEXACT})
    EXPECT_EXIT(std::exit(conversions(raised)), testing::ExitedWithCode(0), "") << raised;
}

TEST(FloatingPoint, ConversionsRoundToNearest) {
  const auto typed = component("typed");
  Puppet puppet;
  puppet.description = R"({"name": "puppet",
    "inputs": [{"path": "x", "dtype": "float16", "shape": [1]}],
    "outputs": [{"path": "bits", "dtype": "uint16", "shape": [1]}]})";
  puppet.apply = [](tesseract_frame *frame) {
    *static_cast<uint16_t *>(frame->outputs[0]->data) =
        *static_cast<const uint16_t *>(frame->inputs[0]->data);
    return TESSERACT_OK;
  };
  const auto half = puppet.opened();
  Doubles above_one{1.0 + 0x1p-26};
  Leaves narrow, narrowest;
  narrow.add("f32", above_one);
  narrowest.add("x", above_one);
  std::fesetround(FE_UPWARD);
  const auto single = evaluate(typed, narrow, Leaves{"f32"});
  const auto bits = evaluate(half, narrowest);
  const int rounding = std::fegetround();
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(rounding, FE_UPWARD);
  EXPECT_EQ(values_of<float>(single), std::vector<float>{1.0F});
  EXPECT_EQ(values_of<uint16_t>(bits), std::vector<uint16_t>{0x3C00});
}

}  // namespace
