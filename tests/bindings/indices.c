/* For the memory order of callers.  x is of any dtype and rank;
 *   y       is x, element by element,
 *   linear  holds each element's position in row-major order, from 0,
 *   moment  is the sum of x times linear, if x is float64. */
#include <string.h>
#include <tesseract_host/plugin.h>

/* clang-format off */
static const char description[] = TESSERACT_JSON({
  "name": "indices",
  "threads": "concurrent",
  "inputs": [{"path": "x", "dtype": null, "shape": null}],
  "outputs": [
    {"path": "y", "dtype": null, "shape": null},
    {"path": "linear", "dtype": "int64", "shape": null},
    {"path": "moment", "dtype": "float64", "shape": []}
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

static int32_t apply(void *instance, void *plan, tesseract_frame *frame) {
  const DLTensor *x = frame->inputs[0];
  int64_t n = 1;
  int32_t status = TESSERACT_OK;
  DLTensor *y = NULL, *linear = NULL;
  (void)instance, (void)plan;
  for (int32_t axis = 0; axis < x->ndim; axis++) n *= x->shape[axis];
  if (frame->outputs[0]) {
    status = frame->host->allocate_output(frame, 0, &x->dtype, x->ndim, x->shape, &y);
    if (status) return status;
    if (n > 0) memcpy(y->data, x->data, (size_t)n * x->dtype.bits / 8);
  }
  if (frame->outputs[1]) {
    status = frame->host->allocate_output(frame, 1, NULL, x->ndim, x->shape, &linear);
    if (status) return status;
    for (int64_t i = 0; i < n; i++) ((int64_t *)linear->data)[i] = i;
  }
  if (frame->outputs[2]) {
    double moment = 0.0;
    if (x->dtype.code == kDLFloat && x->dtype.bits == 64)
      for (int64_t i = 0; i < n; i++) moment += ((const double *)x->data)[i] * (double)i;
    *(double *)frame->outputs[2]->data = moment;
  }
  return TESSERACT_OK;
}

static const tesseract_plugin_table plugin = {
    .size = sizeof plugin,
    .abi = {TESSERACT_ABI_MIN, TESSERACT_ABI_MAX},
    .describe = describe,
    .apply = apply,
};

int32_t tesseract_plugin_v1(const tesseract_host_table *host, const tesseract_plugin_table **out) {
  (void)host;
  *out = &plugin;
  return TESSERACT_OK;
}
