#include "tensor.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <new>

#include "dtype.h"
#include "element.h"
#include "error.h"
#include "floating_point.h"

namespace host {
namespace {

void delete_block(DLManagedTensorVersioned *tensor) {
  std::free(tensor);
}

OwnedTensor make_block(const DLDataType &dtype, int32_t ndim, const int64_t *shape,
                       uint64_t bytes) {
  const uint64_t rank = static_cast<uint64_t>(ndim);
  const uint64_t head = sizeof(DLManagedTensorVersioned) + 2 * rank * sizeof(int64_t);
  // malloc and rounding up: aligned_alloc bypasses the allocator's fast lists.
  const uint64_t whole = head + block_alignment + bytes;
  if (whole < bytes || whole > PTRDIFF_MAX) throw std::bad_alloc();
  void *block = std::malloc(whole);
  if (!block) throw std::bad_alloc();
  const auto end_of_head = reinterpret_cast<uintptr_t>(block) + head;
  const uint64_t data = head + (block_alignment - end_of_head % block_alignment) % block_alignment;
  OwnedTensor made(new (block) DLManagedTensorVersioned{});
  made->version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  made->deleter = delete_block;
  DLTensor &tensor = made->dl_tensor;
  tensor.data = static_cast<char *>(block) + data;
  tensor.device = {kDLCPU, 0};
  tensor.ndim = ndim;
  tensor.dtype = dtype;
  tensor.shape = reinterpret_cast<int64_t *>(made.get() + 1);
  tensor.strides = tensor.shape + ndim;
  std::copy_n(shape, ndim, tensor.shape);
  return made;
}

using CopyRow = bool (*)(const DLTensor &from, const DLTensor &to, const char *source, char *target,
                         const CopyAxis &axis);

template <typename T>
bool copy_row(const DLTensor &, const DLTensor &, const char *source, char *target,
              const CopyAxis &axis) {
  if (axis.from == sizeof(T) && axis.to == sizeof(T)) {
    std::memcpy(target, source, static_cast<size_t>(axis.length) * sizeof(T));
    return true;
  }
  for (int64_t i = 0; i < axis.length; i++)
    std::memcpy(target + i * axis.to, source + i * axis.from, sizeof(T));
  return true;
}

bool convert_row(const DLTensor &from, const DLTensor &to, const char *source, char *target,
                 const CopyAxis &axis) {
  for (int64_t i = 0; i < axis.length; i++)
    if (!write_element(to.dtype, target + i * axis.to,
                       read_element(from.dtype, source + i * axis.from)))
      return false;
  return true;
}

CopyRow row_function(const DLTensor &from, const DLTensor &to) {
  if (!same_dtype(from.dtype, to.dtype)) return convert_row;
  switch (dtype_size(from.dtype)) {
    case 1:
      return copy_row<uint8_t>;
    case 2:
      return copy_row<uint16_t>;
    case 4:
      return copy_row<uint32_t>;
    case 8:
      return copy_row<uint64_t>;
    default:
      return copy_row<std::array<uint64_t, 2>>;
  }
}

bool forward_strides(const DLTensor &tensor) {
  for (int32_t k = 0; k < tensor.ndim && tensor.strides; k++)
    if (tensor.shape[k] > 1 && tensor.strides[k] < 0) return false;
  return true;
}

// The first element that does not convert, in row-major order: found again for the message.
int64_t find_misfit(const DLTensor &from, const DLTensor &to) {
  std::vector<int64_t> index(static_cast<size_t>(from.ndim));
  const std::vector<int64_t> strides = strides_of(from);
  const int64_t item = dtype_size(from.dtype);
  std::array<char, 16> scratch;
  for (int64_t position = 0;; position++) {
    int64_t offset = 0;
    for (size_t k = 0; k < index.size(); k++) offset += index[k] * strides[k] * item;
    const char *source = static_cast<const char *>(first_element(from)) + offset;
    if (!write_element(to.dtype, scratch.data(), read_element(from.dtype, source))) return position;
    size_t k = index.size();
    while (k > 0 && ++index[k - 1] == from.shape[k - 1]) index[--k] = 0;
    if (k == 0) return -1;
  }
}

}  // namespace

bool count_bytes(int32_t ndim, const int64_t *shape, uint64_t item, uint64_t *count,
                 uint64_t *bytes) {
  uint64_t product = 1;
  bool empty = false;
  for (int32_t k = 0; k < ndim; k++) {
    if (shape[k] < 0) return false;
    if (shape[k] == 0)
      empty = true;
    else if (__builtin_mul_overflow(product, static_cast<uint64_t>(shape[k]), &product))
      return false;
  }
  if (__builtin_mul_overflow(product, item, bytes) || *bytes > PTRDIFF_MAX) return false;
  *count = empty ? 0 : product;
  if (empty) *bytes = 0;
  return true;
}

void compact_strides(int32_t ndim, const int64_t *shape, Layout layout, int64_t *strides) {
  int64_t step = 1;
  for (int32_t i = 0; i < ndim; i++) {
    const int32_t k = layout == Layout::column_major ? i : ndim - 1 - i;
    strides[k] = step;
    // What overflows here is refused before its strides matter.
    if (__builtin_mul_overflow(step, std::max<int64_t>(shape[k], 1), &step)) step = 1;
  }
}

std::vector<int64_t> strides_of(const DLTensor &tensor) {
  std::vector<int64_t> strides(static_cast<size_t>(tensor.ndim));
  if (tensor.strides)
    std::copy_n(tensor.strides, tensor.ndim, strides.begin());
  else
    compact_strides(tensor.ndim, tensor.shape, Layout::row_major, strides.data());
  return strides;
}

OwnedTensor make_tensor(const DLDataType &dtype, int32_t ndim, const int64_t *shape,
                        Layout layout) {
  uint64_t count = 0, bytes = 0;
  if (!count_bytes(ndim, shape, dtype_size(dtype), &count, &bytes))
    throw Failure(TESSERACT_ERROR_SCHEMA,
                  "the shape " + shape_text(ndim, shape) + " is negative or overflows");
  OwnedTensor made = make_block(dtype, ndim, shape, bytes);
  compact_strides(ndim, shape, layout, made->dl_tensor.strides);
  return made;
}

OwnedTensor make_shape(const DLDataType &dtype, int32_t ndim, const int64_t *shape) {
  std::vector<int64_t> known(shape, shape + ndim);
  for (int64_t &length : known) length = std::abs(length);  // -1: unknown
  uint64_t count = 0, bytes = 0;
  if (!count_bytes(ndim, known.data(), dtype_size(dtype), &count, &bytes))
    throw Failure(TESSERACT_ERROR_SCHEMA, "the shape " + shape_text(ndim, shape) + " overflows");
  OwnedTensor made = make_block(dtype, ndim, shape, 0);
  made->dl_tensor.data = nullptr;
  // Unknown lengths count as 1 here: strides of a shape that isn't known mean nothing.
  compact_strides(ndim, shape, Layout::row_major, made->dl_tensor.strides);
  return made;
}

bool address_range(const DLTensor &tensor, uint64_t item, Range *range) {
  uint64_t count = 0, bytes = 0;
  *range = {};
  if (!count_bytes(tensor.ndim, tensor.shape, item, &count, &bytes)) return false;
  if (count == 0) return true;
  int64_t low = 0, high = 0;
  for (int32_t k = 0; k < tensor.ndim && tensor.strides; k++) {
    int64_t reach = 0;
    if (__builtin_mul_overflow(tensor.shape[k] - 1, tensor.strides[k], &reach)) return false;
    if (__builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high))
      return false;
  }
  if (!tensor.strides) high = static_cast<int64_t>(count - 1);
  int64_t end = 0;
  const int64_t size = static_cast<int64_t>(item);
  if (__builtin_mul_overflow(low, size, &low) || __builtin_mul_overflow(high, size, &high) ||
      __builtin_add_overflow(high, size, &end))
    return false;
  const auto base = reinterpret_cast<uintptr_t>(tensor.data);
  uintptr_t origin = 0;
  if (__builtin_add_overflow(base, tensor.byte_offset, &origin)) return false;
  if (low < 0 && origin < -static_cast<uintptr_t>(low)) return false;
  range->begin = origin + static_cast<uintptr_t>(low);
  return !__builtin_add_overflow(origin, static_cast<uintptr_t>(end), &range->end);
}

