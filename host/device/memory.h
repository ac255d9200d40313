// Tensors on devices: memory for them, and copying.
#pragma once

#include "../tensor.h"
#include "driver.h"
#include "place.h"

namespace host {

// As make_tensor, on a device.  Freeing it waits for the device.
OwnedTensor make_tensor_on(const DLDevice &device, const DLDataType &dtype, int32_t ndim,
                           const int64_t *shape, Layout layout = Layout::row_major);

// As copy_elements between tensors of one dtype, of which any may be on a device; the context of
// the device is current.  Waits for the stream if host memory is read or written and that memory
// may be freed or read at once (`wait`).  Throws Failure.
void copy_in_order(const DLTensor &from, const DLTensor &to, uint64_t stream, bool wait);

namespace cuda {

// What memory an address belongs to: {kDLCUDA or kDLCUDAManaged, number}, {kDLCUDAHost, 0}, or the
// host where no driver call has made it.
DLDevice locate(const void *address);

// Whether an address belongs to memory of this device.
bool is_on(const void *address, int ordinal);

}  // namespace cuda
}  // namespace host
