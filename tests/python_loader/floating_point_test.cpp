// Solvers call with floating-point traps on, flags raised, denormals flushed, another rounding: the
// module sees none of it, and the solver finds its environment as it was.
#include <cfenv>
#include <cstring>
#include <limits>
#include <tuple>

#include "component.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace loader_test {
namespace {

constexpr double kDenormal = std::numeric_limits<double>::denorm_min() * 8.0;

// Puts the environment of the tests back, whatever a test set.
class FloatingPoint : public testing::Test {
 protected:
  void SetUp() override { std::feholdexcept(&before_); }
  void TearDown() override { std::fesetenv(&before_); }

  std::fenv_t before_{};
};

TEST_F(FloatingPoint, TrapsDoNotReachAnImport) {
  feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW);
  const Component component("threads");
  const int traps = fegetexcept();
  fedisableexcept(FE_ALL_EXCEPT);
  ASSERT_EQ(component.opened.status, TESSERACT_OK) << component.opened.message;
  EXPECT_EQ(traps, FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW);
}

TEST_F(FloatingPoint, TrapsDoNotReachACallAndStayOn) {
  const Component component("threads");
  feenableexcept(FE_ALL_EXCEPT & ~FE_INEXACT);
  const Application application(component, {{1.0, 2.0}});
  const int traps = fegetexcept();
  fedisableexcept(FE_ALL_EXCEPT);
  ASSERT_EQ(application.failure.status, TESSERACT_OK) << application.failure.message;
  EXPECT_EQ(traps, FE_ALL_EXCEPT & ~FE_INEXACT);
}

TEST_F(FloatingPoint, RaisedFlagsAreNotTheModulesAndStayRaised) {
  const Component component("threads");
  std::feraiseexcept(FE_DIVBYZERO | FE_INVALID);
  const Application application(component, {{1.0, 2.0}});
  EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), FE_DIVBYZERO | FE_INVALID);
  ASSERT_EQ(application.failure.status, TESSERACT_OK) << application.failure.message;
  EXPECT_EQ(application.values().at("warnings"), 0);
}

TEST_F(FloatingPoint, FlagsOfTheModuleStayThere) {
  const Component component("threads");
  std::feclearexcept(FE_ALL_EXCEPT);
  const Application application(component, {{1.0, 2.0}});
  EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), 0);
}

TEST_F(FloatingPoint, RoundingIsTheDefaultInside) {
  const Component component("scale");
  const double third = 1.0 / 3.0;
  std::fesetround(FE_UPWARD);
  const Application application(component, {{third}, R"({"a": 1.0})"});
  const int rounding = std::fegetround();
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(rounding, FE_UPWARD);
  EXPECT_EQ(application.output(), std::vector<double>{third * third});
}

#if defined(__x86_64__)
TEST_F(FloatingPoint, DenormalsAreKeptInside) {
  const Component component("threads");
  constexpr unsigned flush_and_treat_as_zero = 0x8040;
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | flush_and_treat_as_zero);
  const Application application(component, {{kDenormal}});
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_EQ(after, before | flush_and_treat_as_zero);
  ASSERT_EQ(application.output().size(), 1u);
  EXPECT_EQ(application.output()[0], kDenormal / 2.0);
  EXPECT_GT(application.output()[0], 0.0);
}
#endif

// ---- Every entry, in each strange environment ---------------------------------------------------

struct Strange {
  const char *name;
  void (*set)();
};

void trap_everything() {
  feenableexcept(FE_ALL_EXCEPT);
}

void raise_everything() {
  std::feraiseexcept(FE_ALL_EXCEPT);
}

void round_upward() {
  std::fesetround(FE_UPWARD);
}

#if defined(__x86_64__)
void flush_denormals() {
  _mm_setcsr(_mm_getcsr() | 0x8040);
}

void compute_in_double_precision() {
  uint16_t control = 0;
  __asm__ volatile("fnstcw %0" : "=m"(control));
  control = static_cast<uint16_t>((control & ~0x0300) | 0x0200);
  __asm__ volatile("fldcw %0" : : "m"(control));
}
#endif

// All that a thread's environment is.
struct Registers {
  std::fenv_t environment{};

  static Registers now() {
    Registers registers;
    std::fegetenv(&registers.environment);
    return registers;
  }
  bool operator==(const Registers &other) const {
#if defined(__x86_64__)
    return environment.__control_word == other.environment.__control_word &&
           environment.__status_word == other.environment.__status_word &&
           environment.__mxcsr == other.environment.__mxcsr;
#else
    return std::memcmp(&environment, &other.environment, sizeof environment) == 0;
#endif
  }
};

