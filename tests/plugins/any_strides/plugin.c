/* Takes any strides: b = 2 a.  It fails when strides are not written.  `stride0` and `stride1` are
 * those it saw of a. */
#include "../component.h"

DESCRIBE({
  "name": "any_strides",
  "threads": "concurrent",
  "inputs": [{"path": "a", "dtype": "float64", "shape": ["n", "m"], "layout": "any"}],
  "outputs": [
    {"path": "b", "dtype": "float64", "shape": ["n", "m"], "layout": "any"},
    {"path": "stride0", "dtype": "int64", "shape": []},
    {"path": "stride1", "dtype": "int64", "shape": []}
  ]
})

static int32_t apply(void *instance, void *plan, tesseract_frame *frame) {
  const DLTensor *a = frame->inputs[0], *b = frame->outputs[0];
  (void)instance, (void)plan;
  if (!a->strides || (b && !b->strides))
    return tesseract_fail(frame, TESSERACT_ERROR_COMPONENT, NULL, "strides are not written");
  for (int64_t i = 0; b && i < a->shape[0]; i++)
    for (int64_t j = 0; j < a->shape[1]; j++)
      ((double *)b->data)[i * b->strides[0] + j * b->strides[1]] =
          2.0 * ((const double *)a->data)[i * a->strides[0] + j * a->strides[1]];
  for (int k = 0; k < 2; k++)
    if (frame->outputs[1 + k]) *(int64_t *)frame->outputs[1 + k]->data = a->strides[k];
  return TESSERACT_OK;
}

EXPORT_COMPONENT(.apply = apply)
