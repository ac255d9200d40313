// What is known to have happened: per stream, the number of the last piece of work.
#ifndef TESTS_FAKE_CUDA_CLOCK_H
#define TESTS_FAKE_CUDA_CLOCK_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fake {

class Clock {
 public:
  std::uint64_t operator[](std::size_t stream) const {
    return stream < counts_.size() ? counts_[stream] : 0;
  }

  std::uint64_t tick(std::size_t stream) {
    if (stream >= counts_.size()) counts_.resize(stream + 1);
    return ++counts_[stream];
  }

  void join(const Clock &other) {
    if (other.counts_.size() > counts_.size()) counts_.resize(other.counts_.size());
    for (std::size_t i = 0; i < other.counts_.size(); i++)
      counts_[i] = std::max(counts_[i], other.counts_[i]);
  }

 private:
  std::vector<std::uint64_t> counts_;
};

}  // namespace fake

#endif
