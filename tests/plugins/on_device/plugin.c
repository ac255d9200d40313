/* Takes arrays on the host and on CUDA devices: y = 2 x, there by a "kernel" of the fake driver on
 * the call's stream.  `on_device_seen` says what the last call was given. */
#include <dlfcn.h>
#include <stdlib.h>

#include "../component.h"

DESCRIBE({
  "name": "on_device",
  "threads": "serial-per-process",
  "devices": ["cpu", "cuda"],
  "inputs": [
    {"path": "x", "dtype": "float64", "shape": ["n"], "differentiable": true},
    {"path": "beside", "dtype": "float64", "shape": ["m"], "required": false}
  ],
  "outputs": [
    {"path": "y", "dtype": "float64", "shape": ["n"], "differentiable": true}
  ]
})

typedef struct {
  uint64_t in, out, stream;
  int32_t in_type, out_type, in_number, beside_type;
} seen_call;

static seen_call seen;

TESSERACT_EXPORT const seen_call *on_device_seen(void) {
  return &seen;
}

typedef int32_t (*launch_scale)(void *stream, uint64_t to, uint64_t from, uint64_t count,
                                double factor);

typedef int32_t (*copy_to_device)(uint64_t to, const void *from, size_t bytes, void *stream);

static void *find_function(const char *function) {
  const char *name = getenv("TESSERACT_HOST_CUDA_DRIVER");
  void *driver = name ? dlopen(name, RTLD_NOW | RTLD_NOLOAD) : NULL;
  return driver ? dlsym(driver, function) : NULL;
}

static int32_t twice(tesseract_frame *frame, const DLTensor *from, const DLTensor *to) {
  const DLTensor *beside = frame->endpoint == TESSERACT_ENDPOINT_APPLY ? frame->inputs[1] : NULL;
  if (!from || !to) return TESSERACT_OK;
  seen.in = (uint64_t)(uintptr_t)from->data;
  seen.out = (uint64_t)(uintptr_t)to->data;
  seen.stream = frame->stream;
  seen.in_type = (int32_t)from->device.device_type;
  seen.in_number = from->device.device_id;
  seen.out_type = (int32_t)to->device.device_type;
  seen.beside_type = beside ? (int32_t)beside->device.device_type : 0;
  if (from->device.device_type == kDLCPU) {
    for (int64_t i = 0; i < elements(from); i++)
      ((double *)to->data)[i] = 2.0 * ((const double *)from->data)[i];
    return TESSERACT_OK;
  }
  if (to->device.device_type == kDLCPU)
    return tesseract_fail(frame, TESSERACT_ERROR_DEVICE, "y", "its kernel writes to the device");
  launch_scale kernel = NULL;
  *(void **)&kernel = find_function("fake_cuda_launch_scale");
  if (!kernel) return tesseract_fail(frame, TESSERACT_ERROR_UNAVAILABLE, NULL, "no fake driver");
  if (elements(from) == 0) return TESSERACT_OK;
  if (kernel((void *)(uintptr_t)frame->stream, seen.out, seen.in, (uint64_t)elements(from), 2.0))
    return tesseract_fail(frame, TESSERACT_ERROR_DEVICE, "y", "the launch failed");
  return TESSERACT_OK;
}

static int32_t apply(void *instance, void *plan, tesseract_frame *frame) {
  (void)instance, (void)plan;
  return twice(frame, frame->inputs[0], frame->outputs[0]);
}

static int32_t product(void *instance, void *plan, tesseract_frame *frame) {
  (void)instance, (void)plan;
  return twice(frame, frame->seeds[0], frame->outputs[0]);
}

#ifdef PRODUCTS_ONLY

EXPORT_COMPONENT(.apply = apply, .jvp = product, .vjp = product)

#else

static void fill_jacobian(double *y_by_x, int64_t n) {
  for (int64_t i = 0; i < n * n; i++) y_by_x[i] = i % (n + 1) == 0 ? 2.0 : 0.0;
}

static int32_t jacobian(void *instance, void *plan, tesseract_frame *frame) {
  const int64_t n = elements(frame->inputs[0]);
  const DLTensor *block = frame->outputs[0];
  (void)instance, (void)plan;
  if (!block || n == 0) return TESSERACT_OK;
  if (block->device.device_type == kDLCPU) {
    fill_jacobian(block->data, n);
    return TESSERACT_OK;
  }
  const size_t bytes = sizeof(double) * (size_t)(n * n);
  double *on_host = malloc(bytes);
  copy_to_device copy = NULL;
  *(void **)&copy = find_function("cuMemcpyHtoDAsync_v2");
  int32_t status = TESSERACT_ERROR_UNAVAILABLE;
  if (on_host && copy) {
    fill_jacobian(on_host, n);
    status =
        copy((uint64_t)(uintptr_t)block->data, on_host, bytes, (void *)(uintptr_t)frame->stream)
            ? TESSERACT_ERROR_DEVICE
            : TESSERACT_OK;
  }
  free(on_host);
  return status;
}

EXPORT_COMPONENT(.apply = apply, .jvp = product, .vjp = product, .jacobian = jacobian)

#endif
