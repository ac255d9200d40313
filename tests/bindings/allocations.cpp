#include "allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> count{0};

}  // namespace

std::size_t allocations() {
  return count.load();
}

// All forms for one object, so that a sanitizer's own don't mix with these.
void *operator new(std::size_t size, const std::nothrow_t &) noexcept {
  ++count;
  return std::malloc(size == 0 ? 1 : size);
}

void *operator new(std::size_t size) {
  if (void *memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}

void operator delete(void *memory) noexcept {
  std::free(memory);
}

void operator delete(void *memory, std::size_t) noexcept {
  std::free(memory);
}

void operator delete(void *memory, const std::nothrow_t &) noexcept {
  std::free(memory);
}
