/* Ends the process as soon as any of its code runs: a listing must not notice. */
#include <stdlib.h>
#include <tesseract_host/plugin.h>

__attribute__((constructor)) static void loaded(void) {
  abort();
}

int32_t tesseract_plugin_v1(const tesseract_host_table *host,
                            const tesseract_plugin_table **table) {
  (void)host, (void)table;
  return TESSERACT_ERROR_INTERNAL;
}
