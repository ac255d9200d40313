// Calls from threads that Python does not know, and from one that holds the GIL.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "component.h"

namespace loader_test {
namespace {

TEST(Threads, ManyMayCallOneComponent) {
  const Component component("threads");
  ASSERT_EQ(component.opened.status, TESSERACT_OK) << component.opened.message;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; i++) {
    threads.emplace_back([&component, &wrong, i] {
      for (int k = 0; k < 50; k++) {
        const double x = i * 1000.0 + k;
        const Application application(component, {{x, -x}});
        wrong += application.output() != std::vector<double>{x / 2.0, -x / 2.0};
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, KeepTheirPythonState) {
  const Component component("threads");
  const auto call_three_times = [&component] {
    for (int k = 1; k <= 3; k++) {
      const Application application(component, {{1.0}});
      EXPECT_EQ(application.values().at("calls_of_this_thread"), k);
    }
  };
  std::thread(call_three_times).join();
  std::thread(call_three_times).join();
}

// Bytes of memory in use.
int64_t resident() {
  int64_t all = 0, pages = 0;
  std::ifstream("/proc/self/statm") >> all >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

// What a thread leaves behind, 16 KiB and more, is freed by later ones.
TEST(Threads, MayEndByTheThousandWithoutLeavingAnything) {
  const Component component("threads");
  const auto run_threads = [&component](int count) {
    for (int i = 0; i < count; i++) {
      std::thread([&component, i] {
        const Application application(component, {{double(i)}});
        EXPECT_EQ(application.output(), std::vector<double>{i / 2.0});
        EXPECT_EQ(application.values().at("calls_of_this_thread"), 1);
      }).join();
    }
  };
  run_threads(100);
  [[maybe_unused]] const int64_t before = resident();
  run_threads(1000);
#ifndef __SANITIZE_ADDRESS__  // which keeps freed memory for a while
  EXPECT_LT(resident() - before, 4 << 20);
#endif
}

TEST(Threads, MayOpenAtOnce) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++) {
    threads.emplace_back([&wrong] {
      const Component component("scale");
      wrong += Application(component, {{3.0}}).output() != std::vector<double>{18.0};
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// Both are inside at once: each waits, without the GIL, until the other is.
TEST(Threads, TwoComponentsRunAtOnce) {
  for (const char *options : {"{}", R"({"threads": "owner"})"}) {
    const Component one("meets", options), two("meets", options);
    int to_one[2], to_two[2];
    ASSERT_EQ(pipe(to_one) + pipe(to_two), 0);
    const auto meets = [](const Component &component, int tell, int hear) {
      const nlohmann::json json = {{"tell", tell}, {"hear", hear}};
      return Application(component, {{}, json.dump()}).values().at("met") == true;
    };
    bool first = false;
    std::thread other([&] { first = meets(one, to_two[1], to_one[0]); });
    EXPECT_TRUE(meets(two, to_one[1], to_two[0])) << options;
    other.join();
    EXPECT_TRUE(first) << options;
    for (const int end : {to_one[0], to_one[1], to_two[0], to_two[1]}) close(end);
  }
}

// Python's functions, found as an extension module finds them.
template <typename Function>
Function python(const char *name) {
  const auto function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  EXPECT_NE(function, nullptr) << name;
  return function;
}

// The module gives up the GIL inside the call; who takes it there waits for the call to end.
TEST(Threads, HolderOfTheGilMayCallAndWait) {
  const Component component("threads");
  const auto ensure = python<int (*)()>("PyGILState_Ensure");
  const auto release = python<void (*)(int)>("PyGILState_Release");
  const auto check = python<int (*)()>("PyGILState_Check");
  ASSERT_TRUE(ensure && release && check);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 50; k++) {
        const int state = i % 2 ? ensure() : 0;
        const Application application(component, {{2.0}, R"({"pause": 1e-4})"});
        wrong += application.output() != std::vector<double>{1.0};
        if (i % 2) {
          wrong += !check();
          release(state);
        }
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace loader_test
