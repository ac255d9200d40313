/* Between the handler, which knows XLA, and the adapter, which knows the host. */
#ifndef TESSERACT_JAX_EXECUTE_H
#define TESSERACT_JAX_EXECUTE_H

#include <tesseract_host/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One call; all of it borrowed. */
typedef struct tesseract_jax_request {
  tesseract_string identity; /* of the component */
  tesseract_string endpoint;
  tesseract_string spec;
  uint64_t key;    /* a hash of the three */
  DLDevice device; /* of all tensors */
  uint64_t stream; /* as in tesseract_call_options, and so are the flags */
  uint32_t flags;
  const DLTensor *const *in;
  int64_t n_in;
  DLTensor *const *out;
  int64_t n_out;
} tesseract_jax_request;

/* [any] Runs the call and returns a status; on failure *message is a text for people that the
 * caller gives to tesseract_jax_free, or null where there is no memory for one. */
__attribute__((visibility("hidden"))) int32_t
tesseract_jax_execute(const tesseract_jax_request *request, char **message);

#ifdef __cplusplus
}
#endif

#endif
