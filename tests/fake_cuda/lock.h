// The fake's one lock.  Not a pthread mutex, which tests of what the host locks would count.
#ifndef TESTS_FAKE_CUDA_LOCK_H
#define TESTS_FAKE_CUDA_LOCK_H

#include <sched.h>

#include <atomic>
#include <cstdint>

namespace fake {

// A number of this thread that no other thread had or will have.
inline std::uint64_t this_thread() {
  static std::atomic<std::uint64_t> last{0};
  thread_local const std::uint64_t number = ++last;
  return number;
}

class Lock {  // recursive: work of a stream may look at memory
 public:
  void lock() {
    const std::uint64_t thread = this_thread();
    if (owner_.load(std::memory_order_relaxed) != thread)
      for (std::uint64_t none = 0;
           !owner_.compare_exchange_weak(none, thread, std::memory_order_acquire); none = 0)
        sched_yield();
    depth_++;
  }

  void unlock() {
    if (--depth_ == 0) owner_.store(0, std::memory_order_release);
  }

 private:
  std::atomic<std::uint64_t> owner_{0};
  int depth_ = 0;
};

}  // namespace fake

#endif
