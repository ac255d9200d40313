// Calls within calls, from Python code that holds the GIL and from log callbacks; and components
// with a thread of their own.  What would wait for ever here is stopped by the test's time limit.
#include <atomic>
#include <cfenv>
#include <functional>
#include <thread>

#include "component.h"

namespace loader_test {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

constexpr const char *kOwner = R"({"threads": "owner"})";

// What the module calls in its calls.
using Function = std::function<int32_t()>;

int32_t run(void *function) {
  return (*static_cast<Function *>(function))();
}

// Inputs of the module "nests".
Inputs calling(Function &function, double pause = 0.0) {
  const Json json = {{"function", reinterpret_cast<uintptr_t>(run)},
                     {"data", reinterpret_cast<uintptr_t>(&function)},
                     {"pause", pause}};
  return {{}, json.dump()};
}

Inputs pausing(double seconds) {
  return {{}, Json{{"pause", seconds}}.dump()};
}

// Applies a component and hands on the status of what it called.
int32_t status_of(const Component &component, const Inputs &inputs) {
  const Application application(component, inputs);
  if (application.failure.status != TESSERACT_OK) return application.failure.status;
  return application.values().at("status");
}

template <typename Body>
void together(int count, Body body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; i++) threads.emplace_back([&body, i] { body(i); });
  for (std::thread &thread : threads) thread.join();
}

// The inner component is serial and busy: it is waited for by a thread whose Python code holds the
// GIL, which the one inside needs to get out.
TEST(Nesting, WaitsForALockWithoutTheGil) {
  for (const char *options : {"{}", kOwner}) {
    const Component inner("nests", options), outer("nests", R"({"threads": "concurrent"})");
    ASSERT_EQ(inner.opened.status, TESSERACT_OK) << inner.opened.message;
    std::atomic<int> wrong{0};
    together(4, [&](int i) {
      Function call_inner = [&] { return status_of(inner, pausing(1e-4)); };
      for (int k = 0; k < 25; k++)
        wrong += status_of(i % 2 ? outer : inner, i % 2 ? calling(call_inner) : pausing(1e-4)) != 0;
    });
    EXPECT_EQ(wrong, 0) << options;
  }
}

// A log callback that calls a component that is busy.
TEST(Nesting, LogCallbacksMayCall) {
  struct Logging {
    const Component inner{"nests"};
    std::atomic<int> lines{0}, wrong{0};
    static void take(void *self, int32_t, const char *, uint64_t) {
      auto *logging = static_cast<Logging *>(self);
      logging->lines++;
      logging->wrong += status_of(logging->inner, pausing(1e-4)) != 0;
    }
  } logging;
  for (const std::string options : {"{}", kOwner}) {
    tesseract_open_options given = TESSERACT_OPEN_OPTIONS_INIT;
    given.json = {options.data(), options.size()};
    given.log = Logging::take;
    given.log_data = &logging;
    const std::string path = module_path("nests");
    tesseract_component *opened = nullptr;
    ASSERT_EQ(tesseract_open(path.data(), path.size(), &given, &opened, nullptr), TESSERACT_OK);
    const std::string line = R"({"line": "here"})";
    tesseract_leaves inputs = TESSERACT_LEAVES_INIT;
    inputs.json = {line.data(), line.size()};
    together(3, [&](int i) {
      for (int k = 0; k < 20; k++) {
        tesseract_result *result = nullptr;
        logging.wrong += (i ? tesseract_apply(opened, &inputs, nullptr, nullptr, &result, nullptr)
                            : status_of(logging.inner, pausing(1e-4))) != 0;
        tesseract_result_free(result);
      }
    });
    tesseract_close(opened);
  }
  EXPECT_EQ(logging.lines, 80);
  EXPECT_EQ(logging.wrong, 0);
}

TEST(Nesting, AModuleMayCallItself) {
  for (const char *options : {"{}", kOwner, R"({"threads": "concurrent"})"}) {
    const Component component("nests", options);
    Function again = [&] { return status_of(component, pausing(0.0)); };
    EXPECT_EQ(status_of(component, calling(again)), 0) << options;
    Function deeper = [&] { return status_of(component, calling(again)); };
    EXPECT_EQ(status_of(component, calling(deeper)), 0) << options;
  }
}

