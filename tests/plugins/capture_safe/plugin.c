/* y = x, described as one for devices whose work may be captured into a graph.  There is no kernel
 * in it: it works on the CPU, and elsewhere says so. */
#include "../component.h"

DESCRIBE({
  "name": "capture_safe",
  "threads": "concurrent",
  "devices": ["cpu", "cuda"],
  "capture_safe": true,
  "inputs": [{"path": "x", "dtype": "float64", "shape": ["n"], "differentiable": true}],
  "outputs": [{"path": "y", "dtype": "float64", "shape": ["n"], "differentiable": true}]
})

static int32_t copy(tesseract_frame *frame, const DLTensor *from) {
  const double *values = data_or_null(from);
  double *to = data_or_null(frame->outputs[0]);
  if (from && from->device.device_type != kDLCPU)
    return tesseract_fail(frame, TESSERACT_ERROR_UNSUPPORTED, "x", "it has no kernel");
  for (int64_t i = 0; to && i < elements(frame->inputs[0]); i++) to[i] = values ? values[i] : 0.0;
  return TESSERACT_OK;
}

static int32_t apply(void *instance, void *plan, tesseract_frame *frame) {
  (void)instance, (void)plan;
  return copy(frame, frame->inputs[0]);
}

static int32_t vjp(void *instance, void *plan, tesseract_frame *frame) {
  (void)instance, (void)plan;
  return copy(frame, frame->seeds[0]);
}

EXPORT_COMPONENT(.apply = apply, .vjp = vjp)
