// The state of the process: which calls run, shutdown, forks, and waiting.
//
// A call announces itself in a slot of its thread by plain stores.  Whoever must see all of them
// (shutdown) pays for the fence: membarrier makes the stores of every running thread visible.
#pragma once

#include <atomic>
#include <cstdint>

namespace host {

// One per thread, never shared between two living threads.  Calls are counted in shards, so that
// threads don't write to one cache line; the last shard is for all threads beyond.
constexpr uint32_t count_shards = 8;

struct ThreadSlot {
  std::atomic<uint32_t> depth{0};  // of calls running on the thread
  uint32_t shard = count_shards - 1;
  uint64_t id = 0;  // of the thread, never 0, for locks
};

enum ProcessState : uint32_t { process_running = 0, process_draining = 1, process_forked = 2 };

extern std::atomic<uint32_t> process_state;

// The slot of this thread, null until its first call.  In the initial thread-local block: one
// load.
#if defined(__clang__) || defined(__GNUC__)
[[gnu::tls_model("initial-exec")]]
#endif
extern thread_local ThreadSlot *this_thread_slot;

// Makes the slot; throws std::bad_alloc.
ThreadSlot *make_thread_slot();

inline ThreadSlot *thread_slot() {
  ThreadSlot *slot = this_thread_slot;
  return slot ? slot : make_thread_slot();
}

// Throws Failure (unavailable) unless a call may begin although the state is not running.
void admit_call(const ThreadSlot &slot);

// A call that runs on this thread.
class RunningCall {
 public:
  RunningCall() : slot_(*thread_slot()) {
    depth_ = slot_.depth.load(std::memory_order_relaxed);
    slot_.depth.store(depth_ + 1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (process_state.load(std::memory_order_relaxed) != process_running) [[unlikely]]
      admit();
  }
  ~RunningCall() { slot_.depth.store(depth_, std::memory_order_release); }
  RunningCall(const RunningCall &) = delete;
  RunningCall &operator=(const RunningCall &) = delete;

  const ThreadSlot &slot() const { return slot_; }

 private:
  void admit();

  ThreadSlot &slot_;
  uint32_t depth_;
};

// Makes earlier stores of all threads visible here, and stores here visible to them.
void fence_all_threads();

// Throws Failure (unavailable) in a forked child or while shutting down; for functions that are no
// calls, such as open.
void require_running();

// After process_state is draining: waits until no other thread is in a call; false after `seconds`.
bool drain_calls(double seconds);

// A lock that forks don't break: taken around fork, free in parent and child afterwards.
// Registered once, before the first thread could fork.
struct ForkHandlers {
  void (*before)();
  void (*after)();        // in the parent, and in a child that may go on
  void (*reset_child)();  // in the child: locks held by threads that are gone
};
void install_fork_handlers(const ForkHandlers &handlers);

// In a child that is whole: calls are allowed again.
void resume_after_fork();

}  // namespace host
