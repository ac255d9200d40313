// The floating-point environment Python code is written for: round to nearest, nothing trapped,
// nothing flushed to zero, no flag raised.  Solvers call us with any other.
#pragma once

#include <cfenv>
#include <cstdint>

#if defined(__x86_64__) || defined(__i386__)
#include <xmmintrin.h>
#define TESSERACT_X86 1
#endif

namespace tesseract::python {

// Sets the default environment for its lifetime, then puts the caller's back, flags included.
class FloatEnvironment {
 public:
  FloatEnvironment(const FloatEnvironment &) = delete;
  FloatEnvironment &operator=(const FloatEnvironment &) = delete;

#ifdef TESSERACT_X86
  // Storing and loading the whole environment costs some 100 ns, so that is only done where the x87
  // unit is not in its default state; the SSE unit's is one register.
  FloatEnvironment() : mxcsr_(_mm_getcsr()), whole_(!x87_is_default()) {
    if (whole_) {
      std::fegetenv(&environment_);
      std::fesetenv(FE_DFL_ENV);
    }
    if (mxcsr_ != kDefaultMxcsr) _mm_setcsr(kDefaultMxcsr);
  }
  ~FloatEnvironment() {
    if (whole_) {
      std::fesetenv(&environment_);
    } else if (!x87_is_default()) {
      std::fesetenv(FE_DFL_ENV);
    }
    if (_mm_getcsr() != mxcsr_) _mm_setcsr(mxcsr_);
  }

 private:
  static constexpr uint32_t kDefaultMxcsr = 0x1f80;

  static bool x87_is_default() {
    constexpr uint16_t default_control = 0x037f, exceptions = 0x00ff;
    uint16_t control = 0, status = 0;
    __asm__ volatile("fnstcw %0" : "=m"(control));
    __asm__ volatile("fnstsw %0" : "=m"(status));
    return control == default_control && (status & exceptions) == 0;
  }

  uint32_t mxcsr_;
  bool whole_;
  std::fenv_t environment_{};
#else
  FloatEnvironment() {
    std::fegetenv(&environment_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FloatEnvironment() { std::fesetenv(&environment_); }

 private:
  std::fenv_t environment_{};
#endif
};

}  // namespace tesseract::python
