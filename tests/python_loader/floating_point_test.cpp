// Solvers call with floating-point traps on, flags raised, denormals flushed, another rounding: the
// module sees none of it, and the solver finds its environment as it was.
#include <cfenv>
#include <limits>

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

}  // namespace
}  // namespace loader_test
