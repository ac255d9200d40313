/* XLA's handlers: one function for each platform, without any state.
 *
 * XLA calls them on any thread, without Python's GIL, and several at once. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapter.h"
#include "dtypes.h"
#include "execute.h"
#include "xla_ffi.h"

#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* ---- Errors ---------------------------------------------------------------------------------- */

static xla_error *error_of(const xla_frame *frame, int32_t code, const char *message) {
  xla_error_create arguments = {sizeof arguments, NULL, message, code};
  return frame->api->error_create(&arguments);
}

__attribute__((format(printf, 3, 4))) static xla_error *fail(const xla_frame *frame, int32_t code,
                                                             const char *format, ...) {
  char message[512];
  va_list list;
  va_start(list, format);
  vsnprintf(message, sizeof message, format, list);
  va_end(list);
  return error_of(frame, code, message);
}

static int32_t code_of(int32_t status) {
  switch (status) {
    case TESSERACT_ERROR_INVALID_ARGUMENT:
    case TESSERACT_ERROR_SCHEMA:
    case TESSERACT_ERROR_OUT_OF_DOMAIN:
      return XLA_INVALID_ARGUMENT;
    case TESSERACT_ERROR_NOT_FOUND:
    case TESSERACT_ERROR_UNAVAILABLE:
    case TESSERACT_ERROR_VERSION:
      return XLA_FAILED_PRECONDITION;
    case TESSERACT_ERROR_UNSUPPORTED:
    case TESSERACT_ERROR_DEVICE:
      return XLA_UNIMPLEMENTED;
    case TESSERACT_ERROR_OUT_OF_MEMORY:
      return XLA_RESOURCE_EXHAUSTED;
    default:
      return XLA_INTERNAL;
  }
}

static xla_error *failed(const xla_frame *frame, int32_t status, char *message) {
  const char *text = message                                   ? message
                     : status == TESSERACT_ERROR_OUT_OF_MEMORY ? "tesseract-host: out of memory"
                                                               : "tesseract-host: the call failed";
  xla_error *error = error_of(frame, code_of(status), text);
  tesseract_jax_free(message);
  return error;
}

/* ---- Registration ---------------------------------------------------------------------------- */

/* True if the frame only asks what the handler is. */
static bool answer_metadata(const xla_frame *frame, uint32_t traits) {
  for (xla_extension *at = frame->extensions; at; at = at->next) {
    if (at->type != XLA_EXTENSION_METADATA) continue;
    xla_metadata *metadata = ((xla_metadata_extension *)at)->metadata;
    metadata->version.major = XLA_VERSION_MAJOR;
    metadata->version.minor = XLA_VERSION_MINOR;
    metadata->traits = traits;
    return true;
  }
  return false;
}

/* ---- Attributes ------------------------------------------------------------------------------ */

/* The attributes of ours. */
enum { ENDPOINT, KEY, SPEC, TESSERACT, ATTRIBUTES };

static const struct {
  const char *name;
  int32_t type;
} attributes[ATTRIBUTES] = {
    [ENDPOINT] = {"endpoint", XLA_ATTRIBUTE_STRING},
    [KEY] = {"key", XLA_ATTRIBUTE_SCALAR},
    [SPEC] = {"spec", XLA_ATTRIBUTE_STRING},
    [TESSERACT] = {"tesseract", XLA_ATTRIBUTE_STRING},
};

/* Which of ours has this name, or ATTRIBUTES: all differ in length, so one comparison of a length
 * known here tells. */
static int attribute_named(const xla_text *name) {
  switch (name->length) {
    case 8:
      return memcmp(name->data, "endpoint", 8) == 0 ? ENDPOINT : ATTRIBUTES;
    case 3:
      return memcmp(name->data, "key", 3) == 0 ? KEY : ATTRIBUTES;
    case 4:
      return memcmp(name->data, "spec", 4) == 0 ? SPEC : ATTRIBUTES;
    case 9:
      return memcmp(name->data, "tesseract", 9) == 0 ? TESSERACT : ATTRIBUTES;
    default:
      return ATTRIBUTES;
  }
}

