/* Does nothing, with arrays on the host or on a GPU: what a call costs beside its work. */
#include <tesseract_host/plugin.h>

/* clang-format off */
static const char description[] = TESSERACT_JSON({
  "name": "nothing",
  "threads": "concurrent",
  "devices": ["cpu", "cuda"],
  "capture_safe": true,
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
  (void)instance, (void)plan, (void)frame;
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
