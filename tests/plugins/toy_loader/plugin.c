/* A loader for sources that end in ".toy".  Its components wait in apply, where `wait` is 1, until
 * another caller waits for them. */
#include "counts.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <tesseract_host/loader.h>

#include "../component.h"

DESCRIBE({
  "name": "toy",
  "inputs": [{"path": "wait", "dtype": "int64", "shape": [], "default": 0}],
  "outputs": [{"path": "y", "dtype": "int64", "shape": []}]
})

static toy_counts counts;

static void count(int64_t *counter) {
  __atomic_add_fetch(counter, 1, __ATOMIC_SEQ_CST);
}

static int32_t apply(void *instance, void *plan, tesseract_frame *frame) {
  (void)instance, (void)plan;
  count(&counts.inside);
  if (*(const int64_t *)frame->inputs[0]->data)
    while (__atomic_load_n(&counts.before, __ATOMIC_SEQ_CST) == 0) sched_yield();
  if (frame->outputs[0]) *(int64_t *)frame->outputs[0]->data = 1;
  __atomic_sub_fetch(&counts.inside, 1, __ATOMIC_SEQ_CST);
  return TESSERACT_OK;
}

static const void *component_extension(void *instance, const char *id, uint64_t length) {
  (void)instance;
  return length == strlen(TOY_COUNTS_ID) && memcmp(id, TOY_COUNTS_ID, length) == 0 ? &counts : NULL;
}

static const tesseract_plugin_table component = {
    .size = sizeof component,
    .abi = {TESSERACT_ABI_MIN, TESSERACT_ABI_MAX},
    .describe = describe,
    .apply = apply,
    .extension = component_extension,
};

static int32_t accepts(const char *source, uint64_t length) {
  return length >= 4 && memcmp(source + length - 4, ".toy", 4) == 0;
}

/* A source named "broken.toy" can't be opened; the only option is {}. */
static int32_t open_source(const tesseract_source *source, const tesseract_plugin_table **table,
                           void **instance, tesseract_frame *frame) {
  (void)instance;
  if (source->flags & TESSERACT_SOURCE_LISTING) count(&counts.listings);
  if (source->options.length != 2)
    return frame->host->error_set(frame, TESSERACT_ERROR_INVALID_ARGUMENT, NULL, 0,
                                  source->options.data, source->options.length);
  if (source->text.length >= 10 &&
      memcmp(source->text.data + source->text.length - 10, "broken.toy", 10) == 0)
    return tesseract_fail(frame, TESSERACT_ERROR_COMPONENT, NULL, "this toy is broken");
  *table = &component;
  return TESSERACT_OK;
}

static void *before_wait(void) {
  count(&counts.before);
  return &counts;
}

static void after_wait(void *state) {
  if (state == &counts) count(&counts.after);
}

static int32_t shutdown(double seconds, tesseract_frame *frame) {
  (void)seconds, (void)frame;
  count(&counts.shutdowns);
  return TESSERACT_OK;
}

static const tesseract_loader_table loader = {
    .size = sizeof loader,
    .name = "toy",
    .accepts = accepts,
    .open = open_source,
    .before_wait = before_wait,
    .after_wait = after_wait,
    .shutdown = shutdown,
};

static const void *plugin_extension(void *instance, const char *id, uint64_t length) {
  (void)instance;
  return length == strlen(TESSERACT_LOADER_ID) && memcmp(id, TESSERACT_LOADER_ID, length) == 0
             ? &loader
             : NULL;
}

static const tesseract_plugin_table plugin = {
    .size = sizeof plugin,
    .abi = {TESSERACT_ABI_MIN, TESSERACT_ABI_MAX},
    .extension = plugin_extension,
};

int32_t tesseract_plugin_v1(const tesseract_host_table *host,
                            const tesseract_plugin_table **table) {
  (void)host;
  *table = &plugin;
  return TESSERACT_OK;
}
