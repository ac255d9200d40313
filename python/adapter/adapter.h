/* The C interface of the JAX adapter: what the Python package tells it, and the handlers.
 *
 * The handlers have no state.  A compiled program names a component by its identity, a text that is
 * the same in every process, and a call by a spec; the adapter keeps a table from (identity,
 * endpoint, spec) to prepared calls.  What is missing there is prepared when it is first run.
 *
 * All functions are [any], with or without Python's GIL; those that prepare or free may enter the
 * component.  Texts are UTF-8 with a length, which may be TESSERACT_NTS. */
#ifndef TESSERACT_JAX_ADAPTER_H
#define TESSERACT_JAX_ADAPTER_H

#include <tesseract_host/host.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Names a component.  A reference to it is held until it is removed, so that it may be closed
 * before that.  Another component that had this identity is removed, and what was prepared of it
 * with it; the same one stays as it is.  Returns a status. */
TESSERACT_EXPORT int32_t tesseract_jax_add(const char *identity, uint64_t length,
                                           tesseract_component *component);

/* Forgets a component; one that isn't there is ignored.  Waits for no call: calls that run finish,
 * and what was prepared is freed by the last of them.  Programs that name the identity fail from
 * then on, until a component is added under it again. */
TESSERACT_EXPORT void tesseract_jax_remove(const char *identity, uint64_t length);

/* Prepares a call on host arrays, so that what is wrong with it is told before it runs.  On failure
 * *message is a text for tesseract_jax_free; `message` may be null.  Returns a status. */
TESSERACT_EXPORT int32_t tesseract_jax_prepare(const char *identity, uint64_t identity_length,
                                               const char *endpoint, uint64_t endpoint_length,
                                               const char *spec, uint64_t spec_length, uint64_t key,
                                               char **message);

/* Runs a call that was prepared under this key, as the handlers do, and first prepares it for
 * tensors on a device.  Tensors are borrowed, compact
 * and row-major, all on one device; `stream` as in tesseract_call_options.  Returns a status, and a
 * message as tesseract_jax_prepare does. */
TESSERACT_EXPORT int32_t tesseract_jax_run(uint64_t key, const DLTensor *const *in, int64_t n_in,
                                           DLTensor *const *out, int64_t n_out, uint64_t stream,
                                           char **message);

/* Frees a message; null is ignored. */
TESSERACT_EXPORT void tesseract_jax_free(char *message);

/* Who is told that outputs that are no arrays differ from what the spec expects, once for each
 * prepared call; null: nobody, and it returns when nobody is being told any more.  The text is
 * borrowed.  Called on the thread of the call. */
TESSERACT_EXPORT void tesseract_jax_on_difference(void (*warn)(const char *text, uint64_t length));

/* How many calls of an endpoint were run since the identity was first added, failed ones included
 * and a batch counted once. */
TESSERACT_EXPORT uint64_t tesseract_jax_calls(const char *identity, uint64_t identity_length,
                                              const char *endpoint, uint64_t endpoint_length);

/* How many calls of a component run now, in all its endpoints. */
TESSERACT_EXPORT uint64_t tesseract_jax_running(const char *identity, uint64_t length);

/* What was prepared and isn't freed yet. */
TESSERACT_EXPORT uint64_t tesseract_jax_prepared(void);

/* XLA's handlers; see xla_ffi.h. */
struct xla_frame;
struct xla_error;
TESSERACT_EXPORT struct xla_error *tesseract_jax_cpu(struct xla_frame *frame);
TESSERACT_EXPORT struct xla_error *tesseract_jax_cuda(struct xla_frame *frame);

/* The same for calls that XLA may capture into a graph, and replay without calling the handler
 * again: of components that take arrays on a device, and whose description says "capture_safe".  A
 * call of any other fails while it is captured. */
TESSERACT_EXPORT struct xla_error *tesseract_jax_cuda_captured(struct xla_frame *frame);

#ifdef __cplusplus
}
#endif

#endif
