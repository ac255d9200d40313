/* What the test components share: the description, the table and the entry of a component. */
#ifndef TESTS_PLUGINS_COMPONENT_H
#define TESTS_PLUGINS_COMPONENT_H

#include <tesseract_host/plugin.h>

/* Defines `describe`, which returns the JSON text written as its arguments. */
#define DESCRIBE(...)                                                          \
  static const char description[] = TESSERACT_JSON(__VA_ARGS__);               \
  static int32_t describe(void *instance, const char **text, uint64_t *length, \
                          tesseract_frame *frame) {                            \
    (void)instance, (void)frame;                                               \
    *text = description;                                                       \
    *length = sizeof description - 1;                                          \
    return TESSERACT_OK;                                                       \
  }

/* Defines the entry; its arguments initialise the members of the table after `describe`. */
#define EXPORT_COMPONENT(...)                                                                  \
  static const tesseract_plugin_table plugin = {.size = sizeof plugin,                         \
                                                .abi = {TESSERACT_ABI_MIN, TESSERACT_ABI_MAX}, \
                                                .describe = describe,                          \
                                                __VA_ARGS__};                                  \
  int32_t tesseract_plugin_v1(const tesseract_host_table *host,                                \
                              const tesseract_plugin_table **table) {                          \
    (void)host;                                                                                \
    *table = &plugin;                                                                          \
    return TESSERACT_OK;                                                                       \
  }

/* The number of elements. */
static inline int64_t elements(const DLTensor *tensor) {
  int64_t n = 1;
  for (int32_t i = 0; i < tensor->ndim; i++) n *= tensor->shape[i];
  return n;
}

/* Data of a tensor that may not be there. */
static inline double *data_or_null(const DLTensor *tensor) {
  return tensor ? (double *)tensor->data : NULL;
}

#endif
