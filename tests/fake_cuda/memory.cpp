#include "memory.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "arena.h"

namespace fake {
namespace {

constexpr std::uint64_t longest_poison = std::uint64_t{16} << 20;  // the rest is zero

std::map<Pointer, std::shared_ptr<Block>> &blocks() {
  static auto *const all = new std::map<Pointer, std::shared_ptr<Block>>;
  return *all;
}

// What is in use, kept beside the blocks, among which are all the freed ones.
Usage usage = {};
std::map<Ordinal, std::uint64_t> &device_bytes() {
  static auto *const all = new std::map<Ordinal, std::uint64_t>;
  return *all;
}

void count(const Block &block, std::int64_t sign) {
  const std::int64_t size = sign * static_cast<std::int64_t>(block.size);
  if (block.kind == Kind::registered) {
    usage.registrations += sign;
  } else if (block.kind == Kind::host) {
    usage.host_allocations += sign;
    usage.host_bytes += size;
  } else {
    usage.device_allocations += sign;
    usage.device_bytes += size;
    device_bytes()[block.device] += static_cast<std::uint64_t>(size);
  }
}

// Where blocks of this kind are; device memory is per device, the rest is the CPU's too.
Arena &arena_of(Kind kind, Ordinal device) {
  static auto *const devices = new std::map<Ordinal, Arena>;
  static auto *const host = new Arena(Arena::Public::yes);
  if (kind == Kind::host || kind == Kind::managed) return *host;
  return devices->try_emplace(device, Arena::Public::no).first->second;
}

bool fits(Kind kind, Ordinal device, std::uint64_t size) {
  const Options &options = world().options;
  const auto limit =
      static_cast<std::uint64_t>(kind == Kind::host ? options.host_memory : options.memory);
  const std::uint64_t used = kind == Kind::host
                                 ? static_cast<std::uint64_t>(memory_usage().host_bytes)
                                 : memory_used(device);
  return size <= limit && used <= limit - size;
}

bool overlaps_live(Pointer begin, Pointer end, Pointer &after) {
  auto next = blocks().lower_bound(end);
  while (next != blocks().begin()) {
    --next;
    const Block &block = *next->second;
    if (block.base + block.size <= begin) return false;
    if (!block.live && !block.resident) continue;
    after = block.base + block.size;
    return true;
  }
  return false;
}

// Freed blocks whose addresses are given again are remembered no more.
void forget_freed(Pointer begin, Pointer end) {
  auto next = blocks().lower_bound(begin);
  if (next != blocks().begin() &&
      std::prev(next)->second->base + std::prev(next)->second->size > begin)
    --next;
  while (next != blocks().end() && next->first < end) next = blocks().erase(next);
}

bool ordered(const Access &access, const Clock &clock) {
  return clock[access.stream] >= access.count;
}

void report_race(const Block &block, const Access &before, const Access &now) {
  fault("race", "%s bytes %llu to %llu of %#llx, which %s %s on stream #%zu: nothing orders them",
        now.write ? "writes" : "reads", static_cast<unsigned long long>(now.begin),
        static_cast<unsigned long long>(now.end), static_cast<unsigned long long>(block.base),
        before.function, before.write ? "writes" : "reads", before.stream);
}

const char *kind_name(Kind kind) {
  switch (kind) {
    case Kind::device:
      return "device memory";
    case Kind::pool:
      return "stream-ordered device memory";
    case Kind::managed:
      return "managed memory";
    case Kind::host:
      return "page-locked host memory";
    case Kind::registered:
      return "registered host memory";
  }
  return "memory";
}

}  // namespace

std::shared_ptr<Block> allocate(Kind kind, Context &context, std::uint64_t size) {
  if (!fits(kind, context.device, size)) return nullptr;
  Arena &arena = arena_of(kind, context.device);
  const Pointer base = arena.place(size, overlaps_live);
  if (base == 0) return nullptr;
  forget_freed(base, base + size);
  auto block = std::make_shared<Block>();
  block->kind = kind;
  block->base = base;
  block->size = size;
  block->context = &context;
  block->device = context.device;
  block->alias = arena.open(base, size);
  std::memset(block->alias, FAKE_CUDA_POISON, std::min(size, longest_poison));
  blocks().emplace(base, block);
  count(*block, 1);
  return block;
}

std::shared_ptr<Block> register_memory(void *memory, std::uint64_t size, Context &context) {
  const auto base = reinterpret_cast<Pointer>(memory);
  Pointer after = 0;
  if (overlaps_live(base, base + size, after)) return nullptr;
  forget_freed(base, base + size);
  auto block = std::make_shared<Block>();
  block->kind = Kind::registered;
  block->base = base;
  block->size = size;
  block->context = &context;
  block->device = context.device;
  block->alias = static_cast<std::byte *>(memory);
  blocks().emplace(base, block);
  count(*block, 1);
  return block;
}

void unregister(const Block &block) {
  count(block, -1);
  blocks().erase(block.base);
}

void mark_freed(Block &block) {
  block.live = false;
  count(block, -1);
}

void release_pages(Block &block) {
  if (!block.resident) return;
  block.resident = false;
  block.accesses = {};
  if (block.kind != Kind::registered)
    arena_of(block.kind, block.device).close(block.base, block.size);
}

std::shared_ptr<Block> find_block(Pointer pointer) {
  auto next = blocks().upper_bound(pointer);
  if (next == blocks().begin()) return nullptr;
  const std::shared_ptr<Block> &block = std::prev(next)->second;
  return pointer - block->base < std::max<std::uint64_t>(block->size, 1) ? block : nullptr;
}

std::shared_ptr<Block> live_block(Pointer pointer, std::uint64_t bytes, bool fault_unknown,
                                  bool &wrong) {
  std::shared_ptr<Block> block = find_block(pointer);
  wrong = true;
  if (!block) {
    wrong = fault_unknown;
    if (fault_unknown)
      fault("unknown-pointer", "%#llx is no memory of the driver",
            static_cast<unsigned long long>(pointer));
    return nullptr;
  }
  if (!block->live) {
    fault("use-after-free", "%#llx is in %s that was freed",
          static_cast<unsigned long long>(pointer), kind_name(block->kind));
    return nullptr;
  }
  if (bytes > block->size - (pointer - block->base)) {
    fault("out-of-bounds", "%llu bytes at %#llx, in %s of %llu bytes at %#llx",
          static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(pointer),
          kind_name(block->kind), static_cast<unsigned long long>(block->size),
          static_cast<unsigned long long>(block->base));
    return nullptr;
  }
  wrong = false;
  return block;
}

std::shared_ptr<Block> block_to_free(Pointer pointer, bool on_device) {
  std::shared_ptr<Block> block = find_block(pointer);
  const auto address = static_cast<unsigned long long>(pointer);
  if (block && block->base == pointer && !block->live)
    fault("double-free", "%#llx was freed before", address);
  else if (!block || block->base != pointer || block->kind == Kind::registered)
    fault("unknown-pointer", "%#llx is no allocation of the driver", address);
  else if (block->on_device() != on_device)
    fault("unknown-pointer", "%#llx is %s, which this function doesn't free", address,
          kind_name(block->kind));
  else
    return block;
  return nullptr;
}

void check_order(Block &block, const Access &access, const Clock &clock) {
  std::vector<Access> &all = block.accesses;
  bool raced = false;  // one report for one access
  for (const Access &before : all) {
    const bool overlap = before.begin < access.end && access.begin < before.end;
    if (raced || !overlap || !(before.write || access.write) || ordered(before, clock)) continue;
    report_race(block, before, access);
    raced = true;
  }
  const auto covered = [&](const Access &before) {
    return before.begin >= access.begin && before.end <= access.end &&
           (access.write || (!before.write && before.stream == access.stream));
  };
  all.erase(std::remove_if(all.begin(), all.end(), covered), all.end());
  all.push_back(access);
}

std::int64_t lose_memory(Context &context) {
  std::int64_t lost = 0;
  for (auto &[base, block] : blocks()) {
    if (block->context != &context || !block->live || block->kind == Kind::pool ||
        block->kind == Kind::registered)
      continue;
    lost++;
    mark_freed(*block);
    release_pages(*block);
  }
  return lost;
}

void forget_memory() {
  for (auto &[base, block] : blocks()) release_pages(*block);
  blocks().clear();
  usage = {};
  device_bytes().clear();
}

Usage memory_usage() {
  return usage;
}

std::uint64_t memory_used(Ordinal device) {
  return device_bytes()[device];
}

}  // namespace fake
