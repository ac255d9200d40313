// Unmapping a library, which happens on request and only when nothing of it lives.
#include <dlfcn.h>
#include <tesseract_host/ext/unload.h>

#include "support.h"

namespace {

using namespace test;

class Unload : public testing::Test {
 protected:
  const Folder folder;
  const std::string source = folder.copy("square", "libsquare.so");

  Outcome<Result> unload(std::string_view path) {
    const auto *table = static_cast<const tesseract_unload_table *>(
        tesseract_host_extension(TESSERACT_UNLOAD_ID, TESSERACT_NTS));
    EXPECT_NE(table, nullptr);
    return outcome_of<Result>(
        [&](auto **, auto **error) { return table->unload(path.data(), path.size(), error); });
  }
  bool mapped() {
    void *handle = dlopen(source.c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (handle) dlclose(handle);
    return handle != nullptr;
  }
};

TEST_F(Unload, NothingHappensByItself) {
  open(source).value.reset();
  EXPECT_TRUE(mapped());
}

TEST_F(Unload, IsRefusedWhileAnythingLives) {
  auto square = open(source), other = open(source);
  auto call = prepare(square.value, signature(TESSERACT_ENDPOINT_APPLY, Leaves{"x"}));
  EXPECT_TRUE(fails(unload(source), TESSERACT_ERROR_UNAVAILABLE, {source}));
  square.value.reset();
  EXPECT_TRUE(fails(unload(source), TESSERACT_ERROR_UNAVAILABLE));
  other.value.reset();
  EXPECT_TRUE(fails(unload(source), TESSERACT_ERROR_UNAVAILABLE)) << "a prepared call lives";
  Doubles x{2.0}, y = zeros({1});
  EXPECT_TRUE(succeeds(run(call.get(), {&x.tensor}, {&y.tensor})));
  call.value.reset();
  EXPECT_TRUE(mapped());
  EXPECT_TRUE(succeeds(unload(source)));
  EXPECT_FALSE(mapped());
}

TEST_F(Unload, LibraryCanBeOpenedAgain) {
  for (int i = 0; i < 3; i++) {
    EXPECT_TRUE(usable(open(source).value));
    EXPECT_TRUE(succeeds(unload(source)));
    EXPECT_FALSE(mapped());
  }
}

TEST_F(Unload, ResultsAndErrorsLiveOn) {
  auto square = open(source);
  Doubles x{1.0, 2.0};
  Leaves inputs, wrong;
  auto outcome = evaluate(square.value, inputs.add("x", x));
  auto second = evaluate(square.value, inputs);
  const auto failure = evaluate(square.value, wrong.add("x", x).json(R"({"a": -1})"));
  DLManagedTensorVersioned *tensor = nullptr;
  ASSERT_EQ(tesseract_result_take(second.value.get(), 0, &tensor), TESSERACT_OK);
  const Taken taken(tensor);
  square.value.reset();
  ASSERT_TRUE(succeeds(unload(source)));
  EXPECT_EQ(values_of(outcome), (std::vector<double>{1.0, 4.0}));
  EXPECT_STREQ(tesseract_result_path(outcome.get(), 0, nullptr), "y");
  EXPECT_NE(failure.message().find("a is negative"), std::string::npos);
  EXPECT_EQ(values_of(&taken->dl_tensor), (std::vector<double>{1.0, 4.0}));
}

TEST_F(Unload, WhatIsNotLoaded) {
  EXPECT_TRUE(fails(unload(source), TESSERACT_ERROR_NOT_FOUND, {source}));
  EXPECT_TRUE(fails(unload("/no/such.so"), TESSERACT_ERROR_NOT_FOUND, {"/no/such.so"}));
  open(source).value.reset();
  EXPECT_TRUE(succeeds(unload(source)));
  EXPECT_TRUE(fails(unload(source), TESSERACT_ERROR_NOT_FOUND));
}

TEST_F(Unload, ArgumentsAreChecked) {
  const auto *table = static_cast<const tesseract_unload_table *>(
      tesseract_host_extension(TESSERACT_UNLOAD_ID, TESSERACT_NTS));
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->unload(nullptr, TESSERACT_NTS, nullptr), TESSERACT_ERROR_INVALID_ARGUMENT);
}

TEST_F(Unload, AfterAFailedOpen) {
  const std::string broken = folder.copy("no_entry", "libno_entry.so");
  EXPECT_FALSE(open(broken).ok());
  // Whether it stayed mapped is the loader's affair; asking does no harm.
  const auto outcome = unload(broken);
  EXPECT_TRUE(outcome.ok() || outcome.status == TESSERACT_ERROR_NOT_FOUND);
}

}  // namespace
