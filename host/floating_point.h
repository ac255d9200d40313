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
  // The x87 unit only where it is not in its default state: its environment is slow to load.
  void enter() {
    mxcsr_ = _mm_getcsr();
    __asm__ volatile("fnstcw %0" : "=m"(control_));
    __asm__ volatile("fnstsw %0" : "=m"(status_));
    unusual_ = (control_ & 0x0F7F) != 0x037F || (status_ & 0x3F) != 0;
    if (unusual_) {
      std::fegetenv(&environment_);
      std::fesetenv(FE_DFL_ENV);
    }
    _mm_setcsr(0x1F80);
  }
  void leave() {
    if (unusual_) std::fesetenv(&environment_);
    _mm_setcsr(mxcsr_);
  }

  uint32_t mxcsr_ = 0;
  uint16_t control_ = 0, status_ = 0;
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
