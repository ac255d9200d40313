// Components with a thread of their own.
#include <sys/wait.h>
#include <tesseract_host/loader.h>
#include <unistd.h>

#include <atomic>
#include <cfenv>
#include <iostream>
#include <set>
#include <thread>

#include "puppet.h"

namespace {

using namespace test;

constexpr std::string_view kOption = R"({"threads": "owner"})";

tesseract_open_options with_option() {
  tesseract_open_options options = TESSERACT_OPEN_OPTIONS_INIT;
  options.json = view(kOption);
  return options;
}

// A puppet that notes which threads run it, and how many at once.
struct Watched : Puppet {
  std::set<std::thread::id> threads;  // unguarded on purpose: one thread alone may come here
  std::atomic<int> inside{0};
  std::atomic<bool> crowded{false};
  bool destroyed = false;

  Watched() {
    table.create = [](const char *, uint64_t, void **instance, tesseract_frame *) {
      opening->note();
      *instance = opening;
      return TESSERACT_OK;
    };
    table.destroy = [](void *instance) {
      static_cast<Watched *>(instance)->note();
      static_cast<Watched *>(instance)->destroyed = true;
    };
    table.describe = [](void *instance, const char **text, uint64_t *length, tesseract_frame *) {
      auto *self = static_cast<Watched *>(instance);
      self->note();
      *text = self->description.data();
      *length = self->description.size();
      return TESSERACT_OK;
    };
    table.apply = [](void *instance, void *, tesseract_frame *frame) {
      auto *self = static_cast<Watched *>(instance);
      self->note();
      self->crowded = self->crowded || ++self->inside > 1;
      const int32_t status = self->apply(frame);
      --self->inside;
      return status;
    };
    opening = this;
  }

  void note() { threads.insert(std::this_thread::get_id()); }

  Component opened_with_option() {
    opening = this;
    const auto options = with_option();
    auto outcome = open(&options);
    EXPECT_TRUE(succeeds(outcome));
    return std::move(outcome.value);
  }

  // Adds members to the description.
  void describe_too(const std::string &members) {
    description.insert(description.find("\"inputs\""), members + ", ");
  }

  static inline Watched *opening = nullptr;
};

template <class Body>
void together(int n, Body body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < n; i++) threads.emplace_back([&body, i] { body(i); });
  for (auto &thread : threads) thread.join();
}

TEST(Owner, EverythingRunsOnOneThreadThatIsNoCallers) {
  Watched puppet;
  {
    const auto opened = puppet.opened_with_option();
    together(4, [&](int) {
      for (int k = 0; k < 50; k++) ASSERT_TRUE(identity_works(opened));
    });
    EXPECT_EQ(statistics_of(opened).calls, 200u);
  }
  EXPECT_TRUE(puppet.destroyed);
  EXPECT_FALSE(puppet.crowded);
  EXPECT_EQ(puppet.threads.size(), 1u);
  EXPECT_EQ(puppet.threads.count(std::this_thread::get_id()), 0u);
}

TEST(Owner, MayBeDescribed) {
  Watched puppet;
  puppet.describe_too(R"("threads": "owner")");
  {
    const auto opened = puppet.opened();
    puppet.threads.clear();  // create and describe had to come before
    together(3, [&](int) { EXPECT_TRUE(identity_works(opened)); });
    EXPECT_NE(text_of(opened, TESSERACT_TEXT_DESCRIPTION).find(R"("threads":"owner")"),
              std::string::npos);
  }
  EXPECT_TRUE(puppet.destroyed);
  EXPECT_EQ(puppet.threads.size(), 1u);
  EXPECT_EQ(puppet.threads.count(std::this_thread::get_id()), 0u);
}

TEST(Owner, ShowsInTheDescription) {
  Watched puppet;
  const auto opened = puppet.opened_with_option();
  EXPECT_NE(text_of(opened, TESSERACT_TEXT_DESCRIPTION).find(R"("threads":"owner")"),
            std::string::npos);
}

TEST(Owner, OtherValuesOfTheOptionAreTheComponents) {
  EXPECT_TRUE(fails(open(library("square"), R"({"threads": "many"})"),
                    TESSERACT_ERROR_INVALID_ARGUMENT, {"options"}));
}