bool has_layout(const DLTensor &tensor, Layout layout) {
  if (layout == Layout::unchecked) return true;
  if (layout == Layout::any) return forward_strides(tensor) && separate_elements(tensor);
  if (!tensor.strides && layout == Layout::row_major) return true;
  int64_t step = 1;
  for (int32_t k = 0; k < tensor.ndim; k++)
    if (tensor.shape[k] == 0) return true;
  // Null strides are row-major, which for more than one long axis is not column-major.
  if (!tensor.strides)
    return std::count_if(tensor.shape, tensor.shape + tensor.ndim,
                         [](int64_t length) { return length > 1; }) <= 1;
  for (int32_t i = 0; i < tensor.ndim; i++) {
    const int32_t k = layout == Layout::column_major ? i : tensor.ndim - 1 - i;
    if (tensor.shape[k] != 1 && tensor.strides[k] != step) return false;
    if (__builtin_mul_overflow(step, tensor.shape[k], &step)) return false;
  }
  return true;
}

bool separate_elements(const DLTensor &tensor) {
  if (!tensor.strides) return true;
  std::vector<std::pair<int64_t, int64_t>> axes;  // stride, length
  for (int32_t k = 0; k < tensor.ndim; k++) {
    if (tensor.shape[k] == 0) return true;
    if (tensor.shape[k] > 1) axes.emplace_back(std::abs(tensor.strides[k]), tensor.shape[k]);
  }
  std::sort(axes.begin(), axes.end());
  int64_t inside = 0;  // the farthest element that the axes so far reach
  for (const auto &[stride, length] : axes) {
    if (stride <= inside) return false;
    inside += stride * (length - 1);
  }
  return true;
}

