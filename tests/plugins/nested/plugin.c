/* Calls another component, whose path is the option {"inner": path}: y = inner(x) + 1. */
#include <stdlib.h>
#include <string.h>
#include <tesseract_host/ext/nested.h>

#include "../component.h"

DESCRIBE({
  "name": "nested",
  "inputs": [
    {"path": "x", "dtype": "float64", "shape": ["n"]},
    {"path": "a", "dtype": "float64", "shape": [], "default": 1.0}
  ],
  "outputs": [{"path": "y", "dtype": "float64", "shape": ["n"]}]
})

typedef struct outer {
  const tesseract_nested_table *host;
  tesseract_component *inner;
} outer;

/* The value of the option, which holds no escapes. */
static tesseract_string inner_path(const char *options, uint64_t length) {
  tesseract_string path = {NULL, 0};
  const char *end = options + length, *at = options;
  for (int quotes = 0; at < end; at++)
    if (*at == '"' && ++quotes == 3) break;
  if (at < end) path.data = at + 1;
  while (path.data && path.data + path.length < end && path.data[path.length] != '"') path.length++;
  return path;
}

static int32_t create(const char *options, uint64_t length, void **instance,
                      tesseract_frame *frame) {
  const tesseract_string path = inner_path(options, length);
  tesseract_error *error = NULL;
  outer *made = calloc(1, sizeof *made);
  if (!made) return TESSERACT_ERROR_OUT_OF_MEMORY;
  made->host = frame->host->extension(TESSERACT_NESTED_ID, TESSERACT_NTS);
  if (!made->host) {
    free(made);
    return tesseract_fail(frame, TESSERACT_ERROR_UNSUPPORTED, NULL, "no nested calls");
  }
  if (made->host->open(path.data, path.length, NULL, &made->inner, &error)) {
    const int32_t status = made->host->error_nested(frame, error);
    free(made);
    return status;
  }
  *instance = made;
  return TESSERACT_OK;
}

static void destroy(void *instance) {
  outer *own = instance;
  own->host->close(own->inner);
  free(own);
}

static int32_t apply(void *instance, void *plan, tesseract_frame *frame) {
  const outer *own = instance;
  const tesseract_leaf given[] = {{TESSERACT_STR("x"), frame->inputs[0], NULL},
                                  {TESSERACT_STR("a"), frame->inputs[1], NULL}};
  const tesseract_leaves inputs = {sizeof inputs, 0, 2, given, {NULL, 0}};
  tesseract_result *result = NULL;
  tesseract_error *error = NULL;
  (void)plan;
  if (own->host->apply(own->inner, &inputs, NULL, NULL, &result, &error)) {
    tesseract_fail(frame, TESSERACT_ERROR_COMPONENT, NULL, "the inner component failed");
    return own->host->error_nested(frame, error);
  }
  if (frame->outputs[0]) {
    const double *inner = own->host->result_tensor(result, 0)->data;
    double *y = frame->outputs[0]->data;
    for (int64_t i = 0; i < elements(frame->outputs[0]); i++) y[i] = inner[i] + 1.0;
  }
  own->host->result_free(result);
  return TESSERACT_OK;
}

EXPORT_COMPONENT(.create = create, .destroy = destroy, .apply = apply)
