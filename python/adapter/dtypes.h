/* Element types as XLA numbers them, as DLPack says them and as a spec names them. */
#ifndef TESSERACT_JAX_DTYPES_H
#define TESSERACT_JAX_DTYPES_H

#include <dlpack/dlpack.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tesseract_jax_dtype {
  const char *name; /* null: an element type that DLPack or the host can't say */
  uint8_t code;
  uint8_t bits;
} tesseract_jax_dtype;

#define TESSERACT_JAX_DTYPES 34

/* By XLA's number. */
__attribute__((visibility(
    "hidden"))) extern const tesseract_jax_dtype tesseract_jax_dtypes[TESSERACT_JAX_DTYPES];

#ifdef __cplusplus
}
#endif

#endif
