/* A shape rule the host can't know: y is x twice, one after the other; it never reads data in
 * abstract_eval.  `unknown` depends on the data, so its length is -1 there. */
#include "../component.h"

DESCRIBE({
  "name": "abstract",
  "threads": "concurrent",
  "inputs": [{"path": "x", "dtype": "float64", "shape": ["n"]}],
  "outputs": [
    {"path": "y", "dtype": "float64", "shape": [null]},
    {"path": "unknown", "dtype": "int32", "shape": [null]}
  ]
})

static int32_t apply(void *instance, void *plan, tesseract_frame *frame) {
  const int64_t n = frame->inputs[0]->shape[0];
  const int64_t shapes[] = {2 * n, 1};
  DLTensor *made[] = {NULL, NULL};
  (void)instance, (void)plan;
  for (uint64_t k = 0; k < 2; k++) {
    if (!frame->outputs[k]) continue;
    const int32_t status = frame->host->allocate_output(frame, k, NULL, 1, &shapes[k], &made[k]);
    if (status) return status;
  }
  for (int64_t i = 0; made[0] && i < 2 * n; i++)
    ((double *)made[0]->data)[i] = ((const double *)frame->inputs[0]->data)[i % n];
  if (made[1]) *(int32_t *)made[1]->data = 7;
  return TESSERACT_OK;
}

static int32_t abstract_eval(void *instance, void *plan, tesseract_frame *frame) {
  const int64_t shapes[] = {2 * frame->inputs[0]->shape[0], -1};
  (void)instance, (void)plan;
  for (uint64_t k = 0; k < 2; k++) {
    if (!frame->outputs[k]) continue;
    const int32_t status = frame->host->allocate_output(frame, k, NULL, 1, &shapes[k], NULL);
    if (status) return status;
  }
  return TESSERACT_OK;
}

EXPORT_COMPONENT(.apply = apply, .abstract_eval = abstract_eval)
