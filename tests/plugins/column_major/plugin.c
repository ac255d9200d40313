/* A Fortran-like component: b = 2 a, both column-major; it fails when it is given anything else. */
#include "../component.h"

DESCRIBE({
  "name": "column_major",
  "threads": "concurrent",
  "inputs": [{"path": "a", "dtype": "float64", "shape": ["n", "m"], "layout": "column-major"}],
  "outputs": [{"path": "b", "dtype": "float64", "shape": ["n", "m"], "layout": "column-major"}]
})

/* Axes of length 1 may have any stride. */
static int is_column_major(const DLTensor *t) {
  return t->strides && t->byte_offset == 0 && (t->shape[0] <= 1 || t->strides[0] == 1) &&
         (t->shape[1] <= 1 || t->strides[1] == t->shape[0]);
}

static int32_t apply(void *instance, void *plan, tesseract_frame *frame) {
  const DLTensor *a = frame->inputs[0], *b = frame->outputs[0];
  (void)instance, (void)plan;
  if (!is_column_major(a)) return tesseract_fail(frame, TESSERACT_ERROR_COMPONENT, "a", "layout");
  if (!b) return TESSERACT_OK;
  if (!is_column_major(b)) return tesseract_fail(frame, TESSERACT_ERROR_COMPONENT, "b", "layout");
  for (int64_t i = 0; i < elements(a); i++)
    ((double *)b->data)[i] = 2.0 * ((const double *)a->data)[i];
  return TESSERACT_OK;
}

EXPORT_COMPONENT(.apply = apply)