TEST(Owner, ReportsWhatFails) {
  EXPECT_TRUE(fails(open("/nowhere/libnothing.so", kOption),
                    {TESSERACT_ERROR_NOT_FOUND, TESSERACT_ERROR_UNSUPPORTED}, {"libnothing.so"}));
  Watched puppet;
  puppet.apply = [](tesseract_frame *frame) {
    frame->host->error_detail(frame, TESSERACT_DETAIL_TRACEBACK, "line 3", 6);
    return tesseract_fail(frame, TESSERACT_ERROR_OUT_OF_DOMAIN, "x", "too large");
  };
  const auto opened = puppet.opened_with_option();
  Doubles x{1.0};
  Leaves inputs;
  const auto outcome = evaluate(opened, inputs.add("x", x));
  EXPECT_TRUE(fails(outcome, TESSERACT_ERROR_OUT_OF_DOMAIN, {"x", "too large"}));
  EXPECT_EQ(outcome.detail(TESSERACT_DETAIL_TRACEBACK), "line 3");
  EXPECT_EQ(outcome.detail(TESSERACT_DETAIL_PATH), "x");
  puppet.apply = [](tesseract_frame *) -> int32_t { throw std::runtime_error("thrown"); };
  EXPECT_TRUE(fails(evaluate(opened, inputs), TESSERACT_ERROR_COMPONENT, {"thrown"}));
  puppet.apply = Puppet::copy_first;
  EXPECT_TRUE(identity_works(opened));
}

TEST(Owner, IsCancelled) {
  const Cancel cancel = make_cancel();
  auto opening = with_option();
  opening.log_data = cancel.get();
  opening.log = [](void *data, int32_t, const char *, uint64_t) {
    tesseract_cancel_request(static_cast<tesseract_cancel *>(data));
  };
  tesseract_call_options options = TESSERACT_CALL_OPTIONS_INIT;
  options.cancel = cancel.get();
  const auto slow = open(library("slow"), &opening);
  EXPECT_TRUE(fails(evaluate(slow.value, nullptr, nullptr, &options), TESSERACT_ERROR_CANCELLED));
}

TEST(Owner, DerivedEndpointsRunThereToo) {
  Watched puppet;
  std::set<std::thread::id> threads;
  puppet.derivative = [&](tesseract_frame *frame) {
    threads.insert(std::this_thread::get_id());
    for (int64_t i = 0; i < frame->seeds[0]->shape[0]; i++)
      static_cast<double *>(frame->outputs[0]->data)[i] =
          static_cast<const double *>(frame->seeds[0]->data)[i];
    return TESSERACT_OK;
  };
  puppet.offer(&tesseract_plugin_table::vjp);
  puppet.table.vjp = [](void *instance, void *, tesseract_frame *frame) {
    return static_cast<Watched *>(instance)->derivative(frame);
  };
  const auto opened = puppet.opened_with_option();
  Doubles x{1.0, 2.0};
  Leaves inputs;
  const auto outcome = jacobian(opened, inputs.add("x", x));
  ASSERT_TRUE(succeeds(outcome));
  EXPECT_EQ(values_of(outcome), (std::vector<double>{1, 0, 0, 1}));
  EXPECT_EQ(threads, puppet.threads);
}

// ---- Floating point -----------------------------------------------------------------------------

// What a component finds and leaves, and what its caller has afterwards.
struct Environments {
  int rounding_inside, raised_inside, rounding_after, raised_after;
};

Environments environments_of(Watched &puppet) {
  Environments found{};
  puppet.apply = [&found](tesseract_frame *frame) {
    found.rounding_inside = std::fegetround();
    found.raised_inside = std::fetestexcept(FE_ALL_EXCEPT);
    std::feraiseexcept(FE_OVERFLOW);
    return Puppet::copy_first(frame);
  };
  const auto opened = puppet.opened_with_option();
  std::fesetround(FE_DOWNWARD);
  std::feclearexcept(FE_ALL_EXCEPT);
  std::feraiseexcept(FE_DIVBYZERO);
  EXPECT_TRUE(identity_works(opened));
  found.rounding_after = std::fegetround();
  found.raised_after = std::fetestexcept(FE_DIVBYZERO | FE_OVERFLOW);
  std::fesetround(FE_TONEAREST);
  std::feclearexcept(FE_ALL_EXCEPT);
  return found;
}

TEST(Owner, ComputesInTheCallersEnvironment) {
  Watched puppet;
  const Environments found = environments_of(puppet);
  EXPECT_EQ(found.rounding_inside, FE_DOWNWARD);
  EXPECT_NE(found.raised_inside & FE_DIVBYZERO, 0);
  EXPECT_EQ(found.rounding_after, FE_DOWNWARD);
  EXPECT_NE(found.raised_after & FE_OVERFLOW, 0) << "what the component raises is the caller's";
}

TEST(Owner, ComputesInTheDefaultEnvironmentWhereItAsks) {
  Watched puppet;
  puppet.describe_too(R"("floating_point": "default")");
  const Environments found = environments_of(puppet);
  EXPECT_EQ(found.rounding_inside, FE_TONEAREST);
  EXPECT_EQ(found.raised_inside, 0);
  EXPECT_EQ(found.rounding_after, FE_DOWNWARD);
  EXPECT_EQ(found.raised_after, FE_DIVBYZERO);
}

