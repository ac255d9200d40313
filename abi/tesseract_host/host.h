/* tesseract_host/host.h: opening components and calling them.
 *
 * Every function with a last parameter `error` may be given null there; else *error must be null
 * and is set on failure only, to an object the caller frees.  `options` may always be null: the
 * default.  A null handle or out-pointer where none is allowed gives
 * TESSERACT_ERROR_INVALID_ARGUMENT, where the function returns a status. */
#ifndef TESSERACT_HOST_HOST_H
#define TESSERACT_HOST_HOST_H

#include "types.h"

#if defined(TESSERACT_HOST_BUILDING)
#define TESSERACT_API TESSERACT_EXPORT
#elif defined(_WIN32)
#define TESSERACT_API __declspec(dllimport)
#else
#define TESSERACT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tesseract_component tesseract_component; /* one opened instance */
typedef struct tesseract_call tesseract_call;           /* a prepared call, immutable */
typedef struct tesseract_result tesseract_result;       /* what a call returned */
typedef struct tesseract_error tesseract_error;         /* why a call failed */

/* ---- Errors ---------------------------------------------------------------------------------- */

/* [any] The status that the failing function returned.  Here and below a null error reads as
 * TESSERACT_OK, "" or null. */
TESSERACT_API int32_t tesseract_error_status(const tesseract_error *error);

/* [any] One text for people: what failed, where, and why.  `length` may be null. */
TESSERACT_API const char *tesseract_error_message(const tesseract_error *error, uint64_t *length);

/* [any] One part, TESSERACT_DETAIL_…; null, of length 0, where the error has none.  `length` may be
 * null. */
TESSERACT_API const char *tesseract_error_detail(const tesseract_error *error, int32_t detail,
                                                 uint64_t *length);

/* [any] The error that caused this one, owned by it, or null. */
TESSERACT_API const tesseract_error *tesseract_error_cause(const tesseract_error *error);

/* [free] Null is ignored. */
TESSERACT_API void tesseract_error_free(tesseract_error *error);

/* ---- Components ------------------------------------------------------------------------------ */

typedef struct tesseract_open_options {
  uint32_t size;
  uint32_t flags;        /* TESSERACT_OPEN_… */
  tesseract_string json; /* the component's options as an object; an unknown key is an error.  The
                            host takes "loader": the name of the loader to use, the value "owner"
                            of "threads": all functions of the component run on a thread of its
                            own, and "check_pointers": true to look up in each call whether the
                            addresses of tensors on a device are there (three driver calls each) */
  /* Takes what the component logs and prints; may be null: dropped.  Called from any thread, also
   * by several at once; must not call the component. */
  void (*log)(void *log_data, int32_t level, const char *text, uint64_t length);
  void *log_data;                   /* may be null */
  void (*log_free)(void *log_data); /* may be null; called once, after the last log, also when
                                       opening fails */
} tesseract_open_options;

/* Runs no code of the source: only texts can be asked for.  Of a native library libx.so the
 * description is read from libx.so.json beside it; without it: TESSERACT_ERROR_NOT_FOUND. */
#define TESSERACT_OPEN_LISTING 1u

#define TESSERACT_OPEN_OPTIONS_INIT {sizeof(tesseract_open_options), 0, {NULL, 0}, NULL, NULL, NULL}

/* [any] Opens a component by the loader that accepts the source: a shared library, a
 * tesseract_api.py, or a folder that holds one of them.  Opening runs the component's code.  Two
 * opens give two instances.  The caller closes it. */
TESSERACT_API int32_t tesseract_open(const char *source, uint64_t length,
                                     const tesseract_open_options *options,
                                     tesseract_component **component, tesseract_error **error);

/* [any] The same for a Python module, whatever its file name. */
TESSERACT_API int32_t tesseract_from_tesseract_api(const char *path, uint64_t length,
                                                   const tesseract_open_options *options,
                                                   tesseract_component **component,
                                                   tesseract_error **error);

/* [free] Drops the caller's reference; null is ignored.  Prepared calls keep the instance alive and
 * stay usable, as does a call that is running. */
TESSERACT_API void tesseract_close(tesseract_component *component);

/* [any] Optional, before exit: refuses new calls with TESSERACT_ERROR_UNAVAILABLE, waits for
 * running ones up to `seconds` (else TESSERACT_ERROR_UNAVAILABLE), lets loaders finish.  What
 * exists may still be closed and freed.  Inside a call, or with negative seconds:
 * TESSERACT_ERROR_INVALID_ARGUMENT. */
TESSERACT_API int32_t tesseract_shutdown(double seconds, tesseract_error **error);

