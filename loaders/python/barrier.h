// What stops a thread that Python asks to end, by unwinding it; see cp/ending.h.
#pragma once

#include <unistd.h>

namespace tesseract::python {

// Sleeps until the process ends.
[[noreturn]] inline void sleep_for_ever() {
  for (;;) pause();
}

// Stands around a call of Python's API: what is asked to end in it gets no further than here. Costs
// nothing where nothing is unwound.
class Barrier {
 public:
  Barrier() = default;
  ~Barrier() {
    if (!passed_) sleep_for_ever();
  }
  Barrier(const Barrier &) = delete;
  Barrier &operator=(const Barrier &) = delete;

  void pass() { passed_ = true; }

 private:
  bool passed_ = false;
};

}  // namespace tesseract::python
