/* One leaf per kind of element; each output is the bytes of the input of the same name. */
#include <string.h>

#include "../component.h"

DESCRIBE({
  "name": "typed",
  "threads": "concurrent",
  "inputs": [
    {"path": "f32", "dtype": "float32", "shape": ["a"], "required": false},
    {"path": "i8", "dtype": "int8", "shape": ["b"], "required": false},
    {"path": "i64", "dtype": "int64", "shape": ["c"], "required": false},
    {"path": "u64", "dtype": "uint64", "shape": ["d"], "required": false},
    {"path": "flag", "dtype": "bool", "shape": ["e"], "required": false},
    {"path": "c64", "dtype": "complex64", "shape": ["f"], "required": false},
    {"path": "bf16", "dtype": "bfloat16", "shape": ["g"], "required": false},
    {"path": "f64", "dtype": "float64", "shape": ["h", "i"], "required": false}
  ],
  "outputs": [
    {"path": "f32", "dtype": "float32", "shape": ["a"]},
    {"path": "i8", "dtype": "int8", "shape": ["b"]},
    {"path": "i64", "dtype": "int64", "shape": ["c"]},
    {"path": "u64", "dtype": "uint64", "shape": ["d"]},
    {"path": "flag", "dtype": "bool", "shape": ["e"]},
    {"path": "c64", "dtype": "complex64", "shape": ["f"]},
    {"path": "bf16", "dtype": "bfloat16", "shape": ["g"]},
    {"path": "f64", "dtype": "float64", "shape": ["h", "i"]}
  ]
})

static int32_t apply(void *instance, void *plan, tesseract_frame *frame) {
  (void)instance, (void)plan;
  for (uint64_t k = 0; k < frame->n_outputs; k++) {
    const DLTensor *in = frame->inputs[k], *out = frame->outputs[k];
    if (in && out && elements(in))
      memcpy(out->data, in->data, (size_t)elements(in) * (in->dtype.bits / 8u));
  }
  return TESSERACT_OK;
}

EXPORT_COMPONENT(.apply = apply)