#define TESSERACT_TEXT_DESCRIPTION 1 /* leaf tables, endpoints, threads, devices; JSON */
#define TESSERACT_TEXT_OPENAPI 2     /* the schema as tesseract-core gives it; JSON */
#define TESSERACT_TEXT_NAME 3        /* for messages */

/* [any] A text about the component, TESSERACT_TEXT_…, valid until it is closed and its prepared
 * calls are freed.  Made at the first request.  `length` may be null. */
TESSERACT_API int32_t tesseract_component_text(tesseract_component *component, int32_t which,
                                               const char **text, uint64_t *length,
                                               tesseract_error **error);

/* What the host had to do beside calling.  Set `size`; the host writes no further. */
typedef struct tesseract_statistics {
  uint32_t size;
  uint32_t flags;         /* 0 */
  uint64_t calls;         /* of any endpoint, failed ones included */
  uint64_t prepared;      /* signatures resolved, by prepare or by a one-shot call */
  uint64_t layout_copies; /* arrays made compact, transposed or aligned */
  uint64_t layout_bytes;
  uint64_t dtype_copies; /* arrays converted to the declared dtype */
  uint64_t dtype_bytes;
  uint64_t device_copies; /* arrays moved between host and device, or results within a device */
  uint64_t device_bytes;
  uint64_t owned_copies; /* inputs copied because the component keeps them */
  uint64_t owned_bytes;
} tesseract_statistics;

#define TESSERACT_STATISTICS_INIT {sizeof(tesseract_statistics), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/* [any] Counts since open.  Calls running meanwhile may be missing.  Null, or a struct whose size
 * is not set: TESSERACT_ERROR_INVALID_ARGUMENT. */
TESSERACT_API int32_t tesseract_component_statistics(const tesseract_component *component,
                                                     tesseract_statistics *statistics);

/* ---- One-shot calls ---------------------------------------------------------------------------
 * Everything is checked; a signature is resolved once and remembered.  Inputs and seeds are
 * borrowed and never written; one of another dtype is converted where docs/description.md
 * allows it (float32 for float64, say) and one of another layout made to fit, in a copy that is
 * counted.  On success *result holds what was asked for and the caller frees it; after an error
 * destinations are unspecified.  Wanted leaves (`of`, `wrt`) may be null: all of them; an empty
 * list asks apply for no arrays and is an error for a derivative, as is a path named twice.
 *
 * [any] for all five; a serial component makes its callers wait for each other. */

TESSERACT_API int32_t tesseract_apply(tesseract_component *component,
                                      const tesseract_leaves *inputs, const tesseract_leaves *of,
                                      const tesseract_call_options *options,
                                      tesseract_result **result, tesseract_error **error);

/* Tangents by input path in, tangents of the outputs `of` out. */
TESSERACT_API int32_t tesseract_jvp(tesseract_component *component, const tesseract_leaves *inputs,
                                    const tesseract_leaves *tangents, const tesseract_leaves *of,
                                    const tesseract_call_options *options,
                                    tesseract_result **result, tesseract_error **error);

/* Cotangents by output path in, gradients by the inputs `wrt` out. */
TESSERACT_API int32_t tesseract_vjp(tesseract_component *component, const tesseract_leaves *inputs,
                                    const tesseract_leaves *cotangents, const tesseract_leaves *wrt,
                                    const tesseract_call_options *options,
                                    tesseract_result **result, tesseract_error **error);

/* Entry [o * n_wrt + i] has shape (*output, *input).  Destinations must be null. */
TESSERACT_API int32_t tesseract_jacobian(tesseract_component *component,
                                         const tesseract_leaves *inputs, const tesseract_leaves *of,
                                         const tesseract_leaves *wrt,
                                         const tesseract_call_options *options,
                                         tesseract_result **result, tesseract_error **error);

/* Shapes and dtypes of the outputs from those of the inputs, whose data may be null. */
TESSERACT_API int32_t tesseract_abstract_eval(tesseract_component *component,
                                              const tesseract_leaves *inputs,
                                              const tesseract_call_options *options,
                                              tesseract_result **result, tesseract_error **error);

/* ---- Results ----------------------------------------------------------------------------------
 * Reading is [any].  An index outside the result, -1 included, gives null. */

/* The number of tensors, in the order asked for, or of the description where all were, followed by
 * those that no signature can name.  0 of null. */
TESSERACT_API int64_t tesseract_result_count(const tesseract_result *result);

/* The index of a path, or -1; of a Jacobian the first entry of that output. */
TESSERACT_API int64_t tesseract_result_find(const tesseract_result *result, const char *path,
                                            uint64_t length);

/* The path of a tensor: of a gradient the input's, else the output's.  `length` may be null.  Here
 * and below a null answer has length 0. */
