// Forked children: the host answers "unavailable" there until a loader knows better, and the parent
// never notices.
#include <sys/wait.h>
#include <tesseract_host/loader.h>
#include <unistd.h>

#include "support.h"

namespace {

using namespace test;

// The exit status of a child that runs `body`, which returns 0 when all is well and else where it
// was not.
template <class Body>
int in_child(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class Fork : public testing::Test {
 protected:
  Component square = component("square");
  Doubles x{1.0, 2.0}, y = zeros({2});
  Leaves inputs;
  Call call;

  void SetUp() override {
    inputs.add("x", x);
    call = std::move(prepare(square, signature(TESSERACT_ENDPOINT_APPLY, inputs)).value);
    ASSERT_TRUE(call);
  }
  void TearDown() override {
    EXPECT_TRUE(usable(square));
    EXPECT_TRUE(succeeds(run(call.get(), {&x.tensor}, {&y.tensor})));
  }
};

TEST_F(Fork, ChildIsRefused) {
  EXPECT_EQ(in_child([&] {
              if (evaluate(square, inputs).status != TESSERACT_ERROR_UNAVAILABLE) return 1;
              if (run(call.get(), {&x.tensor}, {&y.tensor}).status != TESSERACT_ERROR_UNAVAILABLE)
                return 2;
              if (open(library("square")).status != TESSERACT_ERROR_UNAVAILABLE) return 3;
              const auto again = prepare(square, signature(TESSERACT_ENDPOINT_APPLY, inputs));
              if (again.status != TESSERACT_ERROR_UNAVAILABLE) return 4;
              if (evaluate(square, inputs).message().find("fork") == std::string::npos) return 5;
              return 0;
            }),
            0);
}

TEST_F(Fork, WholeChildIsServed) {
  const auto *table = static_cast<const tesseract_fork_table *>(
      tesseract_host_extension(TESSERACT_FORK_ID, TESSERACT_NTS));
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(in_child([&] {
              table->resume();
              if (!usable(square)) return 1;
              if (!run(call.get(), {&x.tensor}, {&y.tensor}).ok()) return 2;
              if (!open(library("square")).ok()) return 3;
              // Its own children are forks again.
              return in_child([&] {
                return evaluate(square, inputs).status == TESSERACT_ERROR_UNAVAILABLE ? 0 : 4;
              });
            }),
            0);
}

TEST_F(Fork, WhatExistsIsReadAndFreedInAChild) {
  auto outcome = evaluate(square, inputs);
  EXPECT_EQ(in_child([&] {
              if (values_of(outcome) != std::vector<double>{1.0, 4.0}) return 1;
              outcome.value.reset();
              call.reset();
              square.reset();
              return 0;
            }),
            0);
}

}  // namespace
