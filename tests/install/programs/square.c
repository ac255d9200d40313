/* A component: y = a x^2 with its adjoint. */
#include <tesseract_host/plugin.h>

/* A test of the derivative check builds one whose adjoint is wrong. */
#ifndef SLOPE
#define SLOPE 2.0
#endif

static const char description[] = TESSERACT_JSON({
  "name": "square",
  "threads": "concurrent",
  "inputs": [
    {"path": "x", "dtype": "float64", "shape": ["n"], "differentiable": true},
    {"path": "a", "dtype": "float64", "shape": [], "differentiable": true, "default": 1.0}
  ],
  "outputs": [
    {"path": "y", "dtype": "float64", "shape": ["n"], "differentiable": true}
  ]
});

static int32_t describe(void *instance, const char **text, uint64_t *length,
                        tesseract_frame *frame) {
  (void)instance, (void)frame;
  *text = description;
  *length = sizeof description - 1;
  return TESSERACT_OK;
}

static int32_t apply(void *instance, void *plan, tesseract_frame *frame) {
  const double *x = frame->inputs[0]->data, *a = frame->inputs[1]->data;
  double *y = frame->outputs[0] ? frame->outputs[0]->data : NULL;
  (void)instance, (void)plan;
  for (int64_t i = 0; y && i < frame->inputs[0]->shape[0]; i++) y[i] = *a * x[i] * x[i];
  return TESSERACT_OK;
}

static int32_t vjp(void *instance, void *plan, tesseract_frame *frame) {
  const double *x = frame->inputs[0]->data, *a = frame->inputs[1]->data;
  const double *dy = frame->seeds[0] ? frame->seeds[0]->data : NULL;
  double *dx = frame->outputs[0] ? frame->outputs[0]->data : NULL;
  double *da = frame->outputs[1] ? frame->outputs[1]->data : NULL;
  (void)instance, (void)plan;
  if (da) *da = 0.0;
  for (int64_t i = 0; i < frame->inputs[0]->shape[0]; i++) {
    const double seed = dy ? dy[i] : 0.0;
    if (dx) dx[i] = SLOPE * *a * x[i] * seed;
    if (da) *da += x[i] * x[i] * seed;
  }
  return TESSERACT_OK;
}

static const tesseract_plugin_table plugin = {
    .size = sizeof plugin,
    .abi = {TESSERACT_ABI_MIN, TESSERACT_ABI_MAX},
    .describe = describe,
    .apply = apply,
    .vjp = vjp,
};

int32_t tesseract_plugin_v1(const tesseract_host_table *host, const tesseract_plugin_table **out) {
  (void)host;
  *out = &plugin;
  return TESSERACT_OK;
}
