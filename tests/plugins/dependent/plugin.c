/* An output whose shape depends on the data: y holds the positive elements of x, count their
 * number. */
#include "../component.h"

DESCRIBE({
  "name": "dependent",
  "threads": "concurrent",
  "inputs": [{"path": "x", "dtype": "float64", "shape": ["n"]}],
  "outputs": [
    {"path": "y", "dtype": "float64", "shape": [null]},
    {"path": "count", "dtype": "int64", "shape": []}
  ]
})

static int32_t apply(void *instance, void *plan, tesseract_frame *frame) {
  const double *x = frame->inputs[0]->data;
  const int64_t n = elements(frame->inputs[0]);
  int64_t count = 0;
  (void)instance, (void)plan;
  for (int64_t i = 0; i < n; i++) count += x[i] > 0.0;
  if (frame->outputs[0]) {
    DLTensor *y = NULL;
    const int32_t status = frame->host->allocate_output(frame, 0, NULL, 1, &count, &y);
    if (status) return status;
    for (int64_t i = 0, k = 0; i < n; i++)
      if (x[i] > 0.0) ((double *)y->data)[k++] = x[i];
  }
  if (frame->outputs[1]) *(int64_t *)frame->outputs[1]->data = count;
  return TESSERACT_OK;
}

EXPORT_COMPONENT(.apply = apply)
