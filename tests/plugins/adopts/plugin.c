/* Hands its output over in memory of its own, or something that is not as ext/adopt.h says.
 *
 * `status` is what the host answered, `address` the memory's, `freed` how often the host has freed
 * one before this call. */
#include <stdlib.h>
#include <string.h>
#include <tesseract_host/ext/adopt.h>

#include "../component.h"

DESCRIBE({
  "name": "adopts",
  "inputs": [
    {"path": "x", "dtype": "float64", "shape": ["n"]},
    {"path": "wrong", "dtype": "int64", "shape": [], "default": 0}
  ],
  "outputs": [
    {"path": "y", "dtype": "float64", "shape": ["n"]},
    {"path": "status", "dtype": "int64", "shape": []},
    {"path": "address", "dtype": "int64", "shape": []},
    {"path": "freed", "dtype": "int64", "shape": []}
  ]
})

enum { kNothing, kLength, kRank, kDtype, kStrides, kOffset, kDevice, kNull, kPosition };

typedef struct own_tensor {
  DLManagedTensorVersioned managed;
  double *data;
  int64_t shape[2], strides[2];
} own_tensor;

static int64_t freed;

static void free_own(DLManagedTensorVersioned *tensor) {
  own_tensor *own = tensor->manager_ctx;
  freed++;
  free(own->data);
  free(own);
}

static own_tensor *make_own(const DLTensor *x) {
  own_tensor *own = calloc(1, sizeof *own);
  const int64_t n = x->shape[0];
  own->data = calloc((size_t)(2 * n + 2), sizeof(double));
  for (int64_t i = 0; i < n; i++) own->data[i] = 2 * ((const double *)x->data)[i];
  own->shape[0] = n, own->shape[1] = 1;
  own->strides[0] = own->strides[1] = 1;
  own->managed.version.major = DLPACK_MAJOR_VERSION;
  own->managed.version.minor = DLPACK_MINOR_VERSION;
  own->managed.manager_ctx = own;
  own->managed.deleter = free_own;
  own->managed.dl_tensor = *x;
  own->managed.dl_tensor.data = own->data;
  own->managed.dl_tensor.shape = own->shape;
  own->managed.dl_tensor.strides = own->strides;
  return own;
}

static void spoil(own_tensor *own, int64_t wrong) {
  DLTensor *tensor = &own->managed.dl_tensor;
  if (wrong == kLength) own->shape[0]++;
  if (wrong == kRank) tensor->ndim = 2;
  if (wrong == kDtype) tensor->dtype.bits = 32;
  if (wrong == kStrides) own->strides[0] = 2;
  if (wrong == kOffset) tensor->byte_offset = 8;
  if (wrong == kDevice) tensor->device.device_type = kDLCUDA;
  if (wrong == kNull) tensor->data = NULL;
}

static int32_t apply(void *instance, void *plan, tesseract_frame *frame) {
  const tesseract_adopt_table *adopt =
      frame->host->extension(TESSERACT_ADOPT_ID, sizeof TESSERACT_ADOPT_ID - 1);
  const int64_t wrong = *(const int64_t *)frame->inputs[1]->data;
  own_tensor *own = make_own(frame->inputs[0]);
  (void)instance, (void)plan;
  spoil(own, wrong);
  if (frame->outputs[3]) *(int64_t *)frame->outputs[3]->data = freed;
  if (frame->outputs[2]) *(int64_t *)frame->outputs[2]->data = (int64_t)(intptr_t)own->data;
  const int32_t status = adopt->output(frame, wrong == kPosition ? 77 : 0, &own->managed);
  if (frame->outputs[1]) *(int64_t *)frame->outputs[1]->data = status;
  if (status == TESSERACT_OK) return status;
  if (frame->outputs[0])
    memcpy(frame->outputs[0]->data, own->data, (size_t)elements(frame->inputs[0]) * sizeof(double));
  free(own->data);
  free(own);
  return TESSERACT_OK;
}

EXPORT_COMPONENT(.apply = apply)
