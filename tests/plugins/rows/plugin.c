/* y[i] = k[i] * sum of w[j] * x[i][j] * x[i][j] over j, row by row, and norm = sum of w[j] * w[j],
 * which no row has a part in; with both products by hand.  Positions: inputs x, k, w; outputs y,
 * norm. */
#include "../component.h"

DESCRIBE({
  "name": "rows",
  "threads": "concurrent",
  "batch": "n",
  "inputs": [
    {"path": "x", "dtype": "float64", "shape": ["n", "m"], "differentiable": true},
    {"path": "k", "dtype": "float64", "shape": ["n"], "differentiable": true},
    {"path": "w", "dtype": "float64", "shape": ["m"], "differentiable": true}
  ],
  "outputs": [
    {"path": "y", "dtype": "float64", "shape": ["n"], "differentiable": true},
    {"path": "norm", "dtype": "float64", "shape": [], "differentiable": true}
  ]
})

/* Sum of a[j] * b[j] * c[j] over a row; a factor that isn't there is 1. */
static double sum_of_products(const double *a, const double *b, const double *c, int64_t m) {
  double sum = 0.0;
  for (int64_t j = 0; j < m; j++) sum += a[j] * b[j] * (c ? c[j] : 1.0);
  return sum;
}

static int32_t apply(void *instance, void *plan, tesseract_frame *frame) {
  (void)instance, (void)plan;
  const double *x = data_or_null(frame->inputs[0]), *k = data_or_null(frame->inputs[1]);
  const double *w = data_or_null(frame->inputs[2]);
  double *y = data_or_null(frame->outputs[0]), *norm = data_or_null(frame->outputs[1]);
  const int64_t n = frame->inputs[0]->shape[0], m = frame->inputs[0]->shape[1];
  for (int64_t i = 0; y && i < n; i++) y[i] = k[i] * sum_of_products(x + i * m, x + i * m, w, m);
  if (norm) *norm = sum_of_products(w, w, NULL, m);
  return TESSERACT_OK;
}

static int32_t jvp(void *instance, void *plan, tesseract_frame *frame) {
  (void)instance, (void)plan;
  const double *x = data_or_null(frame->inputs[0]), *k = data_or_null(frame->inputs[1]);
  const double *w = data_or_null(frame->inputs[2]);
  const double *dx = data_or_null(frame->seeds[0]), *dk = data_or_null(frame->seeds[1]);
  const double *dw = data_or_null(frame->seeds[2]);
  double *dy = data_or_null(frame->outputs[0]), *dnorm = data_or_null(frame->outputs[1]);
  const int64_t n = frame->inputs[0]->shape[0], m = frame->inputs[0]->shape[1];
  for (int64_t i = 0; dy && i < n; i++) {
    const double *row = x + i * m;
    dy[i] = 0.0;
    if (dx) dy[i] += 2.0 * k[i] * sum_of_products(row, dx + i * m, w, m);
    if (dk) dy[i] += dk[i] * sum_of_products(row, row, w, m);
    if (dw) dy[i] += k[i] * sum_of_products(row, row, dw, m);
  }
  if (dnorm) *dnorm = dw ? 2.0 * sum_of_products(w, dw, NULL, m) : 0.0;
  return TESSERACT_OK;
}

static int32_t vjp(void *instance, void *plan, tesseract_frame *frame) {
  (void)instance, (void)plan;
  const double *x = data_or_null(frame->inputs[0]), *k = data_or_null(frame->inputs[1]);
  const double *w = data_or_null(frame->inputs[2]);
  const double *dy = data_or_null(frame->seeds[0]), *dnorm = data_or_null(frame->seeds[1]);
  double *dx = data_or_null(frame->outputs[0]), *dk = data_or_null(frame->outputs[1]);
  double *dw = data_or_null(frame->outputs[2]);
  const int64_t n = frame->inputs[0]->shape[0], m = frame->inputs[0]->shape[1];
  for (int64_t j = 0; dw && j < m; j++) dw[j] = dnorm ? 2.0 * w[j] * *dnorm : 0.0;
  for (int64_t i = 0; i < n; i++) {
    const double *row = x + i * m;
    const double seed = dy ? dy[i] : 0.0;
    if (dk) dk[i] = seed * sum_of_products(row, row, w, m);
    for (int64_t j = 0; j < m; j++) {
      if (dx) dx[i * m + j] = 2.0 * seed * k[i] * w[j] * row[j];
      if (dw) dw[j] += seed * k[i] * row[j] * row[j];
    }
  }
  return TESSERACT_OK;
}

EXPORT_COMPONENT(.apply = apply, .jvp = jvp, .vjp = vjp)
