// XLA's threads flush denormals to zero, which components don't expect.
#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>

#include <cstdint>
#else
#include "../../abi/internal/floating_point.h"
#endif

namespace tesseract::jax {

#if defined(__x86_64__)
// Has the SSE unit in its default state for its lifetime; the caller's, flags included, is back
// afterwards.  That unit's register is all that XLA changes.  The x87 unit is left as the program
// has it, since asking for its state costs more than both; the host, or the loader, sees to it for
// components that want the whole environment to be the default one.
class NoFlushing {
 public:
  NoFlushing() : before_(_mm_getcsr()) {
    if (before_ != usual) _mm_setcsr(usual);
  }
  ~NoFlushing() {
    if (_mm_getcsr() != before_) _mm_setcsr(before_);
  }
  NoFlushing(const NoFlushing &) = delete;
  NoFlushing &operator=(const NoFlushing &) = delete;

 private:
  static constexpr uint32_t usual = 0x1F80;
  const uint32_t before_;
};
#else
using NoFlushing = internal::DefaultFloatingPoint;
#endif

}  // namespace tesseract::jax
