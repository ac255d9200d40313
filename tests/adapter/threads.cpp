// Calls, preparing, adding and removing at the same moment.
#include <atomic>
#include <thread>

#include "../native/puppet.h"
#include "frame.h"

namespace {

using namespace test;

const char *const puppet_id = "puppet-0-0-0";
const char *const puppet_apply =
    R"({"inputs":["x"],"of":["y"],"operands":["float64:1"],"results":["float64:1"]})";

// One call of y = 4 * x * x; null or an error.
std::unique_ptr<xla_error> call_square(uint64_t key, const char *identity = square_id) {
  Frame frame(identity, "apply", square_apply);
  Doubles x{1.0, 2.0}, a = scalar(4.0), y = zeros({2});
  frame.number("key", key).in(x).in(a).out(y);
  auto error = frame.call();
  EXPECT_EQ(y.values, error ? std::vector<double>(2) : (std::vector<double>{4.0, 16.0}));
  return error;
}

void together(std::initializer_list<std::function<void()>> works) {
  std::vector<std::thread> threads;
  for (const auto &work : works) threads.emplace_back(work);
  for (std::thread &thread : threads) thread.join();
}

TEST(Threads, RunOneEntry) {
  const Component square = component("square");
  const Added added(square_id, square);
  const auto work = [] {
    for (int i = 0; i < 2000; i++) ASSERT_TRUE(succeeds(call_square(1)));
  };
  const uint64_t before = calls(square_id, "apply");
  together({work, work, work, work});
  EXPECT_EQ(calls(square_id, "apply"), before + 8000);
  EXPECT_EQ(statistics_of(square).calls, 8000u);
}

TEST(Threads, PrepareManyEntries) {
  const Component square = component("square");
  const Added added(square_id, square);
  const auto work = [] {
    for (uint64_t i = 0; i < 300; i++) ASSERT_TRUE(succeeds(call_square(1000 + i)));
  };
  together({work, work, work});
  EXPECT_EQ(tesseract_jax_prepared(), 300u);
}

// Every call either works or says that the component isn't there, and nothing stays behind.
TEST(Threads, AddAndRemoveWhileOthersRun) {
  std::atomic<bool> done = false;
  std::atomic<int> successes = 0, refusals = 0;
  const auto run = [&] {
    while (!done) {
      const auto error = call_square(2);
      ++(error ? refusals : successes);
      ASSERT_TRUE(!error || fails(error, XLA_FAILED_PRECONDITION, {"square"}));
    }
  };
  const auto change = [&] {
    for (int i = 0; i < 300; i++) {
      Component square = component("square");
      const Added added(square_id, square);
      if (i % 2) square.reset();  // closed first
      std::this_thread::yield();
    }
    done = true;
  };
  together({run, run, change});
  EXPECT_EQ(tesseract_jax_prepared(), 0u);
  const Component square = component("square");
  const Added added(square_id, square);
  EXPECT_TRUE(succeeds(call_square(2)));
}

TEST(Threads, ReplaceWhileOthersRun) {
  std::atomic<bool> done = false;
  Component first = component("square"), second = component("square");
  const Added added(square_id, first);
  const auto run = [&] {
    while (!done) ASSERT_TRUE(succeeds(call_square(3)));
  };
  const auto change = [&] {
    for (int i = 0; i < 300; i++)
      tesseract_jax_add(square_id, TESSERACT_NTS, (i % 2 ? first : second).get());
    done = true;
  };
  together({run, run, change});
  EXPECT_LE(tesseract_jax_prepared(), 1u);
  ASSERT_TRUE(succeeds(call_square(3)));
  EXPECT_EQ(tesseract_jax_prepared(), 1u);
}

TEST(Threads, AddOthersWhileOneRuns) {
  const Component square = component("square");
  const Added added(square_id, square);
  std::atomic<bool> done = false;
  const auto run = [&] {
    while (!done) ASSERT_TRUE(succeeds(call_square(4)));
  };
  const auto change = [&] {
    for (uint64_t i = 0; i < 200; i++) {
      const std::string identity = "square-0-0-" + std::to_string(i);
      const Added other(identity, square);
      ASSERT_TRUE(succeeds(call_square(5 + i, identity.c_str())));
    }
    done = true;
  };
  together({run, run, change});
}

// A component that says when it runs, and waits until it may go on.
class Gate {
 public:
  void pass() {
    inside_++;
    while (!open) std::this_thread::yield();
  }
  void await(int count) const {
    while (inside_ < count) std::this_thread::yield();
  }
  std::atomic<bool> open = false;

