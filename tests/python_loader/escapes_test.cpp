// Modules that keep their inputs read what they were given, though the caller overwrites and frees
// it.  Best run under AddressSanitizer, too.
#include "component.h"

namespace loader_test {
namespace {

using testing::HasSubstr;

Inputs input(std::vector<double> x, const std::string &how) {
  return {std::move(x), "{\"how\": \"" + how + "\"}"};
}

// The way to keep, and what a module finds of [5, 6, 7, 8].
struct Way {
  const char *how;
  std::vector<double> kept;
};

const Way kMovable[] = {{"array", {5, 6, 7, 8}},
                        {"attribute", {5, 6, 7, 8}},
                        {"slice", {6, 7, 8}},
                        {"slice of slice", {7, 6}},
                        {"recarray", {5, 6, 7, 8}}};
const Way kImmovable[] = {{"memoryview", {5, 6, 7, 8}}, {"object array", {5, 6, 7, 8}},
                          {"windows", {5, 6, 7, 8}},    {"strides", {8, 7, 6, 5}},
                          {"interface", {5, 6, 7, 8}},  {"interface of a class", {5, 6, 7, 8}},
                          {"ctypes", {5, 6, 7, 8}},     {"pointer", {5, 6, 7, 8}},
                          {"iterator", {5, 6, 7, 8}}};

std::vector<double> kept_after_another_call(const Component &component) {
  const Application application(component, input({1, 1, 1, 1}, "not"));
  EXPECT_EQ(application.failure.status, TESSERACT_OK) << application.failure.message;
  return application.output();
}

TEST(Escapes, OfTheFirstCallKeepTheirValues) {
  for (const auto &ways : {std::vector<Way>(std::begin(kMovable), std::end(kMovable)),
                           std::vector<Way>(std::begin(kImmovable), std::end(kImmovable))}) {
    for (const Way &way : ways) {
      const Component component("keeper");
      const Application application(component, input({5, 6, 7, 8}, way.how));
      EXPECT_EQ(application.output(), way.kept) << way.how << application.failure.message;
      EXPECT_EQ(kept_after_another_call(component), way.kept) << way.how;
    }
  }
}

TEST(Escapes, OfALaterCallKeepTheirValues) {
  for (const Way &way : kMovable) {
    Component component("keeper");
    for (int i = 0; i < 3; i++) Application(component, input({1, 2, 3, 4}, "not"));
    const Application application(component, input({5, 6, 7, 8}, way.how));
    EXPECT_EQ(application.failure.status, TESSERACT_OK) << way.how << application.failure.message;
    EXPECT_EQ(kept_after_another_call(component), way.kept) << way.how;
    EXPECT_THAT(component.log.lines, HasSubstr("input x is kept")) << way.how;
  }
}

// What can't be moved stops the component before it reads freed memory.
TEST(Escapes, OfALaterCallThatCannotBeMovedAreErrors) {
  for (const Way &way : kImmovable) {
    const Component component("keeper");
    for (int i = 0; i < 2; i++) Application(component, input({1, 2, 3, 4}, "not"));
    const Application application(component, input({5, 6, 7, 8}, way.how));
    EXPECT_EQ(application.failure.status, TESSERACT_ERROR_COMPONENT) << way.how;
    EXPECT_EQ(application.failure.path, "x") << way.how;
    const Application next(component, input({1, 2, 3, 4}, "not"));
    EXPECT_EQ(next.failure.status, TESSERACT_ERROR_UNAVAILABLE) << way.how;
    EXPECT_EQ(next.failure.path, "x") << way.how;
  }
}

TEST(Escapes, AreErrorsInStrictMode) {
  for (const int calls_before : {0, 2}) {
    const Component component("keeper", R"({"strict": true})");
    for (int i = 0; i < calls_before; i++) Application(component, input({1, 2, 3, 4}, "not"));
    const Application application(component, input({5, 6, 7, 8}, "slice"));
    EXPECT_EQ(application.failure.status, TESSERACT_ERROR_COMPONENT);
    EXPECT_EQ(application.failure.path, "x");
    EXPECT_EQ(kept_after_another_call(component), (std::vector<double>{6, 7, 8}));
  }
}

TEST(Views, AreOfTheCallersMemoryAndReadOnlyFromTheSecondCall) {
  const Component component("keeper");
  std::vector<double> memory = {1, 2, 3};
  std::vector<bool> same;
  for (int i = 0; i < 3; i++) {
    const Application application(component, {memory, "{}"}, memory.data(), nullptr);
    ASSERT_EQ(application.failure.status, TESSERACT_OK) << application.failure.message;
    same.push_back(application.values().at("address") ==
                   static_cast<uint64_t>(reinterpret_cast<uintptr_t>(memory.data())));
    EXPECT_EQ(application.values().at("writeable"), false);
  }
  EXPECT_EQ(same, (std::vector<bool>{false, true, true}));
  EXPECT_EQ(component.statistics().owned_copies, 1u);
  EXPECT_EQ(component.statistics().owned_bytes, 24u);
}

TEST(Views, AreCopiedOnceAModuleIsKnownToKeepThem) {
  const Component component("keeper");
  Application(component, input({1, 2, 3}, "array"));
  for (int i = 0; i < 3; i++) Application(component, input({1, 2, 3}, "not"));
  EXPECT_EQ(component.statistics().owned_copies, 4u);
}

TEST(Views, ThatJaxHoldsForAWhileAreNotKept) {
  const Component component("jitted");
  if (component.opened.message.find("No module named 'jax'") != std::string::npos) {
    GTEST_SKIP() << "jax is not installed";
  }
  ASSERT_EQ(component.opened.status, TESSERACT_OK) << component.opened.message;
  for (const size_t length : {3u, 3u, 3u, 64u, 64u, 5000u, 5000u}) {
    const Application application(component, {std::vector<double>(length, 3.0), "{}"});
    EXPECT_EQ(application.output(), std::vector<double>(length, 18.0));
  }
  EXPECT_EQ(component.statistics().owned_copies, 1u);
}

// Memory that counts its owners.
struct Owned {
  double data[4] = {5, 6, 7, 8};
  int retained = 0, released = 0;

  tesseract_owner owner() {
    return {this, [](void *self) { ++static_cast<Owned *>(self)->retained; },
            [](void *self) { ++static_cast<Owned *>(self)->released; }};
  }
};

TEST(Owners, AreNotRetainedWhenNothingIsKept) {
  const Component component("keeper");
  Owned owned;
  const tesseract_owner owner = owned.owner();
  for (int i = 0; i < 2; i++) {
    const Application application(component, input({5, 6, 7, 8}, "not"), owned.data, &owner);
    EXPECT_EQ(application.values().at("address"),
              static_cast<uint64_t>(reinterpret_cast<uintptr_t>(owned.data)));
  }
  EXPECT_EQ(owned.retained, 0);
}

TEST(Owners, AreRetainedAsLongAsTheModuleKeepsTheArray) {
  Owned owned;
  {
    const Component component("keeper");
    const tesseract_owner owner = owned.owner();
    for (const char *how : {"memoryview", "not", "slice"}) {
      const Application application(component, input({5, 6, 7, 8}, how), owned.data, &owner);
      EXPECT_EQ(application.failure.status, TESSERACT_OK) << application.failure.message;
    }
    EXPECT_EQ(owned.retained, 2);
    EXPECT_EQ(owned.released, 0);
    EXPECT_EQ(component.statistics().owned_copies, 0u);
  }
  EXPECT_EQ(owned.released, 2);
}

}  // namespace
}  // namespace loader_test
