#include "device_table.h"

#include "../dtype.h"
#include "../error.h"
#include "../process.h"
#include "context.h"
#include "memory.h"

namespace host {
namespace {

template <typename Body>
int32_t run(tesseract_error **error, Body &&body) {
  return guarded(error, Place{}, [&] {
    body();
    return TESSERACT_OK;
  });
}

int32_t number_of(const DLDevice &device) {
  if (device.device_type == kDLCUDA || device.device_type == kDLCUDAManaged)
    return device.device_id;
  throw Failure(TESSERACT_ERROR_INVALID_ARGUMENT, "the device must be a CUDA device");
}

uint64_t known_stream(uint64_t stream) {
  if (stream == 0)
    throw Failure(TESSERACT_ERROR_INVALID_ARGUMENT, "the stream must be 1, 2 or a handle, not 0");
  return stream;
}

int32_t available(tesseract_error **error) {
  return run(error, [] { cuda::driver(); });
}

int32_t locate(const void *address, DLDevice *device, tesseract_error **error) {
  return run(error, [&] {
    require(device, "device");
    *device = cuda::locate(address);
  });
}

int32_t synchronize(DLDevice device, uint64_t stream, tesseract_error **error) {
  return run(error, [&] {
    const cuda::CurrentContext context(number_of(device));
    cuda::synchronize(known_stream(stream));
  });
}

int32_t order(DLDevice device, uint64_t before, uint64_t after, tesseract_error **error) {
  return run(error, [&] {
    const cuda::CurrentContext context(number_of(device));
    cuda::order(known_stream(before), known_stream(after));
  });
}

void check_pair(const DLTensor &from, const DLTensor &to) {
  bool equal = from.ndim == to.ndim && from.ndim >= 0 && from.ndim <= 64 &&
               same_dtype(from.dtype, to.dtype) && dtype_size(from.dtype) > 0 &&
               (from.ndim == 0 || (from.shape && to.shape));
  for (int32_t k = 0; equal && k < from.ndim; k++) equal = from.shape[k] == to.shape[k];
  if (!equal)
    throw Failure(TESSERACT_ERROR_SCHEMA, "the tensors of a copy differ in dtype or shape");
}

int32_t copy(const DLTensor *from, const DLTensor *to, uint64_t stream, tesseract_error **error) {
  return run(error, [&] {
    require(from, "from");
    require(to, "to");
    check_pair(*from, *to);
    const DLDevice source = device_of(*from, "from"), target = device_of(*to, "to");
    if (is_host(source) && is_host(target))
      throw Failure(TESSERACT_ERROR_INVALID_ARGUMENT, "neither tensor is on a device");
    if (!is_host(source) && !is_host(target) && !same_device(source, target))
      throw Failure(TESSERACT_ERROR_DEVICE, "the tensors are on " + device_text(source) + " and " +
                                                device_text(target) +
                                                ": copies between devices are not made");
    const cuda::CurrentContext context((is_host(source) ? target : source).device_id);
    DLTensor read = *from, written = *to;
    read.device = source;
    written.device = target;
    copy_in_order(read, written, known_stream(stream), is_host(source) || is_host(target));
  });
}

int32_t allocate(DLDevice device, const DLDataType *dtype, int32_t ndim, const int64_t *shape,
                 uint64_t stream, DLManagedTensorVersioned **tensor, tesseract_error **error) {
  return run(error, [&] {
    require(dtype, "dtype");
    require(tensor, "tensor");
    if (ndim < 0 || ndim > 64 || (ndim > 0 && !shape) || dtype_size(*dtype) == 0)
      throw Failure(TESSERACT_ERROR_SCHEMA, "the rank, shape or dtype is impossible");
    known_stream(stream);
    const DLDevice place = {kDLCUDA, number_of(device)};
    *tensor = make_tensor_on(place, *dtype, ndim, shape).release();
  });
}

int32_t run_current(DLDevice device, void (*body)(void *), void *data, tesseract_error **error) {
  return run(error, [&] {
    require(reinterpret_cast<const void *>(body), "body");
    cuda::CurrentContext context(number_of(device));
    body(data);
    context.restore();
  });
}

}  // namespace

const tesseract_device_table device_table = {
    sizeof(tesseract_device_table),
    0,
    available,
    locate,
    synchronize,
    order,
    copy,
    allocate,
    run_current,
};

}  // namespace host
