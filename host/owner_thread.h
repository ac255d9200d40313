// The thread of a component that is bound to one ("threads": "owner"): its functions run there, and
// nowhere else, while their callers wait.
//
// A job stands for its caller: it takes over the identity by which locks know the caller, so that
// what the caller is inside of can be entered again, and the floating-point environment, flags
// included.  A thread of this kind that waits for another of them does the jobs of its own chain of
// calls meanwhile: components that call each other in a circle don't wait for each other.
#pragma once

#include <atomic>
#include <cfenv>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <type_traits>

namespace host {

class OwnerThread {
 public:
  // Starts the thread; throws Failure (unavailable) where there can be no more.
  static OwnerThread *start();

  // Ends the thread, once it has nothing to do, and frees this object.  One that a fork has lost is
  // left as it is.
  static void end(OwnerThread *thread);

  OwnerThread(const OwnerThread &) = delete;
  OwnerThread &operator=(const OwnerThread &) = delete;

  bool is_this_thread() const;

  // In a forked child: the thread is gone, unless it is the one that forked.
  void reset_after_fork();

  // Where this thread is one of these, and will never return from what it runs: those who wait for
  // it go on, as after a fork.  False where it is another.
  static bool lose_this_thread();

  // Runs the body on the thread, at once if this is it, and throws what it throws.  False: the
  // thread was lost before the body returned.
  template <typename Body>
  bool run(Body &&body) {
    Job job;
    job.function = [](void *data) { (*static_cast<std::remove_reference_t<Body> *>(data))(); };
    job.data = const_cast<void *>(static_cast<const void *>(&body));
    return run_job(job);
  }

 private:
  // Where a thread sleeps.
  struct Waiter {
    std::mutex mutex;
    std::condition_variable changed;
  };

  struct Job {
    void (*function)(void *data) = nullptr;
    void *data = nullptr;
    uint64_t chain = 0;  // the identity of the thread where the chain of calls began
    std::fenv_t environment{};
    std::exception_ptr exception;
    Waiter *waiter = nullptr;
    bool done = false, lost = false;  // guarded by the waiter's mutex
    Job *next = nullptr;              // in the queue; once taken, the job around it
  };

  OwnerThread() = default;
  ~OwnerThread() = default;

  bool run_job(Job &job);
  bool add(Job &job);
  Job *take(const uint64_t *chain);
  void wait(Job &job);
  void execute(Job &job);
  static void finish(Job &job, bool lost);
  void serve();

  Waiter waiter_;
  Job *first_ = nullptr, *last_ = nullptr;  // guarded, like the next two, by the waiter's mutex
  bool ending_ = false;
  bool frees_itself_ = false;
  Job *running_ = nullptr;  // innermost
  std::atomic<bool> lost_{false};
  uint64_t forks_ = 0;
  std::thread thread_;
};

}  // namespace host
