// The lock of a serial component: one exchange where nobody else is inside, sleeping where
// somebody is.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "loaders.h"
#include "process.h"

namespace host {

// What loaders want done around a wait (loader.h): give up the GIL, take it again.
class WaitHooks {
 public:
  WaitHooks();   // calls every loader's before_wait
  ~WaitHooks();  // and its after_wait, in the reverse order
  WaitHooks(const WaitHooks &) = delete;
  WaitHooks &operator=(const WaitHooks &) = delete;

 private:
  std::array<void *, LoaderList::most> states_{};
  int count_ = 0;
};

class CallLock {
 public:
  // Enters; false if this thread is inside already and `reentrant` is false.
  bool enter(const ThreadSlot &slot, bool reentrant) {
    if (taken_.exchange(1, std::memory_order_acquire) != 0) [[unlikely]]
      return enter_slowly(slot.id, reentrant);
    owner_.store(slot.id, std::memory_order_relaxed);
    return true;
  }

  void leave() {
    if (nested_) [[unlikely]] {
      nested_--;
      return;
    }
    owner_.store(0, std::memory_order_relaxed);
    taken_.store(0, std::memory_order_release);
    // A waiter counts itself, then fences this thread too, then looks again before it sleeps.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (waiters_.load(std::memory_order_relaxed) != 0) [[unlikely]] {
      // Orders the store above before notify_one looks for sleepers.
      taken_.fetch_add(0);
      taken_.notify_one();
    }
  }

  // On a thread that never leaves: lets others in, if it is inside.
  void abandon(uint64_t thread);

  // In a forked child: whoever was inside is gone, unless it is the thread that forked.
  void reset_after_fork(uint64_t survivor);

 private:
  bool enter_slowly(uint64_t thread, bool reentrant);

  std::atomic<uint32_t> taken_{0};
  std::atomic<uint32_t> waiters_{0};
  std::atomic<uint64_t> owner_{0};
  uint32_t nested_ = 0;  // entries of the owner beyond the first
};

}  // namespace host
