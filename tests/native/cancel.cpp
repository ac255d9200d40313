// Cancelling: cooperative, by a handle that any number of calls share.
#include <csignal>
#include <thread>

#include "puppet.h"

namespace {

using namespace test;

// Cancels once the component logs that it runs.
tesseract_open_options on_running(tesseract_cancel *cancel) {
  tesseract_open_options options = TESSERACT_OPEN_OPTIONS_INIT;
  options.log_data = cancel;
  options.log = [](void *data, int32_t, const char *, uint64_t) {
    tesseract_cancel_request(static_cast<tesseract_cancel *>(data));
  };
  return options;
}

tesseract_call_options cancelled_by(const Cancel &cancel) {
  tesseract_call_options options = TESSERACT_CALL_OPTIONS_INIT;
  options.cancel = cancel.get();
  return options;
}

TEST(Cancelling, StopsARunningCall) {
  const Cancel cancel = make_cancel();
  const auto opening = on_running(cancel.get());
  const auto slow = open(library("slow"), &opening);
  const auto options = cancelled_by(cancel);
  EXPECT_TRUE(fails(evaluate(slow.value, nullptr, nullptr, &options), TESSERACT_ERROR_CANCELLED,
                    {"slow", "apply", "stopped on request"}));
}

TEST(Cancelling, FromAnotherThread) {
  const Cancel cancel = make_cancel();
  const auto slow = component("slow");
  const auto options = cancelled_by(cancel);
  std::thread other([&] { tesseract_cancel_request(cancel.get()); });
  EXPECT_TRUE(fails(evaluate(slow, nullptr, nullptr, &options), TESSERACT_ERROR_CANCELLED));
  other.join();
}

TEST(Cancelling, BeforeTheCall) {
  const Cancel cancel = make_cancel();
  tesseract_cancel_request(cancel.get());
  const auto slow = component("slow");
  const auto options = cancelled_by(cancel);
  EXPECT_TRUE(fails(evaluate(slow, nullptr, nullptr, &options), TESSERACT_ERROR_CANCELLED));
  EXPECT_TRUE(fails(evaluate(slow, nullptr, nullptr, &options), TESSERACT_ERROR_CANCELLED))
      << "now or later";
}

TEST(Cancelling, ReachesEveryCallOfTheHandle) {
  const Cancel cancel = make_cancel();
  const auto slow = component("slow");
  const auto options = cancelled_by(cancel);
  std::vector<std::thread> threads;
  std::vector<int32_t> statuses(3, -1);
  for (auto &status : statuses)
    threads.emplace_back([&] { status = evaluate(slow, nullptr, nullptr, &options).status; });
  tesseract_cancel_request(cancel.get());
  for (auto &thread : threads) thread.join();
  EXPECT_EQ(statuses, std::vector<int32_t>(3, TESSERACT_ERROR_CANCELLED));
}

TEST(Cancelling, OfAPreparedRun) {
  const Cancel cancel = make_cancel();
  const auto slow = component("slow");
  const auto call = prepare(slow, signature(TESSERACT_ENDPOINT_APPLY, nullptr));
  ASSERT_TRUE(succeeds(call));
  tesseract_cancel_request(cancel.get());
  const auto options = cancelled_by(cancel);
  Array<int64_t> steps({}, {0});
  EXPECT_TRUE(fails(run(call.get(), {}, {&steps.tensor}, &options), TESSERACT_ERROR_CANCELLED,
                    {"slow", "apply"}));
}

TEST(Cancelling, ACallThatCompletesIsOk) {
  const Cancel cancel = make_cancel();
  Puppet puppet;
  puppet.apply = [&](tesseract_frame *frame) {
    EXPECT_EQ(frame->host->cancelled(frame), 0);
    tesseract_cancel_request(cancel.get());
    EXPECT_EQ(frame->host->cancelled(frame), 1);
    return Puppet::copy_first(frame);
  };
  const auto opened = puppet.opened();
  const auto options = cancelled_by(cancel);
  Doubles x{1.0};
  Leaves inputs;
  EXPECT_TRUE(succeeds(evaluate(opened, inputs.add("x", x), nullptr, &options)));
}

TEST(Cancelling, WithoutAHandleIsNeverAsked) {
  Puppet puppet;
  puppet.apply = [](tesseract_frame *frame) {
    EXPECT_EQ(frame->host->cancelled(frame), 0);
    return Puppet::copy_first(frame);
  };
  EXPECT_TRUE(identity_works(puppet.opened()));
}

Cancel in_signal;

TEST(Cancelling, InASignalHandler) {
  in_signal = make_cancel();
  const auto previous =
      std::signal(SIGUSR1, [](int) { tesseract_cancel_request(in_signal.get()); });
  Puppet puppet;
  puppet.apply = [](tesseract_frame *frame) {
    std::raise(SIGUSR1);
    return frame->host->cancelled(frame) ? TESSERACT_ERROR_CANCELLED : TESSERACT_OK;
  };
  const auto opened = puppet.opened();
  const auto options = cancelled_by(in_signal);
  Doubles x{1.0};
  Leaves inputs;
  EXPECT_TRUE(fails(evaluate(opened, inputs.add("x", x), nullptr, &options),
                    TESSERACT_ERROR_CANCELLED, {"puppet"}));
  std::signal(SIGUSR1, previous);
  in_signal.reset();
}

TEST(Cancelling, ArgumentsMayBeNullWhereAllowed) {
  EXPECT_EQ(tesseract_cancel_create(nullptr), TESSERACT_ERROR_INVALID_ARGUMENT);
  tesseract_cancel_free(nullptr);
}

TEST(Cancelling, AnsweredWithoutAnyRequestIsTheComponentsStatus) {
  Puppet puppet;
  puppet.apply = [](auto) { return TESSERACT_ERROR_CANCELLED; };
  const auto opened = puppet.opened();
  Doubles x{1.0};
  Leaves inputs;
  EXPECT_TRUE(fails(evaluate(opened, inputs.add("x", x)), TESSERACT_ERROR_CANCELLED, {"puppet"}));
}

}  // namespace
