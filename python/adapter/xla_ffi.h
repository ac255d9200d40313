/* What a handler without state sees of XLA's foreign function interface, in our own declarations:
 * XLA's header is not needed to build.  Layout and numbers are the same in every version from 0.1,
 * of jaxlib 0.7, to 0.5, of jaxlib 0.12; a test compares them with an installed jaxlib's. */
#ifndef TESSERACT_JAX_XLA_FFI_H
#define TESSERACT_JAX_XLA_FFI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version that the handlers declare.  A runtime refuses newer ones than its own, and one that
 * is refused before JAX's backends exist makes every operation fail: never raise this unasked. */
#define XLA_VERSION_MAJOR 0
#define XLA_VERSION_MINOR 1

/* Extensions of a frame. */
#define XLA_EXTENSION_METADATA 1

#define XLA_STAGE_EXECUTE 3

#define XLA_BUFFER 1 /* of an argument or a result */

/* Kinds of attributes. */
#define XLA_ATTRIBUTE_SCALAR 3
#define XLA_ATTRIBUTE_STRING 4

/* Traits of a handler: what it enqueues may be captured into a graph and replayed, without another
 * call of it as long as the buffers stay. */
#define XLA_TRAIT_CAPTURED 1u

/* Codes of errors. */
#define XLA_INVALID_ARGUMENT 3
#define XLA_RESOURCE_EXHAUSTED 8
#define XLA_FAILED_PRECONDITION 9
#define XLA_UNIMPLEMENTED 12
#define XLA_INTERNAL 13

/* Element types. */
#define XLA_PRED 1
#define XLA_S8 2
#define XLA_S16 3
#define XLA_S32 4
#define XLA_S64 5
#define XLA_U8 6
#define XLA_U16 7
#define XLA_U32 8
#define XLA_U64 9
#define XLA_F16 10
#define XLA_F32 11
#define XLA_F64 12
#define XLA_C64 15
#define XLA_BF16 16
#define XLA_C128 18
#define XLA_F8E5M2 19
#define XLA_F8E4M3FN 20
#define XLA_F8E4M3B11FNUZ 23
#define XLA_F8E5M2FNUZ 24
#define XLA_F8E4M3FNUZ 25
#define XLA_F8E4M3 28
#define XLA_F8E3M4 29
#define XLA_F8E8M0FNU 33

typedef struct xla_error xla_error;     /* opaque; the runtime's once returned */
typedef struct xla_context xla_context; /* opaque */

typedef struct xla_extension {
  size_t size;
  int32_t type; /* XLA_EXTENSION_… */
  struct xla_extension *next;
} xla_extension;

typedef struct xla_version {
  size_t size;
  xla_extension *extensions;
  int32_t major;
  int32_t minor;
} xla_version;

/* What the runtime asks of a handler when it is registered.  Nothing past `traits` may be written:
 * older runtimes end there. */
typedef struct xla_metadata {
  size_t size;
  xla_version version;
  uint32_t traits;
} xla_metadata;

typedef struct xla_metadata_extension {
  xla_extension base;
  xla_metadata *metadata;
} xla_metadata_extension;

typedef struct xla_error_create {
  size_t size;
  xla_extension *extensions;
  const char *message; /* copied */
  int32_t code;        /* XLA_… */
} xla_error_create;

typedef struct xla_stream_get {
  size_t size;
  xla_extension *extensions;
  xla_context *context;
  void *stream; /* written */
} xla_stream_get;

typedef struct xla_ordinal_get {
  size_t size;
  xla_extension *extensions;
  xla_context *context;
  int32_t ordinal; /* written */
} xla_ordinal_get;

/* The runtime's functions; those that aren't called here are only places. */
typedef struct xla_api {
  size_t size;
  xla_extension *extensions;
  xla_version version;
  const void *internal;
  xla_error *(*error_create)(xla_error_create *arguments);
  void (*unused_1[3])(void);
  xla_error *(*stream_get)(xla_stream_get *arguments);
  void (*unused_2[12])(void);
  xla_error *(*ordinal_get)(xla_ordinal_get *arguments);
} xla_api;

typedef struct xla_text { /* not terminated */
  const char *data;
  size_t length;
} xla_text;

typedef struct xla_scalar {
  int32_t dtype;
  void *value;
} xla_scalar;

/* Dense and row-major.  Empty ones may have null data. */
typedef struct xla_buffer {
  size_t size;
  xla_extension *extensions;
  int32_t dtype;
  void *data;
  int64_t rank;
  int64_t *dims;
} xla_buffer;

typedef struct xla_buffers { /* arguments or results */
  size_t size;
  xla_extension *extensions;
  int64_t count;
  int32_t *types; /* XLA_BUFFER */
  void **items;
} xla_buffers;

typedef struct xla_attributes { /* sorted by name */
  size_t size;
  xla_extension *extensions;
  int64_t count;
  int32_t *types; /* XLA_ATTRIBUTE_… */
  xla_text **names;
  void **values;
} xla_attributes;

/* One call.  Newer runtimes append members. */
typedef struct xla_frame {
  size_t size;
  xla_extension *extensions;
  const xla_api *api;
  xla_context *context;
  int32_t stage;
  xla_buffers arguments;
  xla_buffers results;
  xla_attributes attributes;
} xla_frame;

#ifdef __cplusplus
}
#endif

#endif
