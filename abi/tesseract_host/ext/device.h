/* tesseract_host/ext/device.h: CUDA devices for loaders and bindings.
 *
 * Links nothing: the host finds the driver of this machine when something is first asked of it.
 * Offered by the host, found by `tesseract_host_extension` or the host table's `extension`.
 *
 * Every function makes the primary context of the device current while it runs and restores the
 * caller's.  A stream is 1 (legacy default), 2 (per-thread default) or a handle of that context.
 * No function is called with a lock held that a component may want, Python's GIL included, since
 * all but `locate` may wait.  Failures are TESSERACT_ERROR_UNAVAILABLE where there is no driver or
 * no device, TESSERACT_ERROR_DEVICE where there is none of that number, and with the driver's name
 * for the error, or TESSERACT_ERROR_OUT_OF_MEMORY; `error` as in host.h (in a frame: ext/nested.h,
 * error_nested). */
#ifndef TESSERACT_HOST_EXT_DEVICE_H
#define TESSERACT_HOST_EXT_DEVICE_H

#include "../host.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TESSERACT_DEVICE_ID "tesseract-host.device/1"

typedef struct tesseract_device_table {
  uint32_t size;
  uint32_t flags; /* 0 */

  /* [any] TESSERACT_OK where device arrays can be used: a driver is there, it is new enough, and
   * there is a device. */
  int32_t (*available)(tesseract_error **error);

  /* [any] What memory an address belongs to: {kDLCUDA, number}, {kDLCUDAManaged, number},
   * {kDLCUDAHost, 0} for page-locked host memory, or {kDLCPU, 0} for memory that no driver call has
   * made, freed device memory included. */
  int32_t (*locate)(const void *address, DLDevice *device, tesseract_error **error);

  /* [any] Waits until what was enqueued on the stream is done.  TESSERACT_ERROR_DEVICE, with
   * nothing attempted, where the stream is being captured. */
  int32_t (*synchronize)(DLDevice device, uint64_t stream, tesseract_error **error);

  /* [any] Work enqueued on `after` from now on begins when what was enqueued on `before` is done.
   * Waits for nothing. */
  int32_t (*order)(DLDevice device, uint64_t before, uint64_t after, tesseract_error **error);

  /* [any] Copies elements between tensors of equal dtype and shape, any strides, at least one of
   * them on a device: in the order of `stream`.  Returns when host memory has been read or written;
   * where both are on devices, without waiting.  Not counted: see the host table's `copied`. */
  int32_t (*copy)(const DLTensor *from, const DLTensor *to, uint64_t stream,
                  tesseract_error **error);

  /* [any] Fresh, uninitialised device memory, compact row-major, strides written, usable in the
   * order of `stream`.  The caller calls its deleter, on any thread and at any time: it waits until
   * all work on the device is done. */
  int32_t (*allocate)(DLDevice device, const DLDataType *dtype, int32_t ndim, const int64_t *shape,
                      uint64_t stream, DLManagedTensorVersioned **tensor, tesseract_error **error);

  /* [any] Runs `body(data)`, which throws nothing, while the primary context of the device is
   * current on this thread: for components that pass calls on to a thread of their own.  Waits for
   * nothing itself. */
  int32_t (*run_current)(DLDevice device, void (*body)(void *data), void *data,
                         tesseract_error **error);
} tesseract_device_table;

#ifdef __cplusplus
}
#endif

#endif
