// Machines without a usable driver, and drivers that are lost.  Each test runs in a child process:
// what a process has found once stays so.
#include <csignal>
#include <cstdlib>

#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

namespace {

using namespace test;

// Runs `body` in a child; true if it expected nothing in vain there.
template <typename Body>
void in_child(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "see above; status " << status;
}

struct Call1 {
  Puppet puppet;
  Component component;
  double memory[3]{1.0, 2.0, 3.0};
  int64_t shape = 3;
  DLTensor x = tesseract_float64(memory, 1, &shape);
  tesseract_call_options options = TESSERACT_CALL_OPTIONS_INIT;

  explicit Call1(const std::string &properties) {
    puppet.apply = double_on_host;
    puppet.description = description_with(properties);
    component = puppet.opened();
    options.stream = 1;
  }
  Outcome<Result> on_device() {
    x.device = {kDLCUDA, 0};
    Leaves inputs;
    return evaluate(component, inputs.add("x", &x), nullptr, &options);
  }
  Outcome<Result> on_host() {
    x.device = {kDLCPU, 0};
    Leaves inputs;
    return evaluate(component, inputs.add("x", &x), nullptr, nullptr);
  }
};

void expect_unavailable(std::initializer_list<std::string_view> texts) {
  for (const std::string &properties : {std::string(), on_cuda}) {
    Call1 call(properties);
    const auto outcome = call.on_device();
    EXPECT_TRUE(fails(outcome, TESSERACT_ERROR_UNAVAILABLE, {"puppet", "\"x\"", "CUDA"}));
    for (const auto text : texts)
      EXPECT_NE(outcome.message().find(text), std::string::npos) << outcome.message();
    EXPECT_TRUE(succeeds(call.on_host()));
  }
  const auto *table = static_cast<const tesseract_device_table *>(
      tesseract_host_extension(TESSERACT_DEVICE_ID, TESSERACT_NTS));
  tesseract_error *error = nullptr;
  EXPECT_EQ(table->available(&error), TESSERACT_ERROR_UNAVAILABLE);
  tesseract_error_free(error);
}

TEST(Driver, IsNotThere) {
  in_child([] {
    setenv("TESSERACT_HOST_CUDA_DRIVER", "libno-such-driver.so.1", 1);
    expect_unavailable({"libno-such-driver.so.1"});
  });
}

TEST(Driver, IsSomethingElse) {
  in_child([] {
    setenv("TESSERACT_HOST_CUDA_DRIVER", "libm.so.6", 1);
    expect_unavailable({"too old", "cuInit"});
  });
}

TEST(Driver, IsTooOld) {
  in_child([] {
    fake_cuda_set("driver_version", 10020);
    expect_unavailable({"too old", "10.2", "11.0"});
  });
}

// What cuGetProcAddress doesn't know is looked up by its name in the library.
TEST(Driver, KnowsNoFunctionsOfThatVersion) {
  in_child([] {
    fake_cuda_hide("cuCtxPushCurrent");
    const auto *table = static_cast<const tesseract_device_table *>(
        tesseract_host_extension(TESSERACT_DEVICE_ID, TESSERACT_NTS));
    EXPECT_EQ(table->available(nullptr), TESSERACT_OK);
  });
}

TEST(Driver, HasNoDevice) {
  in_child([] {
    fake_cuda_set("devices", 0);
    expect_unavailable({"no device"});
  });
}

TEST(Driver, DoesNotStart) {
  in_child([] {
    fake_cuda_set("init_result", 802);
    expect_unavailable({"does not start"});
  });
}

TEST(Driver, IsLostInAForkedChild) {
  in_child([] {
    Call1 call("");
    {
      const Current context;
    }
    const auto *table = static_cast<const tesseract_device_table *>(
        tesseract_host_extension(TESSERACT_DEVICE_ID, TESSERACT_NTS));
    EXPECT_EQ(table->available(nullptr), TESSERACT_OK);
    in_child([&] {
      tesseract_error *error = nullptr;
      EXPECT_EQ(table->available(&error), TESSERACT_ERROR_UNAVAILABLE);
      EXPECT_NE(std::string(tesseract_error_message(error, nullptr)).find("forked"),
                std::string::npos);
      tesseract_error_free(error);
    });
  });
}

TEST(Driver, AStickyErrorIsToldInLaterCalls) {
  in_child([] {
    Puppet puppet;
    puppet.apply = double_on_host;
    puppet.description = description_with("");
    const Component component = puppet.opened();
    DeviceArray x{1.0, 2.0, 3.0}, y{0.0, 0.0, 0.0};
    Stream stream;
    Leaves inputs, of;
    inputs.add("x", &x.tensor);
    of.add("y", &y.tensor);
    ASSERT_TRUE(succeeds(evaluate(component, inputs, of, &stream.options)));
    stream.wait();
    fake_cuda_stick(0, 700);
    EXPECT_TRUE(fails(evaluate(component, inputs, of, &stream.options), TESSERACT_ERROR_DEVICE,
                      {"CUDA_ERROR_ILLEGAL_ADDRESS", "until the process ends"}));
    EXPECT_TRUE(fails(evaluate(component, inputs, of, &stream.options), TESSERACT_ERROR_UNAVAILABLE,
                      {"CUDA_ERROR_ILLEGAL_ADDRESS", "until the process ends"}));
    _exit(testing::Test::HasFailure() ? 1 : 0);  // the arrays can't be freed any more
  });
}

TEST(Driver, PageLockedMemoryIsBounded) {
  in_child([] {
    setenv("TESSERACT_HOST_PINNED_LIMIT", "16384", 1);
    Puppet puppet;
    puppet.apply = double_on_host;
    puppet.description = description_with("");
    const Component component = puppet.opened();
    for (const int64_t n : {100, 1000, 10000, 300, 5000}) {
      DeviceArray x({n}, std::vector<double>(static_cast<size_t>(n), 1.0));
      DeviceArray y({n}, std::vector<double>(static_cast<size_t>(n), 0.0));
      Stream stream;
      Leaves inputs, of;
      inputs.add("x", &x.tensor);
      ASSERT_TRUE(succeeds(evaluate(component, inputs, of.add("y", &y.tensor), &stream.options)));
      stream.wait();
      EXPECT_EQ(y.read(), std::vector<double>(static_cast<size_t>(n), 2.0));
      EXPECT_LE(state().host_bytes, 16384);
    }
    EXPECT_GT(state().host_bytes, 0);
    EXPECT_EQ(faults(), "");
  });
}

}  // namespace