static tesseract_string string_of(const void *value) {
  const xla_text *text = value;
  tesseract_string string = {text->data, text->length};
  return string;
}

/* Null, or an error. */
static xla_error *read_attributes(const xla_frame *frame, tesseract_jax_request *request) {
  const xla_attributes *given = &frame->attributes;
  const void *values[ATTRIBUTES] = {NULL};
  for (int64_t i = 0; i < given->count; i++) {
    const int which = attribute_named(given->names[i]);
    if (which == ATTRIBUTES) continue;
    if (UNLIKELY(given->types[i] != attributes[which].type))
      return fail(frame, XLA_INVALID_ARGUMENT,
                  "tesseract-host: the attribute %s of a call must be a %s", attributes[which].name,
                  which == KEY ? "number" : "string");
    values[which] = given->values[i];
  }
  for (int which = 0; which < ATTRIBUTES; which++)
    if (UNLIKELY(!values[which]))
      return fail(frame, XLA_INVALID_ARGUMENT,
                  "tesseract-host: a call lacks the attribute %s: it was not lowered by "
                  "tesseract_host.jax",
                  attributes[which].name);
  const xla_scalar *key = values[KEY];
  if (UNLIKELY(key->dtype != XLA_U64 && key->dtype != XLA_S64))
    return fail(frame, XLA_INVALID_ARGUMENT,
                "tesseract-host: the attribute key of a call must have 64 bits");
  memcpy(&request->key, key->value, sizeof request->key);
  request->endpoint = string_of(values[ENDPOINT]);
  request->spec = string_of(values[SPEC]);
  request->identity = string_of(values[TESSERACT]);
  return NULL;
}

/* ---- Tensors --------------------------------------------------------------------------------- */

/* How many tensors a call may have without memory being asked for. */
#define FEW_TENSORS 64

static xla_error *read_buffer(const xla_frame *frame, const xla_buffer *buffer, DLDevice device,
                              DLTensor *tensor) {
  const bool known = buffer->dtype >= 0 && buffer->dtype < TESSERACT_JAX_DTYPES &&
                     tesseract_jax_dtypes[buffer->dtype].name;
  if (UNLIKELY(!known))
    return fail(frame, XLA_UNIMPLEMENTED,
                "tesseract-host: arrays of XLA's element type %d can't be handed to a component",
                buffer->dtype);
  if (UNLIKELY(buffer->rank < 0 || buffer->rank > INT32_MAX))
    return fail(frame, XLA_INVALID_ARGUMENT, "tesseract-host: an array has the rank %lld",
                (long long)buffer->rank);
  tensor->data = buffer->data;
  tensor->device = device;
  tensor->ndim = (int32_t)buffer->rank;
  tensor->dtype.code = tesseract_jax_dtypes[buffer->dtype].code;
  tensor->dtype.bits = tesseract_jax_dtypes[buffer->dtype].bits;
  tensor->dtype.lanes = 1;
  tensor->shape = buffer->dims;
  tensor->strides = NULL;
  tensor->byte_offset = 0;
  return NULL;
}

/* Null, or an error. */
static xla_error *read_buffers(const xla_frame *frame, const xla_buffers *buffers, DLDevice device,
                               DLTensor *tensors, DLTensor **pointers) {
  for (int64_t i = 0; i < buffers->count; i++) {
    if (UNLIKELY(buffers->types[i] != XLA_BUFFER))
      return fail(frame, XLA_UNIMPLEMENTED, "tesseract-host: array %lld of a call is no buffer",
                  (long long)i);
    xla_error *error = read_buffer(frame, buffers->items[i], device, &tensors[i]);
    if (UNLIKELY(error != NULL)) return error;
    pointers[i] = &tensors[i];
  }
  return NULL;
}

/* Runs the request with tensors in memory given here. */
static xla_error *run_with(const xla_frame *frame, tesseract_jax_request *request,
                           DLTensor *tensors, DLTensor **pointers) {
  const int64_t n_in = frame->arguments.count;
  xla_error *error = read_buffers(frame, &frame->arguments, request->device, tensors, pointers);
  if (UNLIKELY(error != NULL)) return error;
  error = read_buffers(frame, &frame->results, request->device, tensors + n_in, pointers + n_in);
  if (UNLIKELY(error != NULL)) return error;
  request->in = (const DLTensor *const *)pointers;
  request->out = pointers + n_in;
  char *message = NULL;
  const int32_t status = tesseract_jax_execute(request, &message);
  return UNLIKELY(status != TESSERACT_OK) ? failed(frame, status, message) : NULL;
}

