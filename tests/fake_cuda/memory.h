// Memory of the driver: where it is, what it is, who uses it.
//
// Device memory has two addresses: the public one, which programs get and the CPU can't touch, and
// an alias that only the fake and its kernels know.
#ifndef TESTS_FAKE_CUDA_MEMORY_H
#define TESTS_FAKE_CUDA_MEMORY_H

#include <cstdint>
#include <memory>
#include <vector>

#include "world.h"

namespace fake {

enum class Kind { device, pool, managed, host, registered };

// Who read or wrote a part of a block.
struct Access {
  std::uint64_t begin, end;
  std::size_t stream;
  std::uint64_t count;  // of the stream's clock
  bool write;
  const char *function;
};

struct Block {
  Kind kind;
  Pointer base;
  std::uint64_t size;
  Context *context;  // that was current when it was made
  Ordinal device;
  std::byte *alias;
  unsigned flags = 0;
  bool captured = false;  // made by a capture
  bool live = true;
  bool resident = true;  // false: nobody may touch it any more
  std::vector<Access> accesses;

  bool on_device() const { return kind == Kind::device || kind == Kind::pool || managed(); }
  bool managed() const { return kind == Kind::managed; }
  std::byte *at(Pointer pointer) const { return alias + (pointer - base); }
};

// nullptr: out of memory.
std::shared_ptr<Block> allocate(Kind kind, Context &context, std::uint64_t size);
std::shared_ptr<Block> register_memory(void *memory, std::uint64_t size, Context &context);
void unregister(const Block &block);

// The block is freed for its owner; its pages go when nothing uses them any more.
void mark_freed(Block &block);
void release_pages(Block &block);

// The block, live or freed, that holds this address; nullptr: none.
std::shared_ptr<Block> find_block(Pointer pointer);

// The live block that holds all of the range.  Faults and gives nullptr where it is freed, too
// short, or (if wanted) unknown; `known` says which of the two nullptr is.
std::shared_ptr<Block> live_block(Pointer pointer, std::uint64_t bytes, bool fault_unknown,
                                  bool &wrong);

// A live block that begins there, to be given back by a function for these kinds.
std::shared_ptr<Block> block_to_free(Pointer pointer, bool on_device);

// Orders an access after all that came before, as far as the clock knows; else a race.
void check_order(Block &block, const Access &access, const Clock &clock);

std::int64_t lose_memory(Context &context);
void forget_memory();

struct Usage {
  std::int64_t device_allocations, device_bytes, host_allocations, host_bytes, registrations;
};
Usage memory_usage();
std::uint64_t memory_used(Ordinal device);

}  // namespace fake

#endif
