// The loaders that this process knows, and which of them opens a source.
#pragma once

#include <tesseract_host/loader.h>

#include <array>
#include <atomic>
#include <string_view>

namespace host {

// Only grows; read without a lock.
class LoaderList {
 public:
  static constexpr int most = 8;

  int count() const { return count_.load(std::memory_order_acquire); }
  const tesseract_loader_table *at(int i) const { return tables_[static_cast<size_t>(i)]; }
  bool full() const { return count() == most; }
  void add(const tesseract_loader_table *table) {
    const int n = count();
    tables_[static_cast<size_t>(n)] = table;
    count_.store(n + 1, std::memory_order_release);
  }

 private:
  std::array<const tesseract_loader_table *, most> tables_{};
  std::atomic<int> count_{0};
};

// In a forked child: whoever held the lock is gone.
void reset_loaders_after_fork();

// Those known so far, for hooks.
const LoaderList &known_loaders();

// The loader named `name`, or, where that is empty, the one that accepts the source.  Looks for
// loader libraries when those known don't do.  Throws Failure (not found) saying what was tried.
const tesseract_loader_table &choose_loader(std::string_view source, std::string_view name);

}  // namespace host
