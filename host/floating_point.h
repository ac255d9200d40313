// The floating-point environment around a call that wants the default one (design §4).
#pragma once

#include <cfenv>
#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace host {

// Default: all traps masked, round to nearest, no flush to zero, no denormals as zero, flags clear.
// The caller's, flags included, is back afterwards.
class DefaultFloatingPoint {
 public:
  explicit DefaultFloatingPoint(bool wanted) : wanted_(wanted) {
    if (wanted_) enter();
  }
  ~DefaultFloatingPoint() {
    if (wanted_) leave();
  }
  DefaultFloatingPoint(const DefaultFloatingPoint &) = delete;
  DefaultFloatingPoint &operator=(const DefaultFloatingPoint &) = delete;

 private:
#if defined(__x86_64__)
  // The x87 unit only where it is, or was left, in another than its default state: its environment
  // is slow to load.
  void enter() {
    mxcsr_ = _mm_getcsr();
    unusual_ = !x87_is_default();
    if (unusual_) {
      std::fegetenv(&environment_);
      std::fesetenv(FE_DFL_ENV);
    }
    _mm_setcsr(0x1F80);
  }
  void leave() {
    if (unusual_) {
      std::fesetenv(&environment_);
    } else if (!x87_is_default()) {
      std::fesetenv(FE_DFL_ENV);
    }
    _mm_setcsr(mxcsr_);
  }

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

}  // namespace host
