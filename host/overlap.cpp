#include "overlap.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace host {
namespace {

bool overlap_scalar(const Extents &extents, uint32_t n_in, uint32_t n_out) {
  const int64_t *const begins = extents.begins, *const ends = extents.ends;
  bool found = false;
  for (uint32_t o = n_in; o < n_in + n_out; o++)
    for (uint32_t i = 0; i < o; i++) found |= (begins[i] < ends[o]) & (begins[o] < ends[i]);
  return found;
}

#if defined(__x86_64__)
// Lanes of all ones where one of four extents meets [begin, end).
[[gnu::target("avx2"), gnu::always_inline]] inline __m256i meets(const Extents &extents, uint32_t i,
                                                                 __m256i begin, __m256i end) {
  const auto *begins = reinterpret_cast<const __m256i *>(extents.begins + i);
  const auto *ends = reinterpret_cast<const __m256i *>(extents.ends + i);
  return _mm256_and_si256(_mm256_cmpgt_epi64(end, _mm256_loadu_si256(begins)),
                          _mm256_cmpgt_epi64(_mm256_loadu_si256(ends), begin));
}

// Four positions at a time; lanes at and behind the output itself are masked.
[[gnu::target("avx2")]] bool overlap_avx2(const Extents &extents, uint32_t n_in, uint32_t n_out) {
  const uint32_t n = n_in + n_out, whole = padded_count(n);
  for (uint32_t i = n; i < whole; i++) extents.begins[i] = extents.ends[i] = 0;
  __m256i found = _mm256_setzero_si256();
  const __m256i lanes = _mm256_setr_epi64x(0, 1, 2, 3);
  for (uint32_t o = n_in; o < n; o++) {
    const __m256i begin = _mm256_set1_epi64x(extents.begins[o]);
    const __m256i end = _mm256_set1_epi64x(extents.ends[o]);
    uint32_t i = 0;
    for (; i + overlap_lanes <= o; i += overlap_lanes)
      found = _mm256_or_si256(found, meets(extents, i, begin, end));
    const __m256i before =
        _mm256_cmpgt_epi64(_mm256_set1_epi64x(static_cast<int64_t>(o) - i), lanes);
    found = _mm256_or_si256(found, _mm256_and_si256(before, meets(extents, i, begin, end)));
  }
  return !_mm256_testz_si256(found, found);
}
#endif

OverlapFunction best() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) return overlap_avx2;
#endif
  return overlap_scalar;
}

}  // namespace

const OverlapFunction outputs_overlap = best();

}  // namespace host
