// One opened instance: its plugin table, description, lock and counts.
#pragma once

#include <tesseract_host/loader.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "call_lock.h"
#include "description.h"
#include "error.h"
#include "owner_thread.h"

namespace host {

class SignatureCache;

// Calls per thread shard, each on a cache line of its own.
struct alignas(64) CallCount {
  std::atomic<uint64_t> value{0};
};

}  // namespace host

// The way of a component's lines to the embedder.
struct tesseract_log {
  void (*function)(void *data, int32_t level, const char *text, uint64_t length) = nullptr;
  void *data = nullptr;
  void (*free)(void *data) = nullptr;

  tesseract_log() = default;
  tesseract_log(const tesseract_log &) = delete;
  tesseract_log &operator=(const tesseract_log &) = delete;
  ~tesseract_log() {
    if (free) free(data);
  }

  void write(int32_t level, std::string_view text) const;
};

struct tesseract_component {
  std::atomic<uint32_t> references{1};
  std::atomic<bool> closed{false};

  std::string source;
  host::Description description;
  tesseract_log log;

  const tesseract_plugin_table *plugin = nullptr;
  void *instance = nullptr;
  bool listing = false;
  bool check_pointers = false;  // addresses of device tensors are looked up in each call

  // Null for a component that is concurrent or has a thread of its own.
  host::CallLock *lock = nullptr;
  host::CallLock own_lock;
  std::atomic<host::OwnerThread *> owner{nullptr};

  std::array<host::CallCount, host::count_shards> calls;
  std::atomic<uint64_t> prepared{0};
  struct Copies {
    std::atomic<uint64_t> count{0}, bytes{0};
  };
  std::array<Copies, 4> copies;  // by TESSERACT_COPY_… - 1

  std::unique_ptr<host::SignatureCache> cache;

  std::mutex text_mutex;
  std::string description_text, openapi_text;

  tesseract_component();
  ~tesseract_component();

  void count_call(const host::ThreadSlot &slot);
  void count_copy(int32_t reason, uint64_t bytes);

  // The endpoint function that the component offers itself, or null.
  tesseract_endpoint offered(int32_t endpoint) const;
  bool has_prepare() const;

  host::Place place(int32_t endpoint = 0) const;

  // Runs a function of the component's: on its own thread, if it has one, else here.  Throws what
  // the body throws; false, with nothing run, where a fork has lost that thread.
  template <typename Body>
  bool run(Body &&body) {
    host::OwnerThread *thread = owner.load(std::memory_order_acquire);
    if (thread) return thread->run(body);
    body();
    return true;
  }
  bool is_on_own_thread() const;
};

namespace host {

// Holds a component alive.
class ComponentReference {
 public:
  explicit ComponentReference(tesseract_component *component) : component_(component) {
    component_->references.fetch_add(1, std::memory_order_relaxed);
  }
  ~ComponentReference() { release(component_); }
  ComponentReference(const ComponentReference &) = delete;
  ComponentReference &operator=(const ComponentReference &) = delete;

  static void release(tesseract_component *component);

 private:
  tesseract_component *component_;
};

// Runs a function of a component that has no way to report: what it throws is dropped.
template <typename Body>
void quietly(Body &&body) noexcept {
  try {
    body();
  } catch (...) {
  }
}

// What is said where `run` is false.
constexpr const char *lost_thread_text =
    "the thread of the component is no more: this process was forked, or the interpreter has ended";

// Throws Failure unless one-shot calls may be made: closed, or only listed.
void require_open(const tesseract_component &component);

const char *endpoint_name(int32_t endpoint);

// Releases what a thread holds that will never leave the calls it is in: locks, and, where it is
// the thread of a component, those who wait for it.
void lose_this_thread();

// True if a living component uses this table.
int32_t plugin_in_use(const tesseract_plugin_table *plugin);

// Runs `unload` while no component is being opened; throws Failure (unavailable) if one is.
void while_nothing_opens(const std::function<void()> &unload);

inline void count_one(std::atomic<uint64_t> &counter, bool own) {
  if (own)
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  else
    counter.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace host

inline void tesseract_component::count_call(const host::ThreadSlot &slot) {
  // All shards but the last belong to one thread.
  host::count_one(calls[slot.shard].value, slot.shard < host::count_shards - 1);
}
