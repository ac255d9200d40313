/* y[i] = x[i] + a[n - 1 - i], where y may be the memory of x, but not that of a; `same` is 1 where
 * it is x's. */
#include "../component.h"

DESCRIBE({
  "name": "in_place",
  "threads": "concurrent",
  "overlap": true,
  "inputs": [
    {"path": "x", "dtype": "float64", "shape": ["n"], "differentiable": true},
    {"path": "a", "dtype": "float64", "shape": ["n"]},
    {"path": "k", "dtype": "float32", "shape": ["n"], "required": false}
  ],
  "outputs": [
    {"path": "y", "dtype": "float64", "shape": ["n"], "differentiable": true},
    {"path": "same", "dtype": "int64", "shape": []}
  ]
})

static int32_t apply(void *instance, void *plan, tesseract_frame *frame) {
  (void)instance, (void)plan;
  const double *x = data_or_null(frame->inputs[0]), *a = data_or_null(frame->inputs[1]);
  double *y = data_or_null(frame->outputs[0]);
  int64_t n = elements(frame->inputs[0]);
  if (frame->outputs[1]) *(int64_t *)frame->outputs[1]->data = x == y;
  for (int64_t i = 0; y && i < n; i++) y[i] = x[i] + a[n - 1 - i];
  return TESSERACT_OK;
}

static int32_t vjp(void *instance, void *plan, tesseract_frame *frame) {
  (void)instance, (void)plan;
  const double *seed = data_or_null(frame->seeds[0]);
  double *gradient = data_or_null(frame->outputs[0]);
  int64_t n = elements(frame->inputs[0]);
  for (int64_t i = 0; gradient && i < n; i++) gradient[i] = seed ? seed[i] : 0;
  return TESSERACT_OK;
}

EXPORT_COMPONENT(.apply = apply, .vjp = vjp)
