/* Misbehaves: refers to a function that no library has. */
#include "../component.h"

extern int32_t function_that_no_library_has(void);

DESCRIBE({
  "name": "missing_symbol"
})

static int32_t apply(void *instance, void *plan, tesseract_frame *frame) {
  (void)instance, (void)plan, (void)frame;
  return function_that_no_library_has();
}

EXPORT_COMPONENT(.apply = apply)
