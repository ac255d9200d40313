/* Misbehaves: a shared library that is no component. */
#include <tesseract_host/plugin.h>

TESSERACT_EXPORT int32_t another_function(void);

int32_t another_function(void) {
  return TESSERACT_OK;
}
