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

Failure apply(tesseract_component *component, const std::string &how, const Cancel *cancel) {
  const std::string json = "{\"how\": \"" + how + "\"}";
  tesseract_leaves inputs = TESSERACT_LEAVES_INIT;
  inputs.json = {json.data(), json.size()};
  tesseract_call_options options = TESSERACT_CALL_OPTIONS_INIT;
  if (cancel) options.cancel = cancel->handle;
  tesseract_result *result = nullptr;
  tesseract_error *error = nullptr;
  const int32_t status = tesseract_apply(component, &inputs, nullptr, &options, &result, &error);
  tesseract_result_free(result);
  return Failure(status, error);
}

TEST(Cancelling, ACallThatWasNotAskedGoesOn) {
  const Component component("polls");
  ASSERT_EQ(component.opened.status, TESSERACT_OK) << component.opened.message;
  const Cancel cancel;
  EXPECT_EQ(apply(component.get(), "once", &cancel).status, TESSERACT_OK);
  EXPECT_EQ(apply(component.get(), "once", nullptr).status, TESSERACT_OK);
}

TEST(Cancelling, StopsACallAndLeavesOthersAlone) {
  const Component component("polls");
  const Cancel cancel, other;
  tesseract_cancel_request(cancel.handle);
  const Failure failure = apply(component.get(), "endless", &cancel);
  EXPECT_EQ(failure.status, TESSERACT_ERROR_CANCELLED);
  EXPECT_THAT(failure.traceback, testing::HasSubstr("check_cancelled"));
  EXPECT_EQ(apply(component.get(), "once", &other).status, TESSERACT_OK);
  EXPECT_EQ(apply(component.get(), "once", nullptr).status, TESSERACT_OK);
}

// Tells when the module has begun: it prints then.
struct Begun {
  std::mutex mutex;
  std::condition_variable changed;
  bool yes = false;

  static void take(void *self, int32_t, const char *text, uint64_t length) {
    auto *begun = static_cast<Begun *>(self);
    if (std::string(text, length).find("begun") == std::string::npos) return;
    const std::lock_guard lock(begun->mutex);
    begun->yes = true;
    begun->changed.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return yes; });
  }
};

TEST(Cancelling, StopsACallThatRuns) {
  Begun begun;
  tesseract_open_options options = TESSERACT_OPEN_OPTIONS_INIT;
  options.log = Begun::take;
  options.log_data = &begun;
  tesseract_component *component = nullptr;
  const std::string path = module_path("polls");
  ASSERT_EQ(tesseract_open(path.data(), path.size(), &options, &component, nullptr), TESSERACT_OK);
  const Cancel cancel;
  std::thread caller([component, &cancel] {
    EXPECT_EQ(apply(component, "endless", &cancel).status, TESSERACT_ERROR_CANCELLED);
  });
  begun.wait();
  tesseract_cancel_request(cancel.handle);
  caller.join();
  tesseract_close(component);
}

TEST(Cancelling, ConcernsTheThreadOfTheCall) {
  const Component component("polls");
  const Cancel cancel;
  tesseract_cancel_request(cancel.handle);
  const Failure failure = apply(component.get(), "thread", &cancel);
  EXPECT_EQ(failure.status, TESSERACT_OK) << failure.message;
}

}  // namespace
}  // namespace loader_test
