#include "process.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <vector>

#include "error.h"

namespace host {

std::atomic<uint32_t> process_state{process_running};
thread_local ThreadSlot *this_thread_slot = nullptr;

namespace {

// Never destroyed: threads may outlive the destructors of static objects.
struct Registry {
  std::mutex mutex;
  std::vector<ThreadSlot *> slots;
  std::array<bool, count_shards - 1> taken{};
  uint64_t next_id = 1;
};

Registry &registry() {
  static Registry *const made = new Registry;
  return *made;
}

// Gives the slot back when its thread ends.
struct SlotOwner {
  ThreadSlot *slot = nullptr;
  ~SlotOwner() {
    if (!slot) return;
    this_thread_slot = nullptr;
    Registry &all = registry();
    const std::lock_guard lock(all.mutex);
    if (slot->shard < all.taken.size()) all.taken[slot->shard] = false;
    std::erase(all.slots, slot);
    delete slot;
  }
};
thread_local SlotOwner slot_owner;

bool register_membarrier() {
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

ForkHandlers fork_handlers;

void registry_before_fork() {
  fork_handlers.before();
  registry().mutex.lock();
}

void after_fork_in_parent() {
  registry().mutex.unlock();
  fork_handlers.after();
}

void after_fork_in_child() {
  Registry &all = registry();
  // Only this thread went through the fork.
  all.slots.clear();
  all.taken.fill(false);
  if (this_thread_slot) {
    all.slots.push_back(this_thread_slot);
    if (this_thread_slot->shard < all.taken.size()) all.taken[this_thread_slot->shard] = true;
  }
  all.mutex.unlock();
  process_state.store(process_forked);
  fork_handlers.reset_child();
  fork_handlers.after();
}

}  // namespace

ThreadSlot *make_thread_slot() {
  auto slot = std::make_unique<ThreadSlot>();
  Registry &all = registry();
  const std::lock_guard lock(all.mutex);
  slot->id = all.next_id++;
  const auto free = std::find(all.taken.begin(), all.taken.end(), false);
  all.slots.push_back(slot.get());
  if (free != all.taken.end()) {
    *free = true;
    slot->shard = static_cast<uint32_t>(free - all.taken.begin());
  }
  slot_owner.slot = slot.get();
  return this_thread_slot = slot.release();
}

void admit_call(const ThreadSlot &slot) {
  const uint32_t state = process_state.load();
  // A call made inside a running one is part of what shutdown waits for.
  if (state == process_running ||
      (state == process_draining && slot.depth.load(std::memory_order_relaxed) > 1))
    return;
  throw Failure(TESSERACT_ERROR_UNAVAILABLE,
                state == process_forked
                    ? "this process was forked from one that uses tesseract-host: open components "
                      "after the fork, in a program started by exec"
                    : "tesseract_shutdown was called");
}

void RunningCall::admit() {
  try {
    admit_call(slot_);
  } catch (...) {
    slot_.depth.store(depth_, std::memory_order_relaxed);
    throw;
  }
}

void require_running() {
  ThreadSlot nobody;
  admit_call(nobody);
}

void fence_all_threads() {
  static const bool expedited = register_membarrier();
  // A fence of this thread, as an operation that the thread sanitizer knows.
  static std::atomic<int> order{0};
  order.fetch_add(0, std::memory_order_seq_cst);
  if (expedited && syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) return;
  // Old kernels: store buffers drain within microseconds by themselves.
  const timespec pause = {0, 2000000};
  nanosleep(&pause, nullptr);
}

bool drain_calls(double seconds) {
  fence_all_threads();
  const timespec pause = {0, 1000000};
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const auto read = [](const timespec &t) { return double(t.tv_sec) + 1e-9 * double(t.tv_nsec); };
  const double end = read(now) + seconds;
  for (;;) {
    bool busy = false;
    {
      Registry &all = registry();
      const std::lock_guard lock(all.mutex);
      for (const ThreadSlot *slot : all.slots)
        busy |= slot != this_thread_slot && slot->depth.load(std::memory_order_acquire) > 0;
    }
    if (!busy) return true;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (read(now) >= end) return false;
    nanosleep(&pause, nullptr);
  }
}

void install_fork_handlers(const ForkHandlers &handlers) {
  static std::once_flag once;
  std::call_once(once, [&] {
    fork_handlers = handlers;
    fence_all_threads();  // registers, while it is cheap
    pthread_atfork(registry_before_fork, after_fork_in_parent, after_fork_in_child);
  });
}

void resume_after_fork() {
  uint32_t forked = process_forked;
  process_state.compare_exchange_strong(forked, process_running);
}

}  // namespace host
