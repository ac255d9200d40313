/* y = 2 x for arrays on the host alone: what the host does for such a component is what is shown.
 */
#include <tesseract_host/plugin.h>

/* clang-format off */
static const char description[] = TESSERACT_JSON({
  "name": "double",
  "threads": "concurrent",
  "inputs": [{"path": "x", "dtype": "float64", "shape": ["n"]}],
  "outputs": [{"path": "y", "dtype": "float64", "shape": ["n"]}]
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
  const DLTensor *x = frame->inputs[0], *y = frame->outputs[0];
  (void)instance, (void)plan;
  if (x->device.device_type != kDLCPU || (y && y->device.device_type != kDLCPU)) {
    return tesseract_fail(frame, TESSERACT_ERROR_COMPONENT, "x", "is on a device");
  }
  const double *from = x->data;
  double *to = y ? y->data : NULL;
  for (int64_t i = 0; to && i < x->shape[0]; i++) to[i] = 2.0 * from[i];
  return TESSERACT_OK;
}

static const tesseract_plugin_table table = {
    .size = sizeof table,
    .abi = {TESSERACT_ABI_MIN, TESSERACT_ABI_MAX},
    .describe = describe,
    .apply = apply,
};

int32_t tesseract_plugin_v1(const tesseract_host_table *host, const tesseract_plugin_table **out) {
  (void)host;
  *out = &table;
  return TESSERACT_OK;
}
