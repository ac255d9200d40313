// Address space for one kind of memory, reserved once and given out piece by piece.
#ifndef TESTS_FAKE_CUDA_ARENA_H
#define TESTS_FAKE_CUDA_ARENA_H

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

#include "types.h"

namespace fake {

class Arena {
 public:
  enum class Public { no, yes };  // whether the CPU may touch what is given out

  explicit Arena(Public access) : public_(access == Public::yes) {
    // Where address space is short, less of it.
    for (extent_ = std::uint64_t{1} << 35; extent_ >= std::uint64_t{1} << 28; extent_ /= 2) {
      base_ = reserve(PROT_NONE);
      alias_ = public_ || base_ == 0 ? base_ : reserve(PROT_READ | PROT_WRITE);
      if (alias_ != 0) break;
      if (base_ != 0) munmap(memory(base_), extent_);
      base_ = 0;
    }
    cursor_ = base_;
  }

  // An address with room for so many bytes and a gap behind; 0 where there is none.  Addresses are
  // given again only after all others; `taken(begin, end, after)` knows those still in use.
  template <typename Taken>
  Pointer place(std::uint64_t bytes, Taken taken) {
    const std::uint64_t step = round(bytes) + page;
    if (base_ == 0 || step > extent_) return 0;
    for (int pass = 0; pass < 2; pass++, cursor_ = base_) {
      Pointer after = 0;
      while (cursor_ + step <= base_ + extent_ && taken(cursor_, cursor_ + step, after))
        cursor_ = round(after) + page;
      if (cursor_ + step > base_ + extent_) continue;
      const Pointer placed = cursor_;
      cursor_ += step;
      return placed;
    }
    return 0;
  }

  // Where the fake finds it.
  std::byte *open(Pointer pointer, std::uint64_t bytes) const {
    const Pointer alias = pointer - base_ + alias_;
    if (public_) mprotect(memory(alias), round(bytes), PROT_READ | PROT_WRITE);
    return static_cast<std::byte *>(memory(alias));
  }

  void close(Pointer pointer, std::uint64_t bytes) const {
    void *alias = memory(pointer - base_ + alias_);
    madvise(alias, round(bytes), MADV_DONTNEED);
    if (public_) mprotect(alias, round(bytes), PROT_NONE);
  }

 private:
  static constexpr std::uint64_t page = 4096;

  static std::uint64_t round(std::uint64_t bytes) {
    return bytes <= page ? page : (bytes + page - 1) / page * page;
  }

  static void *memory(Pointer pointer) {
    return reinterpret_cast<void *>(pointer);  // NOLINT(performance-no-int-to-ptr)
  }

  Pointer reserve(int protection) const {
    void *reserved =
        mmap(nullptr, extent_, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return reserved == MAP_FAILED ? 0 : reinterpret_cast<Pointer>(reserved);
  }

  bool public_;
  std::uint64_t extent_ = 0;
  Pointer base_ = 0, alias_ = 0, cursor_ = 0;
};

}  // namespace fake

#endif