std::vector<CopyAxis> copy_axes(const DLTensor &from, uint64_t from_item, const DLTensor &to,
                                uint64_t to_item) {
  const auto steps = [](const DLTensor &tensor, uint64_t item) {
    std::vector<int64_t> strides = strides_of(tensor);
    // Those of axes of length 1 may be anything.
    for (size_t k = 0; k < strides.size(); k++)
      if (tensor.shape[k] != 1) strides[k] *= static_cast<int64_t>(item);
    return strides;
  };
  const std::vector<int64_t> from_steps = steps(from, from_item), to_steps = steps(to, to_item);
  std::vector<CopyAxis> axes;
  for (size_t k = 0; k < from_steps.size(); k++)
    if (from.shape[k] != 1) axes.push_back({from.shape[k], from_steps[k], to_steps[k]});
  // Axes may be visited in any order: let the destination be written forwards.
  std::stable_sort(axes.begin(), axes.end(), [](const CopyAxis &a, const CopyAxis &b) {
    return std::abs(a.to) > std::abs(b.to);
  });
  return axes;
}

bool copy_elements(const DLTensor &from, const DLTensor &to, int64_t *misfit) {
  for (int32_t k = 0; k < from.ndim; k++)
    if (from.shape[k] == 0) return true;
  std::vector<CopyAxis> axes = copy_axes(from, dtype_size(from.dtype), to, dtype_size(to.dtype));
  if (axes.empty()) axes.push_back({1, 0, 0});
  const CopyAxis inner = axes.back();
  axes.pop_back();
  std::vector<int64_t> index(axes.size());
  const char *source = static_cast<const char *>(first_element(from));
  char *target = static_cast<char *>(first_element(to));
  const CopyRow row = row_function(from, to);
  // A caller may trap what a conversion raises, or round otherwise.
  const DefaultFloatingPoint environment(row == convert_row);
  for (;;) {
    if (!row(from, to, source, target, inner)) {
      *misfit = find_misfit(from, to);
      return false;
    }
    size_t k = axes.size();
    while (k > 0) {
      const CopyAxis &axis = axes[k - 1];
      source += axis.from;
      target += axis.to;
      if (++index[k - 1] < axis.length) break;
      source -= axis.from * axis.length;
      target -= axis.to * axis.length;
      index[--k] = 0;
    }
    if (k == 0) return true;
  }
}

std::string shape_text(int32_t ndim, const int64_t *shape) {
  std::string text = "(";
  for (int32_t k = 0; k < ndim; k++) {
    if (k) text += ", ";
    text += shape[k] == -1 ? "?" : std::to_string(shape[k]);
  }
  return text + (ndim == 1 ? ",)" : ")");
}

}  // namespace host
