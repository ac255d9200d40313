// The table of prepared calls.  Looked up by every call, so reading neither locks nor allocates.
//
// An entry is made once for what it is named by and never freed, so that a reader needs no more
// than a pointer to it; what was prepared is freed when its component is removed and no call uses
// the entry any more.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "execute.h"
#include "prepared.h"

namespace tesseract::jax {

// What an entry is found by.
struct Name {
  std::string_view identity, endpoint, spec;
  uint64_t key;  // of the three
  DLDevice device;

  bool operator==(const Name &other) const {
    return key == other.key && device.device_type == other.device.device_type &&
           device.device_id == other.device.device_id && spec == other.spec &&
           identity == other.identity && endpoint == other.endpoint;
  }
};

class Entry {
 public:
  explicit Entry(const Name &name);
  Entry(const Entry &) = delete;
  Entry &operator=(const Entry &) = delete;

  const Name &name() const { return name_; }
  uint64_t calls() const { return uses_.load() >> running_bits; }
  uint64_t runs() const { return uses_.load() & running; }

 private:
  friend class Use;
  friend class Calls;

  static constexpr int running_bits = 20;
  static constexpr uint64_t running = (uint64_t{1} << running_bits) - 1;
  static constexpr uint64_t call = running + 1;

  std::string identity_, endpoint_, spec_;
  Name name_;
  // Calls so far, and in the lowest bits those that run.
  std::atomic<uint64_t> uses_{0};
  std::atomic<Prepared *> prepared_{nullptr};       // owned; written under the lock
  std::atomic<bool> retiring_{false};               // whether there is something in retired_
  std::vector<std::unique_ptr<Prepared>> retired_;  // guarded by the lock
};

// A call that uses an entry: what is prepared there now stays until it ends.
//
// The entry's count goes up before `prepared_` is read, and whoever empties that reads the count
// afterwards: either the reader sees it empty, or the other sees the reader.
class Use {
 public:
  // `counted`: as one of the entry's calls.
  Use(Entry &entry, bool counted) : entry_(&entry) {
    entry.uses_.fetch_add(counted ? Entry::call + 1 : 1);
    prepared_ = entry.prepared_.load();
  }
  Use(Use &&other) noexcept : entry_(other.entry_), prepared_(other.prepared_) {
    other.entry_ = nullptr;
  }
  Use &operator=(Use &&) = delete;
  ~Use() {
    if (!entry_) return;
    const uint64_t before = entry_->uses_.fetch_sub(1);
    if ((before & Entry::running) == 1 && entry_->retiring_.load()) [[unlikely]]
      reclaim(*entry_);
  }

  const Prepared *prepared() const { return prepared_; }
  void count() { entry_->uses_.fetch_add(Entry::call); }

 private:
  static void reclaim(Entry &entry);

  Entry *entry_;
  const Prepared *prepared_;
};

// The entry of this name, or null.
Entry *find_entry(const Name &name);

// The entry of this key on this device, or null; throws Failure where there are several.
Entry *find_entry(uint64_t key, DLDevice device);

// A use of what is prepared under this name, which is prepared now where it isn't yet; throws
// Failure.
Use prepare_entry(const Name &name);

// See adapter.h.
void add_component(std::string_view identity, tesseract_component *component);
void remove_component(std::string_view identity);
uint64_t calls_of(std::string_view identity, std::string_view endpoint);
uint64_t running_of(std::string_view identity);

}  // namespace tesseract::jax
