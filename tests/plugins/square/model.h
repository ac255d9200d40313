/* y = a * x * x element by element, and its derivatives by hand: what the square family is made of.
 * Positions: inputs x and a, output y. */
#ifndef TESTS_PLUGINS_SQUARE_MODEL_H
#define TESTS_PLUGINS_SQUARE_MODEL_H

#include "../component.h"

DESCRIBE({
  "name": "square",
  "threads": "concurrent",
  "inputs": [
    {"path": "x", "dtype": "float64", "shape": ["n"], "differentiable": true},
    {"path": "a", "dtype": "float64", "shape": [], "differentiable": true, "default": 1.0}
  ],
  "outputs": [
    {"path": "y", "dtype": "float64", "shape": ["n"], "differentiable": true}
  ]
})

static inline int32_t square_apply(void *instance, void *plan, tesseract_frame *frame) {
  const double *x = frame->inputs[0]->data, *a = frame->inputs[1]->data;
  double *y = data_or_null(frame->outputs[0]);
  (void)instance, (void)plan;
  if (*a < 0.0) return tesseract_fail(frame, TESSERACT_ERROR_OUT_OF_DOMAIN, "a", "a is negative");
  for (int64_t i = 0; y && i < elements(frame->inputs[0]); i++) y[i] = *a * x[i] * x[i];
  return TESSERACT_OK;
}

static inline int32_t square_jvp(void *instance, void *plan, tesseract_frame *frame) {
  const double *x = frame->inputs[0]->data, *a = frame->inputs[1]->data;
  const double *dx = data_or_null(frame->seeds[0]), *da = data_or_null(frame->seeds[1]);
  double *dy = data_or_null(frame->outputs[0]);
  (void)instance, (void)plan;
  for (int64_t i = 0; dy && i < elements(frame->inputs[0]); i++)
    dy[i] = (dx ? 2.0 * *a * x[i] * dx[i] : 0.0) + (da ? x[i] * x[i] * *da : 0.0);
  return TESSERACT_OK;
}

static inline int32_t square_vjp(void *instance, void *plan, tesseract_frame *frame) {
  const double *x = frame->inputs[0]->data, *a = frame->inputs[1]->data;
  const double *dy = data_or_null(frame->seeds[0]);
  double *dx = data_or_null(frame->outputs[0]), *da = data_or_null(frame->outputs[1]);
  (void)instance, (void)plan;
  if (da) *da = 0.0;
  for (int64_t i = 0; i < elements(frame->inputs[0]); i++) {
    const double seed = dy ? dy[i] : 0.0;
    if (dx) dx[i] = 2.0 * *a * x[i] * seed;
    if (da) *da += x[i] * x[i] * seed;
  }
  return TESSERACT_OK;
}

static inline int32_t square_jacobian(void *instance, void *plan, tesseract_frame *frame) {
  const double *x = frame->inputs[0]->data, *a = frame->inputs[1]->data;
  double *by_x = data_or_null(frame->outputs[0]), *by_a = data_or_null(frame->outputs[1]);
  const int64_t n = elements(frame->inputs[0]);
  (void)instance, (void)plan;
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; by_x && j < n; j++) by_x[i * n + j] = i == j ? 2.0 * *a * x[i] : 0.0;
    if (by_a) by_a[i] = x[i] * x[i];
  }
  return TESSERACT_OK;
}

#endif
