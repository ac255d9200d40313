// What stops a thread that Python asks to end, by unwinding it; see ending.h.
#pragma once

#include <tesseract_host/loader.h>
#include <unistd.h>

namespace tesseract::python {

// The host's tesseract_lost_thread_table::lose; null where it has none.
inline void (*lose_thread)() = nullptr;

inline void find_lose_thread(const tesseract_host_table &host) {
  const auto *table = static_cast<const tesseract_lost_thread_table *>(
      host.extension(TESSERACT_LOST_THREAD_ID, TESSERACT_NTS));
  lose_thread = table ? table->lose : nullptr;
}

// Lets go what this thread holds of the host's, and sleeps until the process ends.
[[noreturn]] inline void sleep_for_ever() {
  if (lose_thread) lose_thread();
  for (;;) pause();
}

// Stands around a call of Python's API: what is asked to end in it gets no further than here. Costs
// nothing where nothing is unwound.  In a function of its own where the caller must not throw, as
// destructors mustn't: compilers leave out what there would be to do before they terminate.
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
