// Whatever a module keeps of its inputs, and however it changes them: what it reads later is what
// it was given, or it is refused before it can read; and the next call is right.
//
// The memory of each call is overwritten and freed.  Best run under AddressSanitizer, too.
#include <atomic>

#include "component.h"

namespace loader_test {
namespace {

using Values = std::vector<double>;

Inputs keeping(const std::string &how) {
  return {{5, 6, 7, 8}, "{\"how\": \"" + how + "\"}"};
}

// What is to become of what is kept in a later call.
enum class Fate {
  harmless,  // it does not know the caller's memory
  moved,     // it goes on, with a warning
  refused,   // the call fails, and all later ones
};

struct Way {
  const char *how;
  Fate fate;
  Values read = {5, 6, 7, 8};
};

const Way kWays[] = {
    {"inputs", Fate::moved},
    {"dict of inputs", Fate::moved},
    {"copy of inputs", Fate::moved},
    {"deep copy of inputs", Fate::harmless},
    {"dump", Fate::moved},
    {"names", Fate::harmless, {1, 0}},
    {"bound method of inputs", Fate::moved},
    {"iterator of inputs", Fate::moved},
    {"array", Fate::moved},
    {"list", Fate::moved},
    {"tuple", Fate::moved},
    {"dict", Fate::moved},
    {"set of identities", Fate::moved},
    {"cycle", Fate::moved},
    {"attribute", Fate::moved},
    {"slot", Fate::moved},
    {"closure", Fate::moved},
    {"default", Fate::moved},
    {"partial", Fate::moved},
    {"cache", Fate::moved},
    {"queue", Fate::moved},
    {"finalizer", Fate::moved},
    {"context", Fate::moved},
    {"exception", Fate::moved},
    {"thread", Fate::refused},
    {"coroutine", Fate::moved},
    {"generator", Fate::moved},
    {"iterator", Fate::moved},
    {"chain", Fate::moved},
    {"map", Fate::moved},
    {"bound method", Fate::moved},
    {"slice", Fate::moved},
    {"backwards", Fate::moved},
    {"reshape", Fate::moved},
    {"transpose", Fate::moved},
    {"new axis", Fate::moved},
    {"view of bytes", Fate::moved},
    {"real part", Fate::moved},
    {"masked", Fate::moved},
    {"broadcast", Fate::moved},
    {"scalar", Fate::harmless},
    {"copied", Fate::harmless},
    {"bytes", Fate::harmless},
    {"file", Fate::harmless},
    {"weak reference", Fate::harmless, {1}},
    {"base", Fate::harmless, {1}},
    {"memoryview", Fate::refused},
    {"slice of memoryview", Fate::refused},
    {"frombuffer", Fate::moved},
    {"dlpack", Fate::refused},
    {"capsule", Fate::refused, {}},
    {"flat iterator", Fate::refused},
    {"nditer", Fate::refused},
    {"multi-iterator", Fate::refused},
    {"ctypes", Fate::refused},
};

std::string name_of(const testing::TestParamInfo<Way> &way) {
  std::string name = way.param.how;
  std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
  return name;
}

class Keeping : public testing::TestWithParam<Way> {
 protected:
  const Way &way() const { return GetParam(); }

  // What the module reads in another call, which is right itself.
  static Values read(const Component &component) {
    const Application application(component, {{1, 2}, R"({"read": true})"});
    EXPECT_EQ(application.failure.status, TESSERACT_OK) << application.failure.message;
    EXPECT_EQ(application.output(), (Values{2, 4}));
    const auto values = application.values();
    return values.is_object() ? values.at("read").get<Values>() : Values{};
  }

