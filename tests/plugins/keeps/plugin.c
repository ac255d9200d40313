/* Keeps its input beyond the call where the caller allows it: `kept` is the sum of the array kept
 * from the call before, 0 where there is none. */
#include <stdlib.h>
#include <string.h>

#include "../component.h"

DESCRIBE({
  "name": "keeps",
  "inputs": [{"path": "x", "dtype": "float64", "shape": ["n"]}],
  "outputs": [{"path": "kept", "dtype": "float64", "shape": []}]
})

typedef struct cache {
  tesseract_owner owner;
  const double *data;
  int64_t length;
} cache;

static void drop(cache *kept) {
  if (kept->data) kept->owner.release(kept->owner.object);
  memset(kept, 0, sizeof *kept);
}

static int32_t create(const char *options, uint64_t length, void **instance,
                      tesseract_frame *frame) {
  (void)options, (void)length, (void)frame;
  *instance = calloc(1, sizeof(cache));
  return *instance ? TESSERACT_OK : TESSERACT_ERROR_OUT_OF_MEMORY;
}

static void destroy(void *instance) {
  drop(instance);
  free(instance);
}

static int32_t apply(void *instance, void *plan, tesseract_frame *frame) {
  cache *kept = instance;
  const tesseract_owner *owner = frame->owners ? frame->owners[0] : NULL;
  double sum = 0.0;
  (void)plan;
  for (int64_t i = 0; i < kept->length; i++) sum += kept->data[i];
  if (frame->outputs[0]) *(double *)frame->outputs[0]->data = sum;
  drop(kept);
  if (!owner) return TESSERACT_OK;
  owner->retain(owner->object);
  kept->owner = *owner;
  kept->data = frame->inputs[0]->data;
  kept->length = elements(frame->inputs[0]);
  return TESSERACT_OK;
}

EXPORT_COMPONENT(.create = create, .destroy = destroy, .apply = apply)