// ---- Nested calls -------------------------------------------------------------------------------

Outcome<Result> evaluate_on(const Component &component, const DLTensor *x) {
  Leaves inputs;
  return evaluate(component, inputs.add("x", x));
}

// A puppet that calls another component once.
void call_once(Watched &puppet, const Component &other, Outcome<Result> &inner) {
  auto left = std::make_shared<int>(1);
  puppet.apply = [&other, &inner, left](tesseract_frame *frame) {
    if ((*left)-- > 0) inner = evaluate_on(other, frame->inputs[0]);
    return Puppet::copy_first(frame);
  };
}

TEST(Owner, CallsItselfWhereItIsReentrant) {
  for (const bool reentrant : {true, false}) {
    Watched puppet;
    Component opened;
    Outcome<Result> inner;
    if (reentrant) puppet.describe_too(R"("reentrant": true)");
    call_once(puppet, opened, inner);
    opened = puppet.opened_with_option();
    EXPECT_TRUE(identity_works(opened));
    if (reentrant)
      EXPECT_TRUE(succeeds(inner));
    else
      EXPECT_TRUE(fails(inner, TESSERACT_ERROR_INVALID_ARGUMENT, {"reentrant"}));
    EXPECT_EQ(puppet.threads.size(), 1u);
    EXPECT_TRUE(identity_works(opened));
  }
}

TEST(Owner, TwoCallEachOtherInACircle) {
  Watched one, two;
  one.describe_too(R"("reentrant": true)");
  Component first, second;
  Outcome<Result> to_second, to_first;
  call_once(one, second, to_second);
  call_once(two, first, to_first);
  first = one.opened_with_option();
  second = two.opened_with_option();
  together(2, [&](int) {
    for (int k = 0; k < 20; k++) EXPECT_TRUE(identity_works(first));
  });
  EXPECT_TRUE(succeeds(to_second));
  EXPECT_TRUE(succeeds(to_first));
  EXPECT_EQ(one.threads.size(), 1u);
  EXPECT_EQ(two.threads.size(), 1u);
}

// The serial component is entered by its caller, then again from the thread that works for it.
TEST(Owner, IsItsCallerToLocks) {
  Watched owner, serial;
  serial.describe_too(R"("reentrant": true)");
  Component bound, locked;
  Outcome<Result> to_bound, to_locked;
  call_once(owner, locked, to_locked);
  call_once(serial, bound, to_bound);
  bound = owner.opened_with_option();
  Watched::opening = &serial;
  locked = serial.opened();
  EXPECT_TRUE(identity_works(locked));
  EXPECT_TRUE(succeeds(to_bound));
  EXPECT_TRUE(succeeds(to_locked));
  together(2, [&](int) { EXPECT_TRUE(identity_works(locked)); });
}

// ---- Life cycle ---------------------------------------------------------------------------------

TEST(Owner, OpensAndClosesInLoops) {
  together(3, [](int) {
    for (int k = 0; k < 50; k++) ASSERT_TRUE(usable(component("square", kOption)));
  });
}

TEST(Owner, PreparedCallsOutliveTheHandle) {
  Watched puppet;
  auto opened = puppet.opened_with_option();
  Doubles x{1.0, 2.0}, y = zeros({2});
  Leaves inputs;
  auto call = prepare(opened, signature(TESSERACT_ENDPOINT_APPLY, inputs.add("x", x)));
  ASSERT_TRUE(succeeds(call));
  opened.reset();
  EXPECT_FALSE(puppet.destroyed);
  EXPECT_TRUE(succeeds(run(call.get(), {&x.tensor}, {&y.tensor})));
  EXPECT_EQ(y.values, x.values);
  std::thread([&] { call.value.reset(); }).join();
  EXPECT_TRUE(puppet.destroyed);
  EXPECT_EQ(puppet.threads.size(), 1u);
}

// ---- Threads that never return ------------------------------------------------------------------

// What a loader has a thread do that its runtime stops for ever.
[[noreturn]] void lose_and_sleep() {
  static_cast<const tesseract_lost_thread_table *>(
      tesseract_host_extension(TESSERACT_LOST_THREAD_ID, TESSERACT_NTS))
      ->lose();
  for (;;) pause();
}

TEST(LostThreadDeathTest, LetsOthersInAndIsNotWaitedFor) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto body = [] {
    Watched puppet;
    static std::atomic<bool> lost{false};
    puppet.apply = [&](tesseract_frame *frame) -> int32_t {
      if (frame->inputs[0]->shape[0] > 1) return Puppet::copy_first(frame);
      lost = true;
      lose_and_sleep();
    };
    Watched::opening = &puppet;
    auto opened = puppet.opened();
    std::thread([&] {
      Doubles x{1.0};
      evaluate_on(opened, &x.tensor);
    }).detach();
    while (!lost) std::this_thread::yield();
    if (!identity_works(opened)) return 1;
    if (tesseract_shutdown(20.0, nullptr) != TESSERACT_OK) return 2;
    return 0;
  };
  EXPECT_EXIT(_exit(body()), testing::ExitedWithCode(0), "");
}

