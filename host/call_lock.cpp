#include "call_lock.h"

namespace host {

WaitHooks::WaitHooks() {
  const LoaderList &loaders = known_loaders();
  count_ = loaders.count();
  for (int i = 0; i < count_; i++) {
    const tesseract_loader_table &table = *loaders.at(i);
    if (table.before_wait) states_[static_cast<size_t>(i)] = table.before_wait();
  }
}

WaitHooks::~WaitHooks() {
  const LoaderList &loaders = known_loaders();
  for (int i = count_ - 1; i >= 0; i--) {
    const tesseract_loader_table &table = *loaders.at(i);
    if (table.before_wait && table.after_wait) table.after_wait(states_[static_cast<size_t>(i)]);
  }
}

bool CallLock::enter_slowly(uint64_t thread, bool reentrant) {
  if (owner_.load(std::memory_order_relaxed) == thread) {
    if (reentrant) nested_++;
    return reentrant;
  }
  const WaitHooks hooks;
  waiters_.fetch_add(1);
  fence_all_threads();
  while (taken_.exchange(1, std::memory_order_acquire) != 0) taken_.wait(1);
  waiters_.fetch_sub(1);
  owner_.store(thread, std::memory_order_relaxed);
  return true;
}

void CallLock::abandon(uint64_t thread) {
  if (owner_.load(std::memory_order_relaxed) != thread) return;
  nested_ = 0;
  leave();
}

void CallLock::reset_after_fork(uint64_t survivor) {
  waiters_.store(0);
  if (owner_.load() == survivor && survivor != 0) return;
  nested_ = 0;
  owner_.store(0);
  taken_.store(0);
}

}  // namespace host
