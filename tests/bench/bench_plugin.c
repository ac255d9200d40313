/* A component that does nothing: {"inputs": 5, "outputs": 3, "named": true} says how many float64
 * matrices it takes, of 8 x 8 or of named lengths; "number": true adds one number, c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tesseract_host/plugin.h>

typedef struct instance {
  char description[4096];
  uint64_t length;
} instance;

/* The number behind `"key":` in a document that the benchmark itself wrote. */
static int option(const char *options, const char *key) {
  const char *at = strstr(options, key);
  return at ? atoi(at + strlen(key)) : 0;
}

static void add_leaves(instance *made, const char *side, const char *letter, int n, int named,
                       int number) {
  char *at = made->description + made->length;
  size_t left = sizeof made->description - made->length;
  int written = snprintf(at, left, ", \"%s\": [", side);
  for (int i = 0; i < n; i++)
    written += snprintf(at + written, left - (size_t)written,
                        "%s{\"path\": \"%s%d\", \"dtype\": \"float64\", \"shape\": %s}",
                        i ? ", " : "", letter, i, named ? "[\"n\", \"m\"]" : "[8, 8]");
  if (number)
    written += snprintf(at + written, left - (size_t)written,
                        ", {\"path\": \"c\", \"dtype\": \"float64\", \"shape\": []}");
  written += snprintf(at + written, left - (size_t)written, "]");
  made->length += (uint64_t)written;
}

static int32_t create(const char *options, uint64_t length, void **out, tesseract_frame *frame) {
  instance *made = calloc(1, sizeof *made);
  (void)length;
  if (!made) return tesseract_fail(frame, TESSERACT_ERROR_OUT_OF_MEMORY, NULL, "no memory");
  const int named = option(options, "\"named\":");
  made->length = (uint64_t)snprintf(
      made->description, sizeof made->description, "{\"name\": \"bench\", \"threads\": \"%s\"",
      option(options, "\"serial\":") ? "serial-per-instance" : "concurrent");
  add_leaves(made, "inputs", "x", option(options, "\"inputs\":"), named,
             strstr(options, "\"number\":true") != NULL);
  add_leaves(made, "outputs", "y", option(options, "\"outputs\":"), named, 0);
  made->description[made->length++] = '}';
  *out = made;
  return TESSERACT_OK;
}

static int32_t describe(void *self, const char **text, uint64_t *length, tesseract_frame *frame) {
  instance *made = self;
  (void)frame;
  *text = made->description;
  *length = made->length;
  return TESSERACT_OK;
}

static int32_t apply(void *self, void *plan, tesseract_frame *frame) {
  (void)self, (void)plan, (void)frame;
  return TESSERACT_OK;
}

static const tesseract_plugin_table plugin = {
    .size = sizeof plugin,
    .abi = {TESSERACT_ABI_MIN, TESSERACT_ABI_MAX},
    .create = create,
    .destroy = free,
    .describe = describe,
    .apply = apply,
};

int32_t tesseract_plugin_v1(const tesseract_host_table *host, const tesseract_plugin_table **out) {
  (void)host;
  *out = &plugin;
  return TESSERACT_OK;
}
