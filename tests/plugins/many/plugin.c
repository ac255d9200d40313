/* Many leaves, concurrent: eight matrices in, four out, y[k] = x[k] + x[k + 4]. */
#include "../component.h"

DESCRIBE({
  "name": "many",
  "threads": "concurrent",
  "inputs": [
    {"path": "x0", "dtype": "float64", "shape": ["n", "m"], "differentiable": true},
    {"path": "x1", "dtype": "float64", "shape": ["n", "m"], "differentiable": true},
    {"path": "x2", "dtype": "float64", "shape": ["n", "m"], "differentiable": true},
    {"path": "x3", "dtype": "float64", "shape": ["n", "m"], "differentiable": true},
    {"path": "x4", "dtype": "float64", "shape": ["n", "m"], "differentiable": true},
    {"path": "x5", "dtype": "float64", "shape": ["n", "m"], "differentiable": true},
    {"path": "x6", "dtype": "float64", "shape": ["n", "m"], "differentiable": true},
    {"path": "x7", "dtype": "float64", "shape": ["n", "m"], "differentiable": true}
  ],
  "outputs": [
    {"path": "y0", "dtype": "float64", "shape": ["n", "m"], "differentiable": true},
    {"path": "y1", "dtype": "float64", "shape": ["n", "m"], "differentiable": true},
    {"path": "y2", "dtype": "float64", "shape": ["n", "m"], "differentiable": true},
    {"path": "y3", "dtype": "float64", "shape": ["n", "m"], "differentiable": true}
  ]
})

static int32_t apply(void *instance, void *plan, tesseract_frame *frame) {
  (void)instance, (void)plan;
  for (int k = 0; k < 4; k++) {
    double *y = data_or_null(frame->outputs[k]);
    const double *left = frame->inputs[k]->data, *right = frame->inputs[k + 4]->data;
    for (int64_t i = 0; y && i < elements(frame->inputs[k]); i++) y[i] = left[i] + right[i];
  }
  return TESSERACT_OK;
}

static int32_t vjp(void *instance, void *plan, tesseract_frame *frame) {
  (void)instance, (void)plan;
  for (int k = 0; k < 8; k++) {
    double *dx = data_or_null(frame->outputs[k]);
    const double *dy = data_or_null(frame->seeds[k % 4]);
    for (int64_t i = 0; dx && i < elements(frame->outputs[k]); i++) dx[i] = dy ? dy[i] : 0.0;
  }
  return TESSERACT_OK;
}

EXPORT_COMPONENT(.apply = apply, .vjp = vjp)
