// One-shot calls: a signature is resolved once and remembered.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "call.h"

namespace host {

// The calls that one-shot calls of a component resolved, the least recently used dropped.
class SignatureCache {
 public:
  static constexpr size_t most = 64;

  // The call for `key`, or null.
  CallReference find(uint64_t hash, const std::string_view key);

  // Remembers a call; not after clear().
  void add(uint64_t hash, std::string key, const CallReference &call);

  // In a forked child: whoever held the lock is gone.
  void reset_after_fork() { new (&mutex_) std::mutex; }

  // Forgets all, for good: cached calls hold their component.
  void clear();

 private:
  struct Entry {
    uint64_t hash;
    uint64_t used;
    std::string key;
    CallReference call;
  };
  std::mutex mutex_;
  std::vector<Entry> entries_;
  uint64_t clock_ = 0;
  bool closed_ = false;
};

}  // namespace host
