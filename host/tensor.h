// Facts about tensors in host memory, memory of the host's own for them, and copying.
#pragma once

#include <dlpack/dlpack.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace host {

// `any` is what a leaf declares: strides that don't run backwards or over each other.  `unchecked`
// is for components that check by themselves.
enum class Layout : uint8_t { row_major, column_major, any, unchecked };

// What every block of the host's is aligned to: a cache line, and what XLA asks for.
constexpr uint64_t block_alignment = 64;

// A tensor in memory of its own: struct, shape, strides and data in one block.
struct TensorDeleter {
  void operator()(DLManagedTensorVersioned *tensor) const { tensor->deleter(tensor); }
};
using OwnedTensor = std::unique_ptr<DLManagedTensorVersioned, TensorDeleter>;

// Fresh, uninitialised, compact in row-major or column-major order, strides written.  Throws
// std::bad_alloc, Failure (schema) when the shape is negative or overflows.
OwnedTensor make_tensor(const DLDataType &dtype, int32_t ndim, const int64_t *shape,
                        Layout layout = Layout::row_major);

// A tensor that has shape and strides, but no data.
OwnedTensor make_shape(const DLDataType &dtype, int32_t ndim, const int64_t *shape);

// The number of elements and of bytes; false when a length is negative or the bytes overflow.
bool count_bytes(int32_t ndim, const int64_t *shape, uint64_t item, uint64_t *count,
                 uint64_t *bytes);

// Strides of a compact tensor, in elements.
void compact_strides(int32_t ndim, const int64_t *shape, Layout layout, int64_t *strides);

// The strides of a tensor, written out where they are null.
std::vector<int64_t> strides_of(const DLTensor &tensor);

// The addresses [begin, end) that the elements take; empty for no elements.
struct Range {
  uintptr_t begin = 0, end = 0;
  bool overlaps(const Range &other) const { return begin < other.end && other.begin < end; }
};

// False when it wraps around the address space.
bool address_range(const DLTensor &tensor, uint64_t item, Range *range);

// True if the elements lie as `layout` says; strides of axes of length 1 don't matter.
bool has_layout(const DLTensor &tensor, Layout layout);

// True if no two elements can share an address: strides, by size, step over what is inside them.
bool separate_elements(const DLTensor &tensor);

inline void *first_element(const DLTensor &tensor) {
  return static_cast<char *>(tensor.data) + tensor.byte_offset;
}

// The axes of a copy between tensors of one shape: steps in bytes, axes of length 1 left out, the
// longest step of the destination first.
struct CopyAxis {
  int64_t length, from, to;
};
std::vector<CopyAxis> copy_axes(const DLTensor &from, uint64_t from_item, const DLTensor &to,
                                uint64_t to_item);

// Copies the elements of `from` to `to`: equal shapes, any strides, no overlap.  Where the dtypes
// differ the values are converted; false if one does not fit, its position in *misfit.
bool copy_elements(const DLTensor &from, const DLTensor &to, int64_t *misfit);

std::string shape_text(int32_t ndim, const int64_t *shape);

}  // namespace host
