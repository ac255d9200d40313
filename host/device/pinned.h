// Page-locked host memory for copies to and from devices: kept for the next call, bounded.
#pragma once

#include <cstddef>
#include <vector>

#include "driver.h"

namespace host::cuda {

// The blocks of one call on one stream.  The context of the stream's device is current throughout.
class PinnedBlocks {
 public:
  PinnedBlocks(int ordinal, Stream stream) : ordinal_(ordinal), stream_(stream) {}
  // Without `finish` or `reuse` something has failed: copies that may still run are waited for.
  ~PinnedBlocks();
  PinnedBlocks(const PinnedBlocks &) = delete;
  PinnedBlocks &operator=(const PinnedBlocks &) = delete;

  // Memory for `bytes`, aligned like the host's own.  Page-locked up to the bound, beyond it of the
  // usual kind, from which copies are slower.  Throws Failure or std::bad_alloc.
  void *take(size_t bytes);

  // The blocks may be used again at once: no copy runs.
  void reuse() noexcept;

  // The blocks may be used again when what the stream has been given up to here is done.
  // Throws Failure.
  void finish();

  struct Block {
    void *data;
    size_t bytes;
    bool pinned;
  };

 private:
  void free_pageable() noexcept;

  int ordinal_;
  Stream stream_;
  std::vector<Block> blocks_;
};

}  // namespace host::cuda
