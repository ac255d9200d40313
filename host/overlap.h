// Whether an output shares memory with an input or another output.
#pragma once

#include <cstdint>

namespace host {

// Addresses of positions in, then out: [begins[i], ends[i]).  User addresses are positive as
// signed numbers.  begin = end = 0: to be allocated.  Both arrays are writable up to padded_count.
struct Extents {
  int64_t *begins;
  int64_t *ends;
};

constexpr uint32_t overlap_lanes = 4;
constexpr uint32_t padded_count(uint32_t n) {
  return (n + overlap_lanes - 1) / overlap_lanes * overlap_lanes;
}

using OverlapFunction = bool (*)(const Extents &extents, uint32_t n_in, uint32_t n_out);

// The best one for this processor.  May say yes where a zero-size tensor lies inside another.
extern const OverlapFunction outputs_overlap;

}  // namespace host
