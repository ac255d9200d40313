/* tesseract_host/types.h: the types that both sides of the line share.
 *
 * Embedders include host.h, components plugin.h; both get this file.
 *
 * How to read the comments.  [any] may be called from any thread at any time.  [free] from any
 * thread, once, when no other thread uses the object.  [run] only while the frame given is running,
 * from any thread.  A pointer may be null only where its comment says so.  "Borrowed" means valid
 * until the call returns.  A function that returns int32_t returns a status, TESSERACT_OK (0) or an
 * error, and writes its out-pointers only on TESSERACT_OK unless its comment says otherwise.
 *
 * How structs grow.  Each begins with its size in bytes, then flags; members are only appended and
 * zero is every new member's default.  What a caller asks for (leaves, signature, options) is
 * refused with TESSERACT_ERROR_VERSION when it holds flags or non-zero bytes that the host does not
 * know, so nothing asked for is ever ignored.  What a side offers (tables, frames) may be longer
 * than the reader knows: what it can't read it can't use.  The host asks nothing of a component
 * that the component's versions don't include.  Structs marked frozen have no size and never
 * change.
 *
 * Names differ from each other also when case is ignored, since Fortran does. */
#ifndef TESSERACT_HOST_TYPES_H
#define TESSERACT_HOST_TYPES_H

#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdint.h>

#if !defined(DLPACK_MAJOR_VERSION) || DLPACK_MAJOR_VERSION != 1
#error "tesseract-host needs the header of DLPack 1.x, <dlpack/dlpack.h>; 0.x is too old"
#endif

#if defined(_WIN32)
#define TESSERACT_EXPORT __declspec(dllexport)
#else
#define TESSERACT_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Versions ---------------------------------------------------------------------------------
 * The ABI's major is part of the entry function's name.  Within it, versions count 1, 2, 3, …; each
 * side states the range it can serve and both behave as the smaller maximum. */

#define TESSERACT_ABI_MIN 1u /* the oldest version that code using this header can run at */
#define TESSERACT_ABI_MAX 1u /* the version this header describes */

typedef struct tesseract_range { /* frozen */
  uint32_t min;
  uint32_t max;
} tesseract_range;

/* True when the struct behind `pointer`, of the given type, reaches `member`: ask before reading
 * any member that was appended after version 1. */
#define TESSERACT_HAS(type, pointer, member) \
  ((pointer)->size >= offsetof(type, member) + sizeof((pointer)->member))

/* ---- Status ---------------------------------------------------------------------------------- */

#define TESSERACT_OK 0
#define TESSERACT_ERROR_INVALID_ARGUMENT 1 /* the call itself is wrong */
#define TESSERACT_ERROR_SCHEMA 2           /* shape, dtype, missing or unknown path */
#define TESSERACT_ERROR_DEVICE 3           /* a tensor lives where it can't be used */
#define TESSERACT_ERROR_UNSUPPORTED 4      /* the component has no such endpoint or feature */
#define TESSERACT_ERROR_NOT_FOUND 5        /* no such source, loader or name */
#define TESSERACT_ERROR_OUT_OF_DOMAIN 6    /* not at this point; another may work */
#define TESSERACT_ERROR_COMPONENT 7        /* the component failed */
#define TESSERACT_ERROR_OUT_OF_MEMORY 8
#define TESSERACT_ERROR_CANCELLED 9
#define TESSERACT_ERROR_VERSION 10     /* the two sides have no version or struct in common */
#define TESSERACT_ERROR_UNAVAILABLE 11 /* closed, shut down, forked child, interpreter gone */
#define TESSERACT_ERROR_INTERNAL 12    /* a bug in the host */

/* Texts an error may carry besides its message. */
#define TESSERACT_DETAIL_COMPONENT 1 /* the component's name */
#define TESSERACT_DETAIL_ENDPOINT 2  /* "apply", "jvp", … */
#define TESSERACT_DETAIL_PATH 3      /* the leaf at fault */
#define TESSERACT_DETAIL_TRACEBACK 4

