/* y = x * factor and twice = 2 * factor; `seen` holds where the data of all five lie: x, factor, y,
 * twice, seen. */
#include "../component.h"

DESCRIBE({
  "name": "addresses",
  "threads": "concurrent",
  "inputs": [
    {"path": "x", "dtype": "float32", "shape": ["n"]},
    {"path": "factor", "dtype": "float32", "shape": []}
  ],
  "outputs": [
    {"path": "y", "dtype": "float32", "shape": ["n"]},
    {"path": "twice", "dtype": "float32", "shape": []},
    {"path": "seen", "dtype": "int64", "shape": [5]}
  ]
})

static int64_t address(const DLTensor *tensor) {
  return tensor ? (int64_t)(intptr_t)tensor->data : 0;
}

static int32_t apply(void *instance, void *plan, tesseract_frame *frame) {
  DLTensor *const *out = frame->outputs;
  const float *x = frame->inputs[0]->data, factor = *(const float *)frame->inputs[1]->data;
  (void)instance, (void)plan;
  for (int64_t i = 0; out[0] && i < elements(out[0]); i++)
    ((float *)out[0]->data)[i] = x[i] * factor;
  if (out[1]) *(float *)out[1]->data = 2.0f * factor;
  for (int k = 0; out[2] && k < 2; k++) ((int64_t *)out[2]->data)[k] = address(frame->inputs[k]);
  for (int k = 0; out[2] && k < 3; k++) ((int64_t *)out[2]->data)[2 + k] = address(out[k]);
  return TESSERACT_OK;
}

EXPORT_COMPONENT(.apply = apply)
