#include "owner_thread.h"

#include <new>
#include <system_error>
#include <utility>

#include "call_lock.h"
#include "error.h"
#include "process.h"

namespace host {
namespace {

thread_local OwnerThread *this_owner = nullptr;

// A job as part of its caller: counted as running, known to locks as the caller is, computing as
// the caller does.
class Impersonation {
 public:
  Impersonation(uint64_t chain, std::fenv_t &environment)
      : slot_(*thread_slot()), id_(std::exchange(slot_.id, chain)), environment_(environment) {
    slot_.depth.fetch_add(1, std::memory_order_relaxed);
    std::fegetenv(&own_);
    std::fesetenv(&environment_);
  }
  ~Impersonation() {
    std::fegetenv(&environment_);
    std::fesetenv(&own_);
    slot_.depth.fetch_sub(1, std::memory_order_release);
    slot_.id = id_;
  }
  Impersonation(const Impersonation &) = delete;
  Impersonation &operator=(const Impersonation &) = delete;

 private:
  ThreadSlot &slot_;
  uint64_t id_;
  std::fenv_t &environment_;
  std::fenv_t own_{};
};

}  // namespace

OwnerThread *OwnerThread::start() {
  // Its destructor is private: nobody but `end` may decide where it dies.
  auto *made = new OwnerThread;
  try {
    made->thread_ = std::thread([made] { made->serve(); });
    made->run([] {});  // makes the thread's slot: without memory for one, this throws
  } catch (const std::system_error &error) {
    delete made;
    throw Failure(TESSERACT_ERROR_UNAVAILABLE,
                  std::string("no thread for the component: ") + error.what());
  } catch (...) {
    end(made);
    throw;
  }
  return made;
}

void OwnerThread::end(OwnerThread *thread) {
  if (thread->lost_) return;
  if (thread->is_this_thread()) {
    thread->frees_itself_ = true;
    thread->ending_ = true;
    return;
  }
  {
    const std::lock_guard lock(thread->waiter_.mutex);
    thread->ending_ = true;
    thread->waiter_.changed.notify_all();
  }
  {
    const WaitHooks hooks;
    thread->thread_.join();
  }
  delete thread;
}

bool OwnerThread::is_this_thread() const {
  return this_owner == this;
}

void OwnerThread::reset_after_fork() {
  forks_++;
  if (this_owner != this) lost_ = true;
  new (&waiter_) Waiter;
  first_ = last_ = nullptr;  // of callers that are gone
}

bool OwnerThread::lose_this_thread() {
  OwnerThread *self = this_owner;
  if (!self) return false;
  thread_slot()->depth.store(0, std::memory_order_release);
  Job *waiting = nullptr;
  {
    const std::lock_guard lock(self->waiter_.mutex);
    self->lost_ = true;
    waiting = std::exchange(self->first_, nullptr);
    self->last_ = nullptr;
  }
  // A job may be gone as soon as it is finished.
  for (Job *list : {waiting, std::exchange(self->running_, nullptr)}) {
    while (list) finish(*std::exchange(list, list->next), true);
  }
  return true;
}

bool OwnerThread::run_job(Job &job) {
  if (is_this_thread()) {
    job.function(job.data);
    return true;
  }
  Waiter own;
  job.waiter = this_owner ? &this_owner->waiter_ : &own;
  job.chain = thread_slot()->id;
  std::fegetenv(&job.environment);
  {
    const WaitHooks hooks;
    if (!add(job)) return false;
    wait(job);
  }
  if (job.lost) return false;
  std::fesetenv(&job.environment);
  if (job.exception) std::rethrow_exception(job.exception);
  return true;
}

bool OwnerThread::add(Job &job) {
  const std::lock_guard lock(waiter_.mutex);
  if (lost_) return false;
  (last_ ? last_->next : first_) = &job;
  last_ = &job;
  waiter_.changed.notify_all();
  return true;
}

// The next job, of this chain where one is given; null if there is none.
OwnerThread::Job *OwnerThread::take(const uint64_t *chain) {
  Job *before = nullptr;
  for (Job *job = first_; job; before = job, job = job->next) {
    if (chain && job->chain != *chain) continue;
    (before ? before->next : first_) = job->next;
    if (last_ == job) last_ = before;
    return job;
  }
  return nullptr;
}

void OwnerThread::wait(Job &job) {
  std::unique_lock lock(job.waiter->mutex);
  while (!job.done) {
    if (Job *nested = this_owner ? this_owner->take(&job.chain) : nullptr) {
      lock.unlock();
      this_owner->execute(*nested);
      lock.lock();
    } else {
      job.waiter->changed.wait(lock);
    }
  }
}

void OwnerThread::execute(Job &job) {
  const uint64_t forks = forks_;
  job.next = std::exchange(running_, &job);
  try {
    const Impersonation impersonation(job.chain, job.environment);
    job.function(job.data);
  } catch (...) {
    job.exception = std::current_exception();
  }
  running_ = job.next;
  if (forks == forks_) finish(job, false);  // else this is a child, and who waits is in the parent
}

// All under the lock: once it is free, the job and its waiter may be gone.
void OwnerThread::finish(Job &job, bool lost) {
  const std::lock_guard lock(job.waiter->mutex);
  job.lost = lost;
  job.done = true;
  job.waiter->changed.notify_all();
}

void OwnerThread::serve() {
  this_owner = this;
  {
    std::unique_lock lock(waiter_.mutex);
    for (;;) {
      if (Job *job = take(nullptr)) {
        lock.unlock();
        execute(*job);
        lock.lock();
      } else if (ending_) {
        break;
      } else {
        waiter_.changed.wait(lock);
      }
    }
  }
  if (!frees_itself_) return;
  thread_.detach();
  delete this;
}

}  // namespace host
