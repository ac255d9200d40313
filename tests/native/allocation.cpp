// A prepared run of a concurrent component neither allocates nor locks when every output has a
// destination and nothing is converted.
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

#include "interpose.h"
#include "puppet.h"

namespace {

using namespace test;

template <class Work>
interposed_counts counted(Work work) {
  interposed_start();
  work();
  return interposed_stop();
}

// What a thousand runs ask for, after one that warms up.
interposed_counts of_runs(const tesseract_call *call, const std::vector<const DLTensor *> &in,
                          const std::vector<DLTensor *> &out, Options options = nullptr) {
  int failures = 0;
  const auto once = [&] {
    tesseract_error *error = nullptr;
    if (tesseract_call_run(call, in.data(), out.data(), options, nullptr, &error)) failures++;
  };
  once();
  const auto counts = counted([&] {
    for (int i = 0; i < 1000; i++) once();
  });
  EXPECT_EQ(failures, 0);
  return counts;
}

void expect_none(const interposed_counts &counts) {
  EXPECT_EQ(counts.allocations, 0);
  EXPECT_EQ(counts.locks, 0);
}

// ---- The counting itself ------------------------------------------------------------------------

TEST(Interposing, SeesTheAllocator) {
  EXPECT_GE(counted([] { free(malloc(10)); }).allocations, 2);
  EXPECT_GE(counted([] { std::make_unique<std::vector<int>>(100); }).allocations, 4);
  void *memory = nullptr;
  EXPECT_GE(counted([&] { EXPECT_EQ(posix_memalign(&memory, 64, 64), 0); }).allocations, 1);
  free(memory);
}

TEST(Interposing, SeesLocks) {
  std::mutex mutex;
  EXPECT_EQ(counted([&] { const std::lock_guard lock(mutex); }).locks, 2);
  std::atomic<int> value = 0;
  EXPECT_EQ(counted([&] { (void)value.load(); }).locks, 0);
}

TEST(Interposing, SeesTheHost) {
  const auto square = component("square");
  Doubles x{1.0};
  Leaves inputs;
  inputs.add("x", x);
  const auto call = prepare(square, signature(TESSERACT_ENDPOINT_APPLY, inputs));
  EXPECT_GT(counted([&] { run_for_result(call.get(), {&x.tensor}, {nullptr}); }).allocations, 0);
}

// ---- Runs ---------------------------------------------------------------------------------------

class Runs : public testing::Test {
 protected:
  Component square = component("square");
  Doubles x{1.0, 2.0, 3.0}, a = scalar(2.0), y = zeros({3});

