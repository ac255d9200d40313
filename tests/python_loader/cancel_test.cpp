// Modules that ask whether they should stop.
#include <condition_variable>
#include <thread>

#include "component.h"

namespace loader_test {
namespace {

// A handle for the options of calls.
struct Cancel {
  tesseract_cancel *handle = nullptr;
  Cancel() { EXPECT_EQ(tesseract_cancel_create(&handle), TESSERACT_OK); }
  Cancel(const Cancel &) = delete;
  Cancel &operator=(const Cancel &) = delete;
  ~Cancel() { tesseract_cancel_free(handle); }
};

// What a call came to.
struct Outcome {
  Failure failure;
  std::string json;
};

Outcome apply(tesseract_component *component, const std::string &how, const Cancel *cancel) {
  const std::string json = "{\"how\": \"" + how + "\"}";
  tesseract_leaves inputs = TESSERACT_LEAVES_INIT;
  inputs.json = {json.data(), json.size()};
  tesseract_call_options options = TESSERACT_CALL_OPTIONS_INIT;
  if (cancel) options.cancel = cancel->handle;
  tesseract_result *result = nullptr;
  tesseract_error *error = nullptr;
  const int32_t status = tesseract_apply(component, &inputs, nullptr, &options, &result, &error);
  Outcome outcome = {Failure(status, error), result ? tesseract_result_json(result, nullptr) : ""};
  tesseract_result_free(result);
  return outcome;
}

// The module "polls", whose calls print when they have begun.
class Polling {
 public:
  Polling() {
    tesseract_open_options options = TESSERACT_OPEN_OPTIONS_INIT;
    options.log = take;
    options.log_data = this;
    const std::string path = module_path("polls");
    EXPECT_EQ(tesseract_open(path.data(), path.size(), &options, &component_, nullptr),
              TESSERACT_OK);
  }
  Polling(const Polling &) = delete;
  Polling &operator=(const Polling &) = delete;
  ~Polling() { tesseract_close(component_); }

  tesseract_component *get() const { return component_; }

  // A call that is asked to stop when it has begun.
  Outcome interrupted(const std::string &how) {
    const Cancel cancel;
    std::thread asking([this, &cancel] {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return begun_; });
      tesseract_cancel_request(cancel.handle);
    });
    Outcome outcome = apply(component_, how, &cancel);
    asking.join();
    return outcome;
  }

 private:
  static void take(void *self, int32_t, const char *text, uint64_t length) {
    auto *polling = static_cast<Polling *>(self);
    if (std::string(text, length).find("begun") == std::string::npos) return;
    const std::lock_guard lock(polling->mutex_);
    polling->begun_ = true;
    polling->changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool begun_ = false;
  tesseract_component *component_ = nullptr;
};

TEST(Cancelling, ACallThatWasNotAskedGoesOn) {
  const Polling polling;
  const Cancel cancel;
  EXPECT_EQ(apply(polling.get(), "once", &cancel).failure.status, TESSERACT_OK);
  EXPECT_EQ(apply(polling.get(), "once", nullptr).failure.status, TESSERACT_OK);
}

TEST(Cancelling, StopsACallThatRuns) {
  Polling polling;
  const Failure failure = polling.interrupted("endless").failure;
  EXPECT_EQ(failure.status, TESSERACT_ERROR_CANCELLED);
  EXPECT_THAT(failure.traceback, testing::HasSubstr("check_cancelled"));
}

TEST(Cancelling, LeavesOtherCallsAlone) {
  Polling polling;
  const Cancel other;
  polling.interrupted("endless");
  EXPECT_EQ(apply(polling.get(), "once", &other).failure.status, TESSERACT_OK);
  EXPECT_EQ(apply(polling.get(), "once", nullptr).failure.status, TESSERACT_OK);
}

TEST(Cancelling, ConcernsTheThreadOfTheCall) {
  Polling polling;
  const Outcome outcome = polling.interrupted("until asked");
  ASSERT_EQ(outcome.failure.status, TESSERACT_OK) << outcome.failure.message;
  EXPECT_EQ(nlohmann::json::parse(outcome.json).at("in_another_thread"), "False");
}

}  // namespace
}  // namespace loader_test
