// Where a tensor is: on the host, or on a device.
#pragma once

#include <dlpack/dlpack.h>

#include <string>
#include <string_view>

namespace host {

inline constexpr DLDevice kHost = {kDLCPU, 0};

inline bool same_device(const DLDevice &a, const DLDevice &b) {
  return a.device_type == b.device_type && a.device_id == b.device_id;
}
inline bool is_host(const DLDevice &device) {
  return device.device_type == kDLCPU;
}

// The host for memory that the processor reads, page-locked or not; {kDLCUDA, number} for memory
// of a CUDA device, managed or not.  Throws Failure (device) for any other, naming `path`.
DLDevice device_of(const DLTensor &tensor, std::string_view path);

// "the host", "CUDA device 1".
std::string device_text(const DLDevice &device);

}  // namespace host
