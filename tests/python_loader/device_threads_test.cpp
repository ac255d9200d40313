// Arrays in device memory and threads: nothing waits with a lock held, streams are their callers'.
#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "device.h"

namespace loader_test {
namespace {

// Work on devices is done by a thread that needs the GIL, and another component's lock, in between.
class Pumped {
 public:
  Pumped()
      : component_("devices", kDirect),
        call_(component_, TESSERACT_ENDPOINT_APPLY, {{"x", false}}, {{"y", false}}, {},
              way("host")) {}
  void start() {
    fake_cuda_set("mode", 2);
    thread_ = std::thread([this] {
      double x[4] = {1, 2, 3, 4};
      int64_t shape[1] = {4};
      DLTensor tensor = tesseract_float64(x, 1, shape);
      while (!ended_) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        EXPECT_EQ(call_.run({&tensor}, {}, 0), TESSERACT_OK) << call_.failure.message;
        fake_cuda_pump_all();
      }
    });
  }
  void stop() {
    fake_cuda_set("mode", 1);
    ended_ = true;
    thread_.join();
  }

 private:
  Component component_;
  DeviceCall call_;
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

TEST_F(Devices, AreWaitedForWithoutLocks) {
  for (const std::string &options :
       {kDirect, std::string(R"({"gpu_transport": "cuda_ipc", "debug_views": true})"),
        std::string("{}"), std::string(R"({"gpu_transport": "cuda_ipc", "threads": "owner"})")}) {
    const Component component("devices", options);
    ASSERT_EQ(component.opened.status, TESSERACT_OK) << component.opened.message;
    const OnDevice x(kX), wide({1.0, 9.0, 2.0, 9.0, 3.0, 9.0, 4.0});
    DLTensor strided = wide.tensor;
    int64_t shape[1] = {4}, strides[1] = {2};
    strided.shape = shape;
    strided.strides = strides;
    Pumped pumped;
    pumped.start();
    for (const char *name : {"device", "host", "pinned"}) {
      DeviceCall device(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y"}}, {}, way(name));
      DeviceCall host(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y", false}}, {}, way(name));
      OnDevice y(kX);
      EXPECT_EQ(device.run({&x.tensor}, {&y.tensor}), TESSERACT_OK) << device.failure.message;
      EXPECT_EQ(host.run({&strided}), TESSERACT_OK) << host.failure.message;
    }
    pumped.stop();
  }
}

TEST_F(Devices, ManyThreadsRunTheSameCallOnStreamsOfTheirOwn) {
  for (const std::string &options : {kDirect, std::string("{}"), kOrdered}) {
    const Component component("devices", options);
    DeviceCall call(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y"}}, {}, way("stream"));
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
      threads.emplace_back([&, t] {
        void *stream = nullptr;
        {
          const Current context;
          ASSERT_EQ(cuStreamCreate(&stream, 1), 0);
        }
        const double f = t + 1.0;
        const OnDevice x({f, 2 * f, 3 * f, 4 * f});
        OnDevice y(kX);
        for (int i = 0; i < 30; i++) {
          ASSERT_EQ(call.run_bare({&x.tensor}, {&y.tensor}, reinterpret_cast<uint64_t>(stream)), 0);
          fake_cuda_pump_all();
          EXPECT_EQ(y.values(), (Vector{2 * f, 4 * f, 6 * f, 8 * f})) << options;
        }
      });
    for (auto &t : threads) t.join();
  }
}

TEST_F(Devices, FollowThePerThreadStreamOfTheCallerOnAThreadOfTheModulesOwn) {
  constexpr uint64_t kPerThread = 2;
  void *const stream = reinterpret_cast<void *>(kPerThread);
  for (const char *options :
       {R"({"gpu_transport": "cuda_ipc", "threads": "owner"})", R"({"threads": "owner"})",
        R"({"gpu_transport": "cuda_ipc", "threads": "owner", "stream_ordered": true})"}) {
    const Component component("devices", options);
    ASSERT_EQ(component.opened.status, TESSERACT_OK) << component.opened.message;
    for (const char *name : {"call's stream", "stream", "host"}) {
      const std::string given = options;
      const bool is_ordered = given.find("stream_ordered") != std::string::npos;
      if (is_ordered != (name == std::string("call's stream"))) continue;
      const OnDevice x(kX);
      OnDevice source(kX), y(kX), last(kX);
      DeviceCall call(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y"}}, {}, way(name));
      for (int i = 0; i < 3; i++) {
        const Current current;
        ASSERT_EQ(fake_cuda_launch_scale(stream, x.pointer(), source.pointer(), 4, 1.0), 0);
        ASSERT_EQ(call.run({&x.tensor}, {&y.tensor}, kPerThread), TESSERACT_OK)
            << call.failure.message;
        ASSERT_EQ(fake_cuda_launch_scale(stream, last.pointer(), y.pointer(), 4, 1.0), 0);
        fake_cuda_pump_all();
        EXPECT_EQ(last.values(), kDoubled) << options << " " << name;
      }
    }
  }
}

TEST_F(Devices, ResultsOutliveTheComponent) {
  const OnDevice x(kX);
  for (const char *name : {"device", "host", "input", "stream", "dlpack"}) {
    DLManagedTensorVersioned *taken = nullptr;
    {
      const Component component("devices", kDirect);
      DeviceCall call(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y"}}, {}, way(name));
      for (int i = 0; i < 3; i++) ASSERT_EQ(call.run({&x.tensor}), TESSERACT_OK);
      ASSERT_EQ(tesseract_result_take(call.result(), 0, &taken), TESSERACT_OK);
    }
    fake_cuda_pump_all();
    double found[4] = {};
    EXPECT_EQ(fake_cuda_read(reinterpret_cast<uint64_t>(taken->dl_tensor.data), found, 32), 0);
    EXPECT_EQ(found[3], std::string(name) == "input" || std::string(name) == "dlpack" ? 4 : 8);
    std::thread([&] { taken->deleter(taken); }).join();
  }
}

}  // namespace
}  // namespace loader_test