TESSERACT_API const char *tesseract_result_path(const tesseract_result *result, int64_t index,
                                                uint64_t *length);

/* Of a Jacobian the input's path, else null.  `length` may be null. */
TESSERACT_API const char *tesseract_result_wrt(const tesseract_result *result, int64_t index,
                                               uint64_t *length);

/* The tensor, owned by the result: strides written, byte_offset 0; null once taken, and where the
 * component left out an optional output.  Where a destination was given, it describes that.  Of an
 * abstract evaluation data is null. */
TESSERACT_API const DLTensor *tesseract_result_tensor(const tesseract_result *result,
                                                      int64_t index);

/* [free] of the entry: moves the tensor to the caller, who calls its deleter, on any thread and at
 * any time, also after close.  TESSERACT_ERROR_INVALID_ARGUMENT where there is nothing to take:
 * another index, a destination, taken already, left out, of an abstract evaluation. */
TESSERACT_API int32_t tesseract_result_take(tesseract_result *result, int64_t index,
                                            DLManagedTensorVersioned **tensor);

/* All outputs that are no arrays, as one JSON object; "{}" when there are none.  `length` may be
 * null. */
TESSERACT_API const char *tesseract_result_json(const tesseract_result *result, uint64_t *length);

/* [free] Null is ignored.  Tensors taken out live on. */
TESSERACT_API void tesseract_result_free(tesseract_result *result);

/* ---- Prepared calls ---------------------------------------------------------------------------
 * For hot loops: paths, JSON, dtypes and conversions are settled once. */

/* [any] Resolves a signature; nothing of it is kept by reference.  The caller frees the call. */
TESSERACT_API int32_t tesseract_prepare(tesseract_component *component,
                                        const tesseract_signature *signature, tesseract_call **call,
                                        tesseract_error **error);

/* [any] The signature as resolved, with every list written out and a tensor for each leaf: dtype,
 * rank, and shape with -1 for what is known only at the run.  Lives as long as the call. */
TESSERACT_API const tesseract_signature *tesseract_call_signature(const tesseract_call *call);

/* [any], by many threads at once.  Tensors by position, as the table at tesseract_signature says;
 * either array may be null where there are no tensors, no entry of `in` may.  With a result, an
 * entry of `out`, or `out` itself, may be null: the host allocates; what was written to
 * destinations is in the result too, and values that are no arrays are kept.  A destination may not
 * overlap an input or another destination.  Neither allocates nor locks when all destinations are
 * given, `result` is null, the component is concurrent and nothing is converted. */
TESSERACT_API int32_t tesseract_call_run(const tesseract_call *call, const DLTensor *const *in,
                                         DLTensor *const *out,
                                         const tesseract_call_options *options,
                                         tesseract_result **result, tesseract_error **error);

/* [free] Null is ignored. */
TESSERACT_API void tesseract_call_free(tesseract_call *call);

/* ---- Cancelling -------------------------------------------------------------------------------
 * Cooperative: a component that never asks can't be cancelled, one that completes anyway is ok. */

/* [any] A handle for any number of calls' options.  The caller frees it.
 * TESSERACT_ERROR_OUT_OF_MEMORY is its only failure but null. */
TESSERACT_API int32_t tesseract_cancel_create(tesseract_cancel **cancel);

/* [any] Asks all calls that run with it, now or later, to stop.  Safe in a signal handler. */
TESSERACT_API void tesseract_cancel_request(tesseract_cancel *cancel);

/* [free] after the calls that use it have returned.  Null is ignored. */
TESSERACT_API void tesseract_cancel_free(tesseract_cancel *cancel);

/* ---- Extensions and versions ----------------------------------------------------------------- */

/* [any] The host's, or the component's, table of an extension ("tesseract-host.python-call/1"), or
 * null.  Valid as long as the process, or as the component. */
TESSERACT_API const void *tesseract_host_extension(const char *id, uint64_t length);
TESSERACT_API const void *tesseract_component_extension(const tesseract_component *component,
                                                        const char *id, uint64_t length);

/* [any] Runs `body` as a call of the component: under its threading class, with a frame to report
 * errors and poll for cancellation.  This is how the functions of a component's extension are
 * called.  `instance` is what the extension's functions ask for; `data` may be null. */
TESSERACT_API int32_t tesseract_call_with(tesseract_component *component,
                                          int32_t (*body)(void *instance, tesseract_frame *frame,
                                                          void *data),
                                          void *data, const tesseract_call_options *options,
                                          tesseract_error **error);

/* [any] The library's release ("1.4.2"), and the ABI versions it serves. */
TESSERACT_API const char *tesseract_host_version(void);
TESSERACT_API tesseract_range const *tesseract_host_abi(void);

#ifdef __cplusplus
}
#endif

#endif