  Call prepared(int32_t endpoint, const Leaves &inputs, Wanted of = nullptr, Wanted wrt = nullptr) {
    return std::move(prepare(square, signature(endpoint, inputs, of, wrt)).value);
  }
};

TEST_F(Runs, OfApply) {
  const Call call = prepared(TESSERACT_ENDPOINT_APPLY, Leaves{"x", "a"});
  expect_none(of_runs(call.get(), {&x.tensor, &a.tensor}, {&y.tensor}));
  EXPECT_EQ(y.values, (std::vector<double>{2.0, 8.0, 18.0}));
}

TEST_F(Runs, WithWrittenStrides) {
  x.stride({1});
  y.stride({1});
  const Call call = prepared(TESSERACT_ENDPOINT_APPLY, Leaves{"x", "a"});
  expect_none(of_runs(call.get(), {&x.tensor, &a.tensor}, {&y.tensor}));
}

TEST_F(Runs, WithDefaultsAndJson) {
  Leaves json;
  const Call defaults = prepared(TESSERACT_ENDPOINT_APPLY, Leaves{"x"});
  expect_none(of_runs(defaults.get(), {&x.tensor}, {&y.tensor}));
  const Call given = prepared(TESSERACT_ENDPOINT_APPLY, json.add("x").json(R"({"a": 3})"));
  expect_none(of_runs(given.get(), {&x.tensor}, {&y.tensor}));
  EXPECT_EQ(y.values[1], 12.0);
}

TEST_F(Runs, WithAByteOffset) {
  std::vector<double> padded{0.0, 1.0, 2.0, 3.0};
  x.tensor.data = padded.data();
  x.tensor.byte_offset = sizeof(double);
  const Call call = prepared(TESSERACT_ENDPOINT_APPLY, Leaves{"x", "a"});
  expect_none(of_runs(call.get(), {&x.tensor, &a.tensor}, {&y.tensor}));
  EXPECT_EQ(y.values, (std::vector<double>{2.0, 8.0, 18.0}));
}

TEST_F(Runs, OfAnotherSizeEachTime) {
  const Call call = prepared(TESSERACT_ENDPOINT_APPLY, Leaves{"x"});
  const DLTensor *in[] = {&x.tensor};
  DLTensor *out[] = {&y.tensor};
  tesseract_call_run(call.get(), in, out, nullptr, nullptr, nullptr);
  expect_none(counted([&] {
    for (int64_t i = 0; i < 1000; i++) {
      x.shape[0] = y.shape[0] = i % 4;
      tesseract_call_run(call.get(), in, out, nullptr, nullptr, nullptr);
    }
  }));
}

TEST_F(Runs, WithOptions) {
  const Cancel cancel = make_cancel();
  const tesseract_owner owner{nullptr, [](void *) {}, [](void *) {}};
  const tesseract_owner *owners[] = {&owner, nullptr};
  tesseract_call_options options = TESSERACT_CALL_OPTIONS_INIT;
  options.cancel = cancel.get();
  options.flags = TESSERACT_NO_COPY;
  options.owners = owners;
  const Call call = prepared(TESSERACT_ENDPOINT_APPLY, Leaves{"x", "a"});
  expect_none(of_runs(call.get(), {&x.tensor, &a.tensor}, {&y.tensor}, &options));
}

TEST_F(Runs, OfProducts) {
  Doubles dx{1.0, 1.0, 1.0}, da = scalar(0.0);
  const Call forward = prepared(TESSERACT_ENDPOINT_JVP, Leaves{"x", "a"}, Leaves{"y"}, Leaves{"x"});
  expect_none(of_runs(forward.get(), {&x.tensor, &a.tensor, &dx.tensor}, {&y.tensor}));
  const Call reverse = prepared(TESSERACT_ENDPOINT_VJP, Leaves{"x", "a"}, Leaves{"y"}, Leaves{"a"});
  expect_none(of_runs(reverse.get(), {&x.tensor, &a.tensor, &dx.tensor}, {&da.tensor}));
  EXPECT_EQ(da.values[0], 14.0);
}

TEST_F(Runs, OfManyLeaves) {
  const auto many = component("many");
  std::deque<Doubles> x_s, y_s;
  std::vector<const DLTensor *> in;
  std::vector<DLTensor *> out;
  Leaves inputs;
  for (int k = 0; k < 8; k++) {
    inputs.add("x" + std::to_string(k));
    in.push_back(&x_s.emplace_back(zeros({8, 8})).tensor);
  }
  for (int k = 0; k < 4; k++) out.push_back(&y_s.emplace_back(zeros({8, 8})).tensor);
  const auto call = prepare(many, signature(TESSERACT_ENDPOINT_APPLY, inputs));
  expect_none(of_runs(call.get(), in, out));
}

TEST_F(Runs, OfAHundredLeaves) {
  Puppet puppet;
  std::string leaves;
  Leaves inputs;
  std::deque<Doubles> values;
  std::vector<const DLTensor *> in;
  for (int i = 0; i < 100; i++) {
    const std::string path = "x" + std::to_string(i);
    leaves += (i ? ", " : "") + (R"({"path": ")" + path + R"(", "dtype": "float64", "shape": []})");
    inputs.add(path);
    in.push_back(&values.emplace_back(scalar(1.0)).tensor);
  }
  puppet.description = R"({"name": "puppet", "threads": "concurrent", "inputs": [)" + leaves +
                       R"(], "outputs": [{"path": "y", "dtype": "float64", "shape": []}]})";
  puppet.apply = [](tesseract_frame *frame) {
    *static_cast<double *>(frame->outputs[0]->data) =
        *static_cast<const double *>(frame->inputs[99]->data);
    return TESSERACT_OK;
  };
  const auto opened = puppet.opened();
  const auto call = prepare(opened, signature(TESSERACT_ENDPOINT_APPLY, inputs));
  ASSERT_TRUE(succeeds(call));
  Doubles result = scalar(0.0);
  expect_none(of_runs(call.get(), in, {&result.tensor}));
  EXPECT_EQ(result.values[0], 1.0);
}

TEST_F(Runs, OfContainers) {
  const auto containers = component("containers");
  Doubles p = scalar(2.0), total = scalar(0.0);
  const auto call = prepare(containers, signature(TESSERACT_ENDPOINT_APPLY,
                                                  Leaves{"xs.[0]", "params.{p}"}, Leaves{"total"}));
  ASSERT_TRUE(succeeds(call));
  expect_none(of_runs(call.get(), {&x.tensor, &p.tensor}, {&total.tensor}));
  EXPECT_EQ(total.values[0], 12.0);
}

TEST_F(Runs, OnTwoThreads) {
  const Call call = prepared(TESSERACT_ENDPOINT_APPLY, Leaves{"x", "a"});
  std::atomic<int> stage = 0;
  Doubles y_other = zeros({3});
  const auto runs = [&](Doubles &destination) {
    const DLTensor *in[] = {&x.tensor, &a.tensor};
    DLTensor *out[] = {&destination.tensor};
    for (int i = 0; i < 1000; i++)
      tesseract_call_run(call.get(), in, out, nullptr, nullptr, nullptr);
  };
  std::thread other([&] {
    runs(y_other);
    ++stage;
    while (stage < 2) std::this_thread::yield();
    runs(y_other);
    ++stage;
    while (stage < 4) std::this_thread::yield();
  });
  runs(y);
  while (stage < 1) std::this_thread::yield();
  expect_none(counted([&] {
    ++stage;
    runs(y);
    while (stage < 3) std::this_thread::yield();
  }));
  ++stage;
  other.join();
}

}  // namespace
