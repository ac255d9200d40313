#include "pinned.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>

#include "../error.h"
#include "../tensor.h"
#include "context.h"

namespace host::cuda {
namespace {

using Block = PinnedBlocks::Block;

constexpr size_t kSmallest = size_t{1} << 12;

// Blocks of a call whose copies may still run.
struct Batch {
  int ordinal;
  Event event;
  std::vector<Block> blocks;
};

struct Pool {
  std::mutex mutex;
  std::array<std::vector<Block>, 64> free;    // by the power of two of their size
  std::array<std::vector<Event>, 64> events;  // by device
  std::vector<Batch> running;
  size_t bytes = 0;
};

// Never destroyed: the driver may be gone by then.
Pool &pool() {
  static Pool *const made = new Pool;
  return *made;
}

size_t class_of(size_t bytes) {
  return static_cast<size_t>(std::bit_width(std::max(bytes, kSmallest) - 1));
}

// What has been done since is free again; where the driver does not say, it may still be running.
void reap(Pool &pool, const Driver &driver) {
  std::erase_if(pool.running, [&](Batch &batch) {
    if (driver.event_query(batch.event) != kSuccess) return false;
    for (const Block &block : batch.blocks) pool.free[class_of(block.bytes)].push_back(block);
    pool.events[static_cast<size_t>(batch.ordinal)].push_back(batch.event);
    return true;
  });
}

// All page-locked memory there is at most, in bytes: TESSERACT_HOST_PINNED_LIMIT, else 1 GiB.
size_t pinned_limit() {
  static const size_t limit = [] {
    const char *text = std::getenv("TESSERACT_HOST_PINNED_LIMIT");
    char *end = nullptr;
    const unsigned long long asked = text && *text ? std::strtoull(text, &end, 10) : 0;
    return end && !*end ? static_cast<size_t>(asked) : size_t{1} << 30;
  }();
  return limit;
}

// Gives the driver back what nobody uses, until `bytes` more are within the bound.
bool make_room(Pool &pool, const Driver &driver, size_t bytes) {
  const size_t limit = pinned_limit();
  if (bytes > limit) return false;
  for (std::vector<Block> &blocks : pool.free) {
    while (pool.bytes + bytes > limit && !blocks.empty()) {
      driver.free_host(blocks.back().data);
      pool.bytes -= blocks.back().bytes;
      blocks.pop_back();
    }
  }
  return pool.bytes + bytes <= limit;
}

Block pageable(size_t bytes) {
  const size_t rounded = (bytes + block_alignment - 1) / block_alignment * block_alignment;
  void *data = std::aligned_alloc(block_alignment, rounded);
  if (!data) throw std::bad_alloc();
  return {data, bytes, false};
}

Block take_block(size_t bytes) {
  const Driver &cuda = driver();
  const size_t wanted = class_of(bytes), size = size_t{1} << wanted;
  const BesideCaptures beside(cuda);
  Pool &all = pool();
  const std::lock_guard lock(all.mutex);
  reap(all, cuda);
  std::vector<Block> &ready = all.free[wanted];
  if (!ready.empty()) {
    const Block block = ready.back();
    ready.pop_back();
    return block;
  }
  void *data = nullptr;
  if (!make_room(all, cuda, size)) return pageable(bytes);
  const Result result = cuda.allocate_host(&data, size, kHostAllocPortable);
  if (result == kOutOfMemory) return pageable(bytes);
  check(result, "allocating page-locked memory");
  all.bytes += size;
  return {data, size, true};
}

Event take_event(Pool &pool, int ordinal) {
  std::vector<Event> &ready = pool.events[static_cast<size_t>(ordinal)];
  Event event = nullptr;
  if (ready.empty()) {
    check(driver().event_create(&event, kEventDisableTiming), "making an event");
  } else {
    event = ready.back();
    ready.pop_back();
  }
  return event;
}

}  // namespace

PinnedBlocks::~PinnedBlocks() {
  if (blocks_.empty()) return;
  try {
    const Driver &cuda = driver();
    if (cuda.stream_synchronize(stream_) == kSuccess || cuda.context_synchronize() == kSuccess)
      reuse();
  } catch (const Failure &) {
    // The driver is lost.
  }
  // Copies may still run into what is left: it is never freed.
}

void *PinnedBlocks::take(size_t bytes) {
  blocks_.reserve(blocks_.size() + 1);
  blocks_.push_back(take_block(bytes));
  return blocks_.back().data;
}

void PinnedBlocks::free_pageable() noexcept {
  std::erase_if(blocks_, [](const Block &block) {
    if (!block.pinned) std::free(block.data);
    return !block.pinned;
  });
}

void PinnedBlocks::reuse() noexcept {
  free_pageable();
  Pool &all = pool();
  const std::lock_guard lock(all.mutex);
  while (!blocks_.empty()) {
    try {
      all.free[class_of(blocks_.back().bytes)].push_back(blocks_.back());
    } catch (const std::bad_alloc &) {
      return;  // the destructor frees what is left
    }
    blocks_.pop_back();
  }
}

void PinnedBlocks::finish() {
  free_pageable();  // copies from it have read it when they return
  if (blocks_.empty()) return;
  Pool &all = pool();
  const std::lock_guard lock(all.mutex);
  Batch batch{ordinal_, take_event(all, ordinal_), {}};
  const Result result = driver().event_record(batch.event, stream_);
  if (result != kSuccess) {
    all.events[static_cast<size_t>(ordinal_)].push_back(batch.event);
    check(result, "recording an event");
  }
  batch.blocks = std::move(blocks_);
  blocks_.clear();
  all.running.push_back(std::move(batch));
}

}  // namespace host::cuda