  static void call(const Component &component, int times) {
    for (int i = 0; i < times; i++) {
      const Application application(component, {{1, 2, double(i)}});
      EXPECT_EQ(application.output(), (Values{2, 4, 2.0 * i})) << application.failure.message;
    }
  }
};

TEST_P(Keeping, OfTheFirstCallIsSafe) {
  const Component component("keepers");
  const Application application(component, keeping(way().how));
  EXPECT_EQ(application.failure.status, TESSERACT_OK) << application.failure.message;
  EXPECT_EQ(application.output(), (Values{10, 12, 14, 16}));
  call(component, 2);
  EXPECT_EQ(read(component), way().read);
  call(component, 2);
}

TEST_P(Keeping, OfALaterCallIsSafe) {
  Component component("keepers");
  call(component, 3);
  const Application application(component, keeping(way().how));
  if (way().fate == Fate::refused) {
    EXPECT_EQ(application.failure.status, TESSERACT_ERROR_COMPONENT);
    EXPECT_EQ(application.failure.path, "x");
    const Application next(component, {{1, 2}, R"({"read": true})"});
    EXPECT_EQ(next.failure.status, TESSERACT_ERROR_UNAVAILABLE);
    return;
  }
  EXPECT_EQ(application.failure.status, TESSERACT_OK) << application.failure.message;
  EXPECT_EQ(application.output(), (Values{10, 12, 14, 16}));
  const bool warned = component.log.lines.find("input x is kept") != std::string::npos;
  EXPECT_EQ(warned, way().fate == Fate::moved) << component.log.lines;
  call(component, 2);
  EXPECT_EQ(read(component), way().read);
  call(component, 2);
}

TEST_P(Keeping, OfOwnedMemoryIsSafe) {
  struct Owned {
    double data[4] = {5, 6, 7, 8};
    std::atomic<int> owners{0};
  } owned;
  const tesseract_owner owner = {&owned, [](void *self) { static_cast<Owned *>(self)->owners++; },
                                 [](void *self) {
                                   auto *last = static_cast<Owned *>(self);
                                   if (--last->owners == 0) std::fill_n(last->data, 4, -77.0);
                                 }};
  {
    const Component component("keepers");
    call(component, 2);
    const Application application(component, keeping(way().how), owned.data, &owner);
    EXPECT_EQ(application.failure.status, TESSERACT_OK) << application.failure.message;
    if (owned.owners == 0) std::fill_n(owned.data, 4, -77.0);  // nobody kept it
    call(component, 1);
    EXPECT_EQ(read(component), way().read);
  }
  EXPECT_EQ(owned.owners, 0);
}

INSTANTIATE_TEST_SUITE_P(Ways, Keeping, testing::ValuesIn(kWays), name_of);

// JAX's own arrays may be the caller's memory, where that is aligned as XLA likes it.
TEST(KeepingJaxArrays, IsSafe) {
  const Component component("keepers");
  for (int i = 0; i < 2; i++) Application(component, {{1, 2}});
  alignas(64) double memory[4] = {5, 6, 7, 8};
  const Application application(component, keeping("jax"), memory, nullptr);
  std::fill_n(memory, 4, -77.0);
  if (application.failure.message.find("No module named 'jax'") != std::string::npos) {
    GTEST_SKIP() << "jax is not installed";
  }
  const Application next(component, {{1, 2}, R"({"read": true})"});
  if (application.failure.status != TESSERACT_OK) {
    EXPECT_EQ(application.failure.path, "x") << application.failure.message;
    EXPECT_EQ(next.failure.status, TESSERACT_ERROR_UNAVAILABLE);
  } else {
    EXPECT_EQ(next.values().at("read").get<Values>(), (Values{5, 6, 7, 8}));
  }
}

class Changing : public testing::TestWithParam<const char *> {};

TEST_P(Changing, DoesNotReachTheNextCall) {
  const std::string how = GetParam();
  for (const char *options : {"{}", R"({"strict": true})"}) {
    const Component component("keepers", options);
    for (int i = 0; i < 6; i++) {
      const Values x = {double(i), 6, 7, 8};
      const Application application(component, {x, "{\"how\": \"" + how + "\"}"});
      EXPECT_EQ(application.failure.status, TESSERACT_OK) << application.failure.message;
      EXPECT_EQ(application.output(), (Values{2.0 * i, 12, 14, 16}));
      const Application plain(component, {{double(i), 3}});
      EXPECT_EQ(plain.output(), (Values{2.0 * i, 6})) << plain.failure.message;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, Changing,
                         testing::Values("change shape", "change strides", "change dtype",
                                         "change replace", "change swap", "change delete",
                                         "change names", "change dict", "change add"),
                         [](const auto &way) {
                           std::string name = way.param;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

}  // namespace
}  // namespace loader_test
