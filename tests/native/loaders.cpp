// Loaders of others: found in the path, chosen by what they accept or by name.
#include <thread>

#include "toys.h"

namespace {

using namespace test;

const Toys toys;

TEST(Loaders, AcceptTheirSources) {
  const auto toy = open("any.toy");
  ASSERT_TRUE(succeeds(toy));
  EXPECT_EQ(values_of<int64_t>(evaluate(toy.value, nullptr)), std::vector<int64_t>{1});
  EXPECT_EQ(text_of(toy.value, TESSERACT_TEXT_NAME), "toy");
  EXPECT_TRUE(usable(component("square"))) << "the others are there too";
}

TEST(Loaders, ByName) {
  EXPECT_TRUE(succeeds(open("any.toy", R"({"loader": "toy"})")));
  EXPECT_TRUE(fails(open("any.toy", R"({"loader": "text"})"), TESSERACT_ERROR_NOT_FOUND, {"text"}));
  EXPECT_FALSE(open("any.toy", R"({"loader": "native"})").ok());
}

TEST(Loaders, RefuseUnknownOptions) {
  EXPECT_TRUE(fails(open("any.toy", R"({"size": 3})"), TESSERACT_ERROR_INVALID_ARGUMENT, {"size"}));
}

TEST(Loaders, FailWithTheirReason) {
  EXPECT_TRUE(
      fails(open("broken.toy"), TESSERACT_ERROR_COMPONENT, {"broken.toy", "this toy is broken"}));
  EXPECT_TRUE(succeeds(open("any.toy")));
}

TEST(Loaders, AreToldOfAListing) {
  tesseract_open_options options = TESSERACT_OPEN_OPTIONS_INIT;
  options.flags = TESSERACT_OPEN_LISTING;
  const auto toy = open("any.toy", &options);
  ASSERT_TRUE(succeeds(toy));
  const auto plain = open("any.toy");
  EXPECT_EQ(Toys::counts(plain.value)->listings, 1);
}

TEST(Loaders, NobodyAccepts) {
  EXPECT_TRUE(fails(open("any.unknown"), TESSERACT_ERROR_NOT_FOUND, {"any.unknown"}));
}

// The caller inside leaves once the other one waits.
TEST(Loaders, WaitHooksRunAroundAWait) {
  const auto toy = open("any.toy");
  ASSERT_TRUE(succeeds(toy));
  const toy_counts *counts = Toys::counts(toy.value);
  ASSERT_NE(counts, nullptr);
  std::thread inside([&] {
    Leaves inputs;
    EXPECT_TRUE(succeeds(evaluate(toy.value, inputs.json(R"({"wait": 1})"))));
  });
  while (read_count(counts->inside) == 0) std::this_thread::yield();
  EXPECT_TRUE(succeeds(evaluate(toy.value, nullptr)));
  inside.join();
  EXPECT_GE(read_count(counts->before), 1);
  EXPECT_EQ(read_count(counts->before), read_count(counts->after));
}

}  // namespace
