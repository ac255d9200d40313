/* A component in C: the force of quadratic drag, -c |v| v, with its derivatives. */
#include <math.h>
#include <tesseract_host/plugin.h>

/* Positions in the frame are those of these lists: inputs v and c, output force. */
/* clang-format off */
static const char description[] = TESSERACT_JSON({
  "name": "drag",
  "threads": "concurrent",
  "inputs": [
    {"path": "v", "dtype": "float64", "shape": ["n"], "differentiable": true, "units": "m/s"},
    {"path": "c", "dtype": "float64", "shape": [], "differentiable": true, "default": 0.5}
  ],
  "outputs": [
    {"path": "force", "dtype": "float64", "shape": ["n"], "differentiable": true, "units": "N"}
  ]
});
/* clang-format on */

static int32_t describe(void *instance, const char **text, uint64_t *length,
                        tesseract_frame *frame) {
  (void)instance, (void)frame;
  *text = description;
  *length = sizeof description - 1;
  return TESSERACT_OK;
}

/* The elements of a tensor; null where it is not given or not wanted. */
static double *elements(const DLTensor *tensor) {
  return tensor ? tensor->data : NULL;
}

static int32_t apply(void *instance, void *plan, tesseract_frame *frame) {
  const double *v = elements(frame->inputs[0]), *c = elements(frame->inputs[1]);
  const int64_t n = frame->inputs[0]->shape[0];
  double *force = elements(frame->outputs[0]);
  (void)instance, (void)plan;
  if (*c < 0.0) {
    return tesseract_fail(frame, TESSERACT_ERROR_OUT_OF_DOMAIN, "c", "the drag factor is negative");
  }
  if (force) {
    for (int64_t i = 0; i < n; i++) force[i] = -*c * fabs(v[i]) * v[i];
  }
  return TESSERACT_OK;
}

/* Seeds are tangents by input; a null one is zero. */
static int32_t jvp(void *instance, void *plan, tesseract_frame *frame) {
  const double *v = elements(frame->inputs[0]), *c = elements(frame->inputs[1]);
  const double *dv = elements(frame->seeds[0]), *dc = elements(frame->seeds[1]);
  const int64_t n = frame->inputs[0]->shape[0];
  double *dforce = elements(frame->outputs[0]);
  (void)instance, (void)plan;
  for (int64_t i = 0; dforce && i < n; i++) {
    dforce[i] = 0.0;
    if (dv) dforce[i] -= 2.0 * *c * fabs(v[i]) * dv[i];
    if (dc) dforce[i] -= fabs(v[i]) * v[i] * *dc;
  }
  return TESSERACT_OK;
}

/* Seeds are cotangents by output; outputs are gradients by input, null where not wanted. */
static int32_t vjp(void *instance, void *plan, tesseract_frame *frame) {
  const double *v = elements(frame->inputs[0]), *c = elements(frame->inputs[1]);
  const double *seed = elements(frame->seeds[0]);
  const int64_t n = frame->inputs[0]->shape[0];
  double *dv = elements(frame->outputs[0]), *dc = elements(frame->outputs[1]);
  (void)instance, (void)plan;
  if (dc) *dc = 0.0;
  for (int64_t i = 0; i < n; i++) {
    const double s = seed ? seed[i] : 0.0;
    if (dv) dv[i] = -2.0 * *c * fabs(v[i]) * s;
    if (dc) *dc -= fabs(v[i]) * v[i] * s;
  }
  return TESSERACT_OK;
}

static const tesseract_plugin_table plugin = {
    .size = sizeof plugin,
    .abi = {TESSERACT_ABI_MIN, TESSERACT_ABI_MAX},
    .describe = describe,
    .apply = apply,
    .jvp = jvp,
    .vjp = vjp,
};

int32_t tesseract_plugin_v1(const tesseract_host_table *host, const tesseract_plugin_table **out) {
  (void)host;
  *out = &plugin;
  return TESSERACT_OK;
}