TEST(Nesting, ModulesMayCallEachOtherInACircle) {
  for (const auto &[first, second] : {std::pair(kOwner, kOwner), {kOwner, "{}"}, {"{}", kOwner}}) {
    const Component one("nests", first), two("nests", second);
    Function to_one = [&] { return status_of(one, pausing(0.0)); };
    Function to_two = [&] { return status_of(two, calling(to_one)); };
    EXPECT_EQ(status_of(one, calling(to_two)), 0) << first << second;
  }
}

TEST(Owner, LoadsAndCallsOnOneThread) {
  const Component component("nests", kOwner), another("nests", kOwner);
  std::mutex mutex;
  std::vector<std::pair<Json, Json>> seen;
  together(4, [&](int i) {
    const Application application(i % 2 ? another : component, pausing(0.0));
    const Json values = application.values();
    const std::lock_guard lock(mutex);
    seen.emplace_back(values.at("loaded_on"), values.at("called_on"));
  });
  for (const auto &[loaded, called] : seen) EXPECT_EQ(loaded, called);
  const auto thread_of = [](const Component &of) {
    return Application(of, pausing(0.0)).values().at("called_on");
  };
  EXPECT_NE(thread_of(component), thread_of(another));
  EXPECT_NE(thread_of(component), thread_of(Component("nests")));
}

TEST(Owner, TellsWhatWentWrongAndGoesOn) {
  const Component missing("broken/raises.py", kOwner);
  EXPECT_EQ(missing.opened.status, TESSERACT_ERROR_COMPONENT);
  EXPECT_THAT(missing.opened.traceback, HasSubstr("no licence found"));
  Component component("nests", kOwner);
  const Application failed(component, {{}, R"({"fail": "the mesh is tangled"})"});
  EXPECT_EQ(failed.failure.status, TESSERACT_ERROR_COMPONENT);
  EXPECT_THAT(failed.failure.traceback, HasSubstr("raise RuntimeError(inputs.fail)"));
  EXPECT_EQ(status_of(component, {{}, R"({"line": "a word"})"}), 0);
  EXPECT_THAT(component.log.lines, HasSubstr("a word"));
}

TEST(Owner, IsCancelled) {
  const Component component("nests", kOwner);
  tesseract_cancel *cancel = nullptr;
  ASSERT_EQ(tesseract_cancel_create(&cancel), TESSERACT_OK);
  tesseract_call_options options = TESSERACT_CALL_OPTIONS_INIT;
  options.cancel = cancel;
  const std::string json = R"({"until_cancelled": true})";
  tesseract_leaves inputs = TESSERACT_LEAVES_INIT;
  inputs.json = {json.data(), json.size()};
  std::thread asking([cancel] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    tesseract_cancel_request(cancel);
  });
  tesseract_result *result = nullptr;
  EXPECT_EQ(tesseract_apply(component.get(), &inputs, nullptr, &options, &result, nullptr),
            TESSERACT_ERROR_CANCELLED);
  asking.join();
  tesseract_cancel_free(cancel);
}

TEST(Owner, ComputesInTheDefaultEnvironment) {
  const Component component("threads", kOwner);
  std::feraiseexcept(FE_DIVBYZERO);
  feenableexcept(FE_OVERFLOW | FE_INVALID);
  const Application application(component, {{1.0, 2.0}});
  const int traps = fegetexcept(), raised = std::fetestexcept(FE_ALL_EXCEPT);
  fedisableexcept(FE_ALL_EXCEPT);
  std::feclearexcept(FE_ALL_EXCEPT);
  ASSERT_EQ(application.failure.status, TESSERACT_OK) << application.failure.message;
  EXPECT_EQ(application.values().at("warnings"), 0);
  EXPECT_EQ(traps, FE_OVERFLOW | FE_INVALID);
  EXPECT_EQ(raised, FE_DIVBYZERO);
}

}  // namespace
}  // namespace loader_test
