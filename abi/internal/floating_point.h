// The floating-point environment that libraries are written for: all traps masked, round to
// nearest, no flush to zero, no denormals as zero, flags clear.  Solvers call with any other.
//
// Used by the host, for components that ask for it, and by the Python loader; not installed.
#pragma once

#include <cfenv>
#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace tesseract::internal {

// Sets the default environment for its lifetime, if it is wanted; the caller's, flags included, is
// back afterwards.
class DefaultFloatingPoint {
 public:
  explicit DefaultFloatingPoint(bool wanted = true) : wanted_(wanted) {
    if (wanted_) enter();
  }
  ~DefaultFloatingPoint() {
    if (wanted_) leave();
  }
  DefaultFloatingPoint(const DefaultFloatingPoint &) = delete;
  DefaultFloatingPoint &operator=(const DefaultFloatingPoint &) = delete;

 private:
#if defined(__x86_64__)
  // Storing and loading the whole environment costs some 100 ns, so that is only done where the x87
  // unit is, or was left, in another than its default state; the SSE unit's is one register.
  void enter() {
    mxcsr_ = _mm_getcsr();
    unusual_ = !x87_is_default();
    if (unusual_) {
      std::fegetenv(&environment_);
      std::fesetenv(FE_DFL_ENV);
    }
    if (mxcsr_ != default_mxcsr) _mm_setcsr(default_mxcsr);
  }
  void leave() {
    if (unusual_) {
      std::fesetenv(&environment_);
    } else if (!x87_is_default()) {
      std::fesetenv(FE_DFL_ENV);
    }
    if (_mm_getcsr() != mxcsr_) _mm_setcsr(mxcsr_);
  }

  static constexpr uint32_t default_mxcsr = 0x1F80;

  static bool x87_is_default() {
    uint16_t control = 0, status = 0;
    __asm__ volatile("fnstcw %0" : "=m"(control));
    __asm__ volatile("fnstsw %0" : "=m"(status));
    return control == 0x037F && (status & 0x00FF) == 0;
  }

  uint32_t mxcsr_ = 0;
  bool unusual_ = false;
#else
  void enter() {
    std::fegetenv(&environment_);
    std::fesetenv(FE_DFL_ENV);
  }
  void leave() { std::fesetenv(&environment_); }
#endif
  std::fenv_t environment_{};
  bool wanted_;
};

}  // namespace tesseract::internal