 private:
  std::atomic<int> inside_ = 0;
};

// True when the puppet that `made` makes is destroyed by the last call and not before.
TEST(Threads, RemoveUnderARunningCall) {
  Gate gate;
  std::atomic<bool> destroyed = false;
  Puppet puppet;
  static std::atomic<bool> *told;
  told = &destroyed;
  puppet.table.destroy = [](void *) { *told = true; };
  puppet.apply = [&](tesseract_frame *frame) {
    gate.pass();
    EXPECT_FALSE(destroyed);
    return Puppet::copy_first(frame);
  };
  puppet.description = R"({"name": "puppet", "threads": "concurrent",
    "inputs": [{"path": "x", "dtype": "float64", "shape": ["n"]}],
    "outputs": [{"path": "y", "dtype": "float64", "shape": ["n"]}]})";
  Component opened = puppet.opened();
  ASSERT_EQ(tesseract_jax_add(puppet_id, TESSERACT_NTS, opened.get()), TESSERACT_OK);
  const auto call = [] {
    Frame frame(puppet_id, "apply", puppet_apply);
    Doubles x{1.0, 2.0}, y = zeros({2});
    frame.in(x).out(y);
    EXPECT_TRUE(succeeds(frame.call()));
    EXPECT_EQ(y.values, x.values);
  };
  std::thread one(call), two(call);
  gate.await(2);
  EXPECT_EQ(tesseract_jax_running(puppet_id, TESSERACT_NTS), 2u);
  tesseract_jax_remove(puppet_id, TESSERACT_NTS);  // waits for nothing
  EXPECT_EQ(tesseract_jax_running(puppet_id, TESSERACT_NTS), 2u);
  opened.reset();
  EXPECT_FALSE(destroyed);
  Frame late(puppet_id, "apply", puppet_apply);
  Doubles x{1.0}, y{0.0};
  late.in(x).out(y);
  EXPECT_TRUE(fails(late.call(), XLA_FAILED_PRECONDITION, {"puppet"}));
  EXPECT_FALSE(destroyed);
  gate.open = true;
  one.join();
  two.join();
  EXPECT_EQ(tesseract_jax_running(puppet_id, TESSERACT_NTS), 0u);
  EXPECT_TRUE(destroyed);
  EXPECT_EQ(tesseract_jax_prepared(), 0u);
}

TEST(Threads, RemoveAndCloseWhileAnotherPrepares) {
  Gate gate;
  Puppet puppet;
  static Gate *waited;
  waited = &gate;
  static std::atomic<bool> destroyed;
  destroyed = false;
  puppet.table.destroy = [](void *) { destroyed = true; };
  puppet.table.prepare = [](void *, const tesseract_signature *, void **plan, tesseract_frame *) {
    waited->pass();
    EXPECT_FALSE(destroyed);
    *plan = nullptr;
    return TESSERACT_OK;
  };
  puppet.table.forget = [](void *, void *) {};
  Component opened = puppet.opened();
  ASSERT_EQ(tesseract_jax_add(puppet_id, TESSERACT_NTS, opened.get()), TESSERACT_OK);
  std::thread other([] {
    std::string text;
    EXPECT_EQ(prepare(puppet_id, "apply", puppet_apply, 9, &text), TESSERACT_ERROR_NOT_FOUND)
        << text;
  });
  gate.await(1);
  tesseract_jax_remove(puppet_id, TESSERACT_NTS);
  opened.reset();
  gate.open = true;
  other.join();
  EXPECT_TRUE(destroyed);
  EXPECT_EQ(tesseract_jax_prepared(), 0u);
}

// Python's collector may close a component inside any call into Python.
TEST(Threads, RemoveInsidePreparing) {
  Puppet puppet;
  puppet.table.prepare = [](void *, const tesseract_signature *, void **plan, tesseract_frame *) {
    tesseract_jax_remove("square-0-0-0", TESSERACT_NTS);
    *plan = nullptr;
    return TESSERACT_OK;
  };
  puppet.table.forget = [](void *, void *) {};
  const Component opened = puppet.opened(), square = component("square");
  const Added added(puppet_id, opened), other("square-0-0-0", square);
  ASSERT_TRUE(succeeds(call_square(1, "square-0-0-0")));
  EXPECT_EQ(prepare(puppet_id, "apply", puppet_apply, 10), TESSERACT_OK);
  EXPECT_EQ(tesseract_jax_prepared(), 1u);
}

}  // namespace
