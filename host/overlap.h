// Whether an output shares memory with an input or another output.
#pragma once

#include <cstdint>

namespace host {

// begins and sizes: addresses and bytes of n_in inputs, then n_out outputs; begin 0: to be
// allocated, overlaps nothing.  May say yes where a zero-size tensor lies inside another.
inline bool outputs_overlap(const uint64_t *begins, const uint64_t *sizes, uint32_t n_in,
                            uint32_t n_out) {
  uint64_t bad = 0;
  for (uint32_t o = n_in; o < n_in + n_out; o++) {
    const uint64_t begin = begins[o], size = begin ? sizes[o] : 0;
    for (uint32_t i = 0; i < o; i++) {
      // One unsigned comparison each way: the distance from one begin to the other.
      bad |= static_cast<uint64_t>(begin - begins[i] < sizes[i]) |
             static_cast<uint64_t>(begins[i] - begin < size);
    }
  }
  return bad != 0;
}

}  // namespace host