TEST(LostThreadDeathTest, OfAComponentLetsItsCallersGo) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto body = [] {
    Watched puppet;
    puppet.apply = [](tesseract_frame *frame) -> int32_t {
      if (frame->inputs[0]->shape[0] > 1) return Puppet::copy_first(frame);
      // Others queue up meanwhile.
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      lose_and_sleep();
    };
    auto opened = puppet.opened_with_option();
    if (!identity_works(opened)) return 1;
    std::atomic<int> refused{0};
    together(3, [&](int) {
      Doubles x{1.0};
      const auto outcome = evaluate_on(opened, &x.tensor);
      refused += bool(fails(outcome, TESSERACT_ERROR_UNAVAILABLE, {"no more"}));
    });
    if (refused != 3) return 2;
    if (!fails(prepare(opened, signature(TESSERACT_ENDPOINT_APPLY, nullptr)),
               {TESSERACT_ERROR_UNAVAILABLE, TESSERACT_ERROR_SCHEMA}))
      return 3;
    opened.reset();
    return puppet.destroyed ? 4 : 0;
  };
  EXPECT_EXIT(_exit(body()), testing::ExitedWithCode(0), "");
}

// ---- Forks --------------------------------------------------------------------------------------

template <class Body>
int in_child(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    _exit(body());
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void resume() {
  static_cast<const tesseract_fork_table *>(
      tesseract_host_extension(TESSERACT_FORK_ID, TESSERACT_NTS))
      ->resume();
}

TEST(Owner, OfAForkedChildIsRefusedAndClosed) {
  auto square = component("square", kOption);
  auto other = component("square");
  ASSERT_TRUE(usable(square));
  const auto body = [&] {
    resume();
    Doubles x{1.0};
    const auto outcome = evaluate_on(square, &x.tensor);
    if (!fails(outcome, TESSERACT_ERROR_UNAVAILABLE, {"fork"})) return 1;
    if (!usable(other)) return 2;
#ifndef __SANITIZE_THREAD__  // which allows a child no threads
    if (!usable(component("square", kOption))) return 3;
#endif
    square.reset();
    return 0;
  };
  EXPECT_EQ(in_child(body), 0);
  EXPECT_TRUE(usable(square));
}

// Who forks on the thread itself, as modules do that use multiprocessing, finds it in the child.
TEST(Owner, MayForkInACall) {
  Watched puppet;
  puppet.describe_too(R"("reentrant": true)");
  Component opened;
  int child_status = -1;
  puppet.apply = [&](tesseract_frame *frame) {
    if (frame->inputs[0]->shape[0] == 1)
      child_status = in_child([&] {
        resume();
        Doubles x{1.0, 2.0};
        return evaluate_on(opened, &x.tensor).ok() ? 0 : 1;
      });
    return Puppet::copy_first(frame);
  };
  opened = puppet.opened_with_option();
  Doubles x{1.0};
  EXPECT_TRUE(succeeds(evaluate_on(opened, &x.tensor)));
  EXPECT_EQ(child_status, 0);
}

TEST(OwnerDeathTest, ShutdownWaitsForCallsAndLetsThemFinish) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto body = [] {
    Watched puppet;
    puppet.describe_too(R"("reentrant": true)");
    Component opened;
    std::atomic<bool> begun{false};
    std::atomic<int> nested{-1};
    puppet.apply = [&](tesseract_frame *frame) {
      if (frame->inputs[0]->shape[0] == 1) {
        begun = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        Doubles x{1.0, 2.0};
        nested = evaluate_on(opened, &x.tensor).status;
      }
      return Puppet::copy_first(frame);
    };
    opened = puppet.opened_with_option();
    std::atomic<int> outer{-1};
    std::thread caller([&] {
      Doubles x{1.0};
      outer = evaluate_on(opened, &x.tensor).status;
    });
    while (!begun) std::this_thread::yield();
    if (tesseract_shutdown(20.0, nullptr) != TESSERACT_OK) return 1;
    caller.join();
    if (nested != TESSERACT_OK || outer != TESSERACT_OK) return 2;
    if (identity_works(opened)) return 3;
    opened.reset();
    return puppet.destroyed ? 0 : 4;
  };
  EXPECT_EXIT(std::exit(body()), testing::ExitedWithCode(0), "");
}

}  // namespace