/* Log levels. */
#define TESSERACT_LOG_DEBUG 1
#define TESSERACT_LOG_INFO 2
#define TESSERACT_LOG_WARNING 3
#define TESSERACT_LOG_ERROR 4
#define TESSERACT_LOG_OUTPUT 5 /* what a module printed */

/* ---- Strings ---------------------------------------------------------------------------------
 * In: UTF-8 and a length, TESSERACT_NTS meaning "up to the NUL"; null with length 0 is the empty
 * string.  Out: also NUL-terminated, valid as long as the object they were asked from. */

#define TESSERACT_NTS UINT64_MAX

typedef struct tesseract_string { /* frozen */
  const char *data;
  uint64_t length;
} tesseract_string;

/* Initialiser of a tesseract_string from a literal, and JSON text written without escapes:
 *   tesseract_string json = TESSERACT_STR(TESSERACT_JSON({"method": "euler", "steps": 10})); */
#define TESSERACT_STR(literal) {literal, sizeof(literal) - 1}
#define TESSERACT_JSON(...) #__VA_ARGS__

/* ---- Tensors ----------------------------------------------------------------------------------
 * A tensor is a borrowed DLTensor.  Given: null strides mean compact row-major, byte_offset counts,
 * a zero-size tensor may have null data.  Received: byte_offset is 0, and strides are null only at
 * rank 0 and where the leaf's layout is the default, compact row-major; else they are written. */

/* A DLTensor on the CPU, compact row-major, over memory that stays the caller's.  `shape` must live
 * as long as the tensor, null for rank 0. */
static inline DLTensor tesseract_tensor(DLDataType dtype, void *data, int32_t ndim,
                                        int64_t *shape) {
  DLTensor tensor;
  tensor.data = data;
  tensor.device.device_type = kDLCPU;
  tensor.device.device_id = 0;
  tensor.ndim = ndim;
  tensor.dtype = dtype;
  tensor.shape = shape;
  tensor.strides = NULL;
  tensor.byte_offset = 0;
  return tensor;
}

static inline DLTensor tesseract_float64(double *data, int32_t ndim, int64_t *shape) {
  DLDataType dtype = {kDLFloat, 64, 1};
  return tesseract_tensor(dtype, data, ndim, shape);
}

static inline DLTensor tesseract_float32(float *data, int32_t ndim, int64_t *shape) {
  DLDataType dtype = {kDLFloat, 32, 1};
  return tesseract_tensor(dtype, data, ndim, shape);
}

static inline DLTensor tesseract_int64(int64_t *data, int32_t ndim, int64_t *shape) {
  DLDataType dtype = {kDLInt, 64, 1};
  return tesseract_tensor(dtype, data, ndim, shape);
}

/* How a component may keep an input array beyond the call, where the caller allows it.  The struct
 * is borrowed, so a component copies it; each retain is paired with one release. */
typedef struct tesseract_owner { /* frozen */
  void *object;                  /* what the two functions get */
  void (*retain)(void *object);  /* [any] */
  void (*release)(void *object); /* [any], also after the component is gone */
} tesseract_owner;

/* ---- Leaves -----------------------------------------------------------------------------------
 * A tree is a list of named tensors and one JSON object for everything else. */

/* One named tensor.  Given as input or seed: the value.  Wanted as result: the destination, or null
 * and the host allocates.  In a signature only dtype, rank and device are read, and a null tensor
 * means "as declared"; it is on the CPU, or, where others of the call are on a device and the
 * component takes them there, on that device. */
typedef struct tesseract_leaf { /* frozen */
  tesseract_string path;        /* "a.b", "xs.[0]", "params.{layer 0}" */
  const DLTensor *tensor;       /* may be null where said above; a destination's data are written */
  const tesseract_owner *owner; /* may be null: the array is only valid during the call */
} tesseract_leaf;

