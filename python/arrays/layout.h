// Sizes and places of a tensor's elements.
#pragma once

#include <tesseract_host/types.h>

#include <algorithm>

namespace tesseract::arrays {

inline int64_t size_of(const DLTensor &tensor) {
  int64_t count = 1;
  for (int32_t i = 0; i < tensor.ndim; i++) count *= tensor.shape[i];
  return count;
}

inline int64_t item_bytes(DLDataType dtype) {
  return (dtype.bits * dtype.lanes + 7) / 8;
}

inline int64_t bytes_in(const DLTensor &tensor) {
  return size_of(tensor) * item_bytes(tensor.dtype);
}

inline bool is_row_major(const DLTensor &tensor) {
  if (!tensor.strides) return true;
  int64_t step = 1;
  for (int32_t i = tensor.ndim - 1; i >= 0; i--) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != step) return false;
    step *= tensor.shape[i];
  }
  return true;
}

inline char *address_of(const DLTensor &tensor) {
  return static_cast<char *>(tensor.data) + tensor.byte_offset;
}

inline bool is_cuda(DLDevice device) {
  return device.device_type == kDLCUDA || device.device_type == kDLCUDAManaged;
}

inline bool is_on_device(const DLTensor &tensor) {
  return is_cuda(tensor.device);
}

// From the first byte of the elements to behind the last; strides may put either on any side.
struct Extent {
  uintptr_t begin;
  uintptr_t end;

  explicit Extent(const DLTensor &tensor)
      : begin(reinterpret_cast<uintptr_t>(tensor.data) + tensor.byte_offset), end(begin) {
    const int64_t item = item_bytes(tensor.dtype);
    if (size_of(tensor) == 0) return;
    int64_t compact = item, low = 0, high = item;
    for (int32_t i = tensor.ndim - 1; i >= 0; i--) {
      const int64_t step = tensor.strides ? tensor.strides[i] * item : compact;
      const int64_t reach = (tensor.shape[i] - 1) * step;
      (reach < 0 ? low : high) += reach;
      compact *= tensor.shape[i];
    }
    end = begin + static_cast<uintptr_t>(high);
    begin += static_cast<uintptr_t>(low);
  }
};

}  // namespace tesseract::arrays
