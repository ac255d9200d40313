/* Nothing in, and an output without elements. */
#include "../component.h"

DESCRIBE({
  "name": "empty",
  "outputs": [{"path": "y", "dtype": "float64", "shape": [2, 0]}]
})

static int32_t apply(void *instance, void *plan, tesseract_frame *frame) {
  (void)instance, (void)plan, (void)frame;
  return TESSERACT_OK;
}

EXPORT_COMPONENT(.apply = apply)