static xla_error *run_with_few(const xla_frame *frame, tesseract_jax_request *request) {
  DLTensor tensors[FEW_TENSORS];
  DLTensor *pointers[FEW_TENSORS];
  return run_with(frame, request, tensors, pointers);
}

static xla_error *run_with_many(const xla_frame *frame, tesseract_jax_request *request) {
  const size_t count = (size_t)request->n_in + (size_t)request->n_out;
  DLTensor *tensors = calloc(count, sizeof *tensors);
  DLTensor **pointers = calloc(count, sizeof *pointers);
  xla_error *error = tensors && pointers
                         ? run_with(frame, request, tensors, pointers)
                         : fail(frame, XLA_RESOURCE_EXHAUSTED, "tesseract-host: out of memory");
  free(pointers);
  free(tensors);
  return error;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* Null, or an error: a frame that is no call. */
static xla_error *check_frame(const xla_frame *frame) {
  if (UNLIKELY(frame->size < sizeof *frame))
    return fail(frame, XLA_UNIMPLEMENTED,
                "tesseract-host: the frame of a call has %zu bytes, too few: this XLA is too old",
                frame->size);
  if (UNLIKELY(frame->stage != XLA_STAGE_EXECUTE))
    return fail(frame, XLA_UNIMPLEMENTED,
                "tesseract-host: the handler has no stage %d, only execution", frame->stage);
  return NULL;
}

static xla_error *run(const xla_frame *frame, tesseract_jax_request *request) {
  xla_error *error = read_attributes(frame, request);
  if (UNLIKELY(error != NULL)) return error;
  request->n_in = frame->arguments.count;
  request->n_out = frame->results.count;
  return request->n_in + request->n_out <= FEW_TENSORS ? run_with_few(frame, request)
                                                       : run_with_many(frame, request);
}

xla_error *tesseract_jax_cpu(xla_frame *frame) {
  if (answer_metadata(frame, 0)) return NULL;
  xla_error *error = check_frame(frame);
  if (UNLIKELY(error != NULL)) return error;
  tesseract_jax_request request = {.device = {kDLCPU, 0}};
  return run(frame, &request);
}

static xla_error *run_on_cuda(const xla_frame *frame) {
  xla_error *error = check_frame(frame);
  if (UNLIKELY(error != NULL)) return error;
  const xla_api *api = frame->api;
  if (UNLIKELY(!TESSERACT_HAS(xla_api, api, ordinal_get) || !api->stream_get || !api->ordinal_get))
    return fail(frame, XLA_UNIMPLEMENTED,
                "tesseract-host: this XLA does not tell a handler its device and stream");
  xla_stream_get stream = {sizeof stream, NULL, frame->context, NULL};
  error = api->stream_get(&stream);
  if (UNLIKELY(error != NULL)) return error;
  xla_ordinal_get ordinal = {sizeof ordinal, NULL, frame->context, 0};
  error = api->ordinal_get(&ordinal);
  if (UNLIKELY(error != NULL)) return error;
  tesseract_jax_request request = {.device = {kDLCUDA, ordinal.ordinal}};
  /* CUDA's null stream is the legacy default one, which DLPack and the host call 1. */
  request.stream = stream.stream ? (uint64_t)(uintptr_t)stream.stream : 1;
  /* XLA retains the primary context of a device, and has it current while a program runs. */
  request.flags = TESSERACT_CONTEXT_CURRENT;
  return run(frame, &request);
}

xla_error *tesseract_jax_cuda(xla_frame *frame) {
  return answer_metadata(frame, 0) ? NULL : run_on_cuda(frame);
}

xla_error *tesseract_jax_cuda_captured(xla_frame *frame) {
  return answer_metadata(frame, XLA_TRAIT_CAPTURED) ? NULL : run_on_cuda(frame);
}