class EveryEntry : public testing::TestWithParam<std::tuple<Strange, const char *>> {
 protected:
  void SetUp() override { std::feholdexcept(&before_); }
  void TearDown() override { std::fesetenv(&before_); }

  // Runs a function of the host's in the strange environment; false if it left another.
  template <typename Function>
  bool stays(Function function) const {
    std::get<0>(GetParam()).set();
    const Registers given = Registers::now();
    function();
    const Registers found = Registers::now();
    std::fesetenv(&before_);
    return given == found;
  }

  std::fenv_t before_{};
};

TEST_P(EveryEntry, SeesTheDefaultAndLeavesTheCallers) {
  const std::string options = std::get<1>(GetParam());
  Log log;
  tesseract_open_options opening = TESSERACT_OPEN_OPTIONS_INIT;
  opening.json = {options.data(), options.size()};
  opening.log = Log::take;
  opening.log_data = &log;
  const std::string path = module_path("floats");
  tesseract_component *component = nullptr;
  tesseract_call *call = nullptr;
  tesseract_result *result = nullptr;
  tesseract_error *error = nullptr;
  const tesseract_leaves inputs = TESSERACT_LEAVES_INIT;
  tesseract_signature signature = TESSERACT_SIGNATURE_INIT;
  signature.endpoint = TESSERACT_ENDPOINT_APPLY;
  signature.inputs = &inputs;
  const char *text = nullptr;

  EXPECT_TRUE(
      stays([&] { tesseract_open(path.data(), path.size(), &opening, &component, &error); }));
  ASSERT_TRUE(component) << tesseract_error_message(error, nullptr);
  EXPECT_TRUE(stays([&] {
    tesseract_component_text(component, TESSERACT_TEXT_OPENAPI, &text, nullptr, nullptr);
  }));
  EXPECT_TRUE(stays([&] { tesseract_prepare(component, &signature, &call, nullptr); }));
  ASSERT_TRUE(call);
  for (int i = 0; i < 2; i++) {
    EXPECT_TRUE(
        stays([&] { tesseract_call_run(call, nullptr, nullptr, nullptr, &result, nullptr); }));
    ASSERT_TRUE(result);
    const auto values = nlohmann::json::parse(tesseract_result_json(result, nullptr));
    EXPECT_EQ(values.at("at_import"), "");
    EXPECT_EQ(values.at("in_call"), "");
    EXPECT_TRUE(stays([&] { tesseract_result_free(std::exchange(result, nullptr)); }));
  }
  int32_t status = -1;
  EXPECT_TRUE(stays(
      [&] { status = tesseract_abstract_eval(component, &inputs, nullptr, &result, &error); }));
  EXPECT_EQ(status, TESSERACT_OK) << tesseract_error_message(error, nullptr);
  tesseract_result_free(std::exchange(result, nullptr));
  EXPECT_TRUE(stays([&] { tesseract_call_free(call); }));
  EXPECT_TRUE(stays([&] { tesseract_close(component); }));
  EXPECT_EQ(log.lines, "5 closed: \n");
}

std::vector<Strange> strange_environments() {
  return {
      {"AllTraps", trap_everything},
      {"AllFlags", raise_everything},
      {"Upward", round_upward},
#if defined(__x86_64__)
      {"DenormalsAreZero", flush_denormals},
      {"DoublePrecision", compute_in_double_precision},
#endif
  };
}

INSTANTIATE_TEST_SUITE_P(Environments, EveryEntry,
                         testing::Combine(testing::ValuesIn(strange_environments()),
                                          testing::Values("{}", R"({"threads": "owner"})")),
                         [](const auto &one) {
                           const std::string options = std::get<1>(one.param);
                           return std::get<0>(one.param).name +
                                  std::string(options == "{}" ? "" : "Owner");
                         });

// ---- Out of domain ------------------------------------------------------------------------------

// By the class of this package, by one that the module registered, and in a validator.
TEST(OutOfDomain, IsAStatusOfItsOwn) {
  const Component component("floats");
  for (const auto &[step, message] : {std::pair("50.0", "the step 50.0 is too large"),
                                      {"500.0", "the step 500.0 is unstable"},
                                      {"1e7", "far outside"}}) {
    const Application application(component, {{}, std::string("{\"step\": ") + step + "}"});
    EXPECT_EQ(application.failure.status, TESSERACT_ERROR_OUT_OF_DOMAIN) << step;
    EXPECT_THAT(application.failure.message, testing::HasSubstr(message));
    EXPECT_THAT(application.failure.traceback, testing::HasSubstr(message));
    const Application nearer(component, {{}, R"({"step": 2.0})"});
    EXPECT_EQ(nearer.failure.status, TESSERACT_OK) << nearer.failure.message;
  }
}

}  // namespace
}  // namespace loader_test
