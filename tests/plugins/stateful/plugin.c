/* State and options: y = gain * x, where the option {"gain": number} has the default 1; `calls`
 * counts the calls of this instance. */
#include <stdlib.h>
#include <string.h>

#include "../component.h"

DESCRIBE({
  "name": "stateful",
  "inputs": [{"path": "x", "dtype": "float64", "shape": ["n"]}],
  "outputs": [
    {"path": "y", "dtype": "float64", "shape": ["n"]},
    {"path": "calls", "dtype": "int64", "shape": []}
  ]
})

typedef struct state {
  double gain;
  int64_t calls;
} state;

/* Reads an object that is empty or holds "gain" alone; 0 when it is another. */
static int read_options(const char *options, uint64_t length, double *gain) {
  char text[128], *end;
  const char *key = "\"gain\"", *at = text;
  if (length >= sizeof text) return 0;
  memcpy(text, options, length);
  text[length] = '\0';
  at += strspn(at, " \t\n{");
  if (*at == '}') return 1;
  if (strncmp(at, key, strlen(key)) != 0) return 0;
  at += strlen(key);
  at += strspn(at, " \t\n:");
  *gain = strtod(at, &end);
  return end != at && end[strspn(end, " \t\n")] == '}';
}

static int32_t create(const char *options, uint64_t length, void **instance,
                      tesseract_frame *frame) {
  state *made = calloc(1, sizeof *made);
  if (!made) return TESSERACT_ERROR_OUT_OF_MEMORY;
  made->gain = 1.0;
  if (!read_options(options, length, &made->gain)) {
    free(made);
    return frame->host->error_set(frame, TESSERACT_ERROR_INVALID_ARGUMENT, NULL, 0, options,
                                  length);
  }
  *instance = made;
  return TESSERACT_OK;
}

static void destroy(void *instance) {
  free(instance);
}

static int32_t apply(void *instance, void *plan, tesseract_frame *frame) {
  state *own = instance;
  const double *x = frame->inputs[0]->data;
  double *y = data_or_null(frame->outputs[0]);
  (void)plan;
  own->calls++;
  for (int64_t i = 0; y && i < elements(frame->inputs[0]); i++) y[i] = own->gain * x[i];
  if (frame->outputs[1]) *(int64_t *)frame->outputs[1]->data = own->calls;
  return TESSERACT_OK;
}

EXPORT_COMPONENT(.create = create, .destroy = destroy, .apply = apply)