typedef struct tesseract_leaves {
  uint32_t size;
  uint32_t flags;              /* 0 */
  int64_t count;               /* of items; TESSERACT_ALL where leaves are wanted */
  const tesseract_leaf *items; /* may be null when count <= 0 */
  tesseract_string json;       /* of inputs: an object without the leaves above; else empty */
} tesseract_leaves;

/* apply: every output; else every differentiable output, or every differentiable input that is
 * given as a tensor */
#define TESSERACT_ALL (-1)

#define TESSERACT_LEAVES_INIT {sizeof(tesseract_leaves), 0, 0, NULL, {NULL, 0}}

/* ---- Signatures -------------------------------------------------------------------------------
 * What is fixed when a call is prepared: everything but the sizes and the values of its tensors.
 * `of` names output leaves, `wrt` names input leaves, and the endpoint says what is done there:
 *
 *                   of                 wrt               tensors in           tensors out
 *   apply           wanted             null              inputs               of
 *   jvp             wanted             tangents given    inputs, then wrt     of
 *   vjp             cotangents given   wanted            inputs, then of      wrt
 *   jacobian        wanted             wanted            inputs               [of * n_wrt + wrt]
 *   abstract_eval   wanted             null              inputs, data unread  of, without data */

#define TESSERACT_ENDPOINT_APPLY 1
#define TESSERACT_ENDPOINT_JVP 2
#define TESSERACT_ENDPOINT_VJP 3
#define TESSERACT_ENDPOINT_JACOBIAN 4
#define TESSERACT_ENDPOINT_ABSTRACT_EVAL 5

typedef struct tesseract_signature {
  uint32_t size;
  uint32_t flags;                 /* TESSERACT_NO_COPY, TESSERACT_STAGED: for every run */
  int32_t endpoint;               /* TESSERACT_ENDPOINT_… */
  int32_t reserved;               /* 0 */
  const tesseract_leaves *inputs; /* may be null: no leaves, empty JSON */
  const tesseract_leaves *of;     /* null where leaves are wanted: all of them */
  const tesseract_leaves *wrt;    /* likewise */
} tesseract_signature;

#define TESSERACT_SIGNATURE_INIT {sizeof(tesseract_signature), 0, 0, 0, NULL, NULL, NULL}

/* Flag: fail rather than copy an array.  Dtype and device are settled at prepare, layout (strides,
 * offset, alignment) at each run. */
#define TESSERACT_NO_COPY 1u

/* Flag of a signature: arrays on a device go through the host, as for components that take none,
 * whatever the component says of its devices. */
#define TESSERACT_STAGED 2u

/* ---- Options of one call --------------------------------------------------------------------- */

typedef struct tesseract_cancel tesseract_cancel; /* see host.h */
typedef struct tesseract_frame tesseract_frame;   /* one running call, see plugin.h */

typedef struct tesseract_call_options {
  uint32_t size;
  uint32_t flags;           /* TESSERACT_NO_COPY, TESSERACT_CONTEXT_CURRENT: for this call */
  uint64_t stream;          /* device inputs are ready on it, device outputs will be: 1 legacy,
                               2 per-thread default, else the handle; 0: no device tensors */
  tesseract_cancel *cancel; /* may be null */
  const tesseract_owner *const *owners; /* for tesseract_call_run: null or one per tensor in, each
                                           of which may be null; else null */
} tesseract_call_options;

/* Flag of a call's options: the primary context of the device that the tensors are on is current on
 * this thread, so that the host need not make it so (two driver calls less). */
#define TESSERACT_CONTEXT_CURRENT 2u

#define TESSERACT_CALL_OPTIONS_INIT {sizeof(tesseract_call_options), 0, 0, NULL, NULL}

#ifdef __cplusplus
}
#endif

#endif
