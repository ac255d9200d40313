// tesseract_shutdown, which can't be undone: one test, in a process of its own.
#include <atomic>
#include <cmath>
#include <thread>

#include "toys.h"

namespace {

using namespace test;

const Toys toys;

int32_t shut_down(double seconds) {
  return tesseract_shutdown(seconds, nullptr);
}

TEST(Shutdown, RefusesDrainsAndLeavesWhatExists) {
  for (const double seconds : {-1.0, std::nan("")})
    EXPECT_EQ(shut_down(seconds), TESSERACT_ERROR_INVALID_ARGUMENT);
  auto square = component("square");
  EXPECT_TRUE(usable(square)) << "a refused shutdown is none";

  Doubles x{1.0, 2.0}, y = zeros({2});
  Leaves inputs;
  inputs.add("x", x);
  auto call = prepare(square, signature(TESSERACT_ENDPOINT_APPLY, inputs));
  auto result = evaluate(square, inputs), other = evaluate(square, inputs);
  DLManagedTensorVersioned *tensor = nullptr;
  ASSERT_EQ(tesseract_result_take(other.value.get(), 0, &tensor), TESSERACT_OK);
  Taken taken(tensor);
  auto toy = open("any.toy");
  ASSERT_TRUE(succeeds(toy));

  // A call that runs until it is cancelled.
  const Cancel cancel = make_cancel();
  std::atomic<bool> running = false;
  tesseract_open_options opening = TESSERACT_OPEN_OPTIONS_INIT;
  opening.log_data = &running;
  opening.log = [](void *data, int32_t, const char *, uint64_t) {
    *static_cast<std::atomic<bool> *>(data) = true;
  };
  auto slow = open(library("slow"), &opening);
  tesseract_call_options options = TESSERACT_CALL_OPTIONS_INIT;
  options.cancel = cancel.get();
  std::thread caller([&] {
    EXPECT_TRUE(fails(evaluate(slow.value, nullptr, nullptr, &options), TESSERACT_ERROR_CANCELLED));
  });
  while (!running) std::this_thread::yield();

  tesseract_error *error = nullptr;
  EXPECT_EQ(tesseract_shutdown(0.05, &error), TESSERACT_ERROR_UNAVAILABLE);
  EXPECT_NE(std::string(tesseract_error_message(error, nullptr)), "");
  tesseract_error_free(error);
  EXPECT_TRUE(fails(evaluate(square, inputs), TESSERACT_ERROR_UNAVAILABLE, {"shut"}));

  tesseract_cancel_request(cancel.get());
  caller.join();
  EXPECT_EQ(shut_down(60.0), TESSERACT_OK);
  EXPECT_GE(read_count(Toys::counts(toy.value)->shutdowns), 1);

  EXPECT_TRUE(fails(evaluate(square, inputs), TESSERACT_ERROR_UNAVAILABLE, {"shut"}));
  EXPECT_TRUE(fails(run(call.get(), {&x.tensor}, {&y.tensor}), TESSERACT_ERROR_UNAVAILABLE));
  EXPECT_TRUE(fails(prepare(square, signature(TESSERACT_ENDPOINT_APPLY, inputs)),
                    TESSERACT_ERROR_UNAVAILABLE));
  EXPECT_TRUE(fails(open(library("square")), TESSERACT_ERROR_UNAVAILABLE));
  EXPECT_EQ(shut_down(0.0), TESSERACT_OK) << "again";

  EXPECT_EQ(values_of(result), (std::vector<double>{1.0, 4.0}));
  EXPECT_EQ(values_of(&taken->dl_tensor), (std::vector<double>{1.0, 4.0}));
  call.value.reset();
  square.reset();
  slow.value.reset();
  toy.value.reset();
  taken.reset();
}

}  // namespace
