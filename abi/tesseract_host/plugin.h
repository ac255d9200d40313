/* tesseract_host/plugin.h: writing a component.
 *
 * A component is a shared library that exports tesseract_plugin_v1 and links nothing of ours.  The
 * shortest has three functions: the entry, describe and apply.
 *
 * A component never throws, exits, prints, or changes the process (signals, locale, folder).  It
 * writes no input and keeps no pointer it is given beyond the call, unless a comment allows it. */
#ifndef TESSERACT_HOST_PLUGIN_H
#define TESSERACT_HOST_PLUGIN_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The description --------------------------------------------------------------------------
 * What `describe` returns: one JSON object.  In full in docs/description.md; the usual keys:
 *
 *   name      text for messages; default: the file's name
 *   threads   "serial-per-instance" (default), "serial-per-process", "concurrent" or "owner"
 *   inputs    list of leaves, in the order of frame->inputs
 *   outputs   list of leaves, in the order of frame->outputs
 *
 * of a leaf:
 *   path            "x", "a.b"; with `prepare` also the patterns "xs.[]" and "params.{}"
 *   dtype           "float64", "int32", "bool", "complex64", "bfloat16", …
 *   shape           list of fixed lengths, names ("n": equal wherever it stands) and null (any
 *                   length; of an output: the component says); null in place of the list: any rank
 *   differentiable  true or false (default)
 *   default         of an input: its value where the caller gives none; without it, one is required
 *   layout          "row-major" (compact, default), "column-major" (compact) or "any" (strides) */

/* ---- What the host offers -------------------------------------------------------------------- */

/* A component's way to its log.  Never null in a frame of a component; valid from create until
 * destroy returns, also on threads of the component's own. */
typedef struct tesseract_log tesseract_log;

/* Why an array was copied. */
#define TESSERACT_COPY_LAYOUT 1 /* made compact, transposed or aligned */
#define TESSERACT_COPY_DTYPE 2  /* converted to the declared dtype */
#define TESSERACT_COPY_DEVICE 3 /* moved between host and device */
#define TESSERACT_COPY_OWNED 4  /* an input, because the component may keep it */

typedef struct tesseract_host_table {
  uint32_t size;
  uint32_t flags;      /* unknown bits are to be ignored */
  tesseract_range abi; /* the versions this host serves */

  /* [run] Records why the call fails; returns `status`, so that a component can return the result.
   * `path` names the leaf at fault, may be null.  The last one before return counts. */
  int32_t (*error_set)(tesseract_frame *frame, int32_t status, const char *path,
                       uint64_t path_length, const char *text, uint64_t text_length);

  /* [run] Adds to the error recorded: TESSERACT_DETAIL_TRACEBACK, say. */
  void (*error_detail)(tesseract_frame *frame, int32_t detail, const char *text, uint64_t length);

  /* [run] 1 when the caller asked to stop: clean up and return TESSERACT_ERROR_CANCELLED.  Cheap
   * enough for every iteration (one load). */
  int32_t (*cancelled)(const tesseract_frame *frame);

  /* [run] The tensor for an output, by position: the caller's destination when it has this shape
   * and dtype, else TESSERACT_ERROR_SCHEMA; without destination fresh memory of the host.  Needed
   * where the tensor in frame->outputs has -1 in its shape or rank, which is then the component's
   * to say; allowed for every wanted output, an error for others; in abstract_eval `tensor` may be
   * null and an unknown length is -1. `dtype` null means as declared, and must be given where
   * nothing is declared.  `shape` may be null for rank 0.  The tensor is borrowed; write its data
   * as its strides say. */
  int32_t (*allocate_output)(tesseract_frame *frame, uint64_t index, const DLDataType *dtype,
                             int32_t ndim, const int64_t *shape, DLTensor **tensor);

  /* [run] An output that no signature can name, an element of a container whose keys or length only
   * the run knows.  For TESSERACT_ENDPOINT_APPLY and _ABSTRACT_EVAL, where frame->flags has
   * TESSERACT_FRAME_ALL; else TESSERACT_ERROR_UNSUPPORTED.  Otherwise like allocate_output. */
  int32_t (*add_output)(tesseract_frame *frame, const char *path, uint64_t path_length,
                        const DLDataType *dtype, int32_t ndim, const int64_t *shape,
                        DLTensor **tensor);

  /* [run] The outputs that are no arrays, as one JSON object; at most once a call.  Copied. */
  int32_t (*output_json)(tesseract_frame *frame, const char *text, uint64_t length);

  /* [run] Counts a copy that the component made of an array: TESSERACT_COPY_…, and its bytes. */
  void (*copied)(tesseract_frame *frame, int32_t reason, uint64_t bytes);

  /* [any] One line for the log, frame->log's.  Copied. */
  void (*log)(tesseract_log *log, int32_t level, const char *text, uint64_t length);

  /* [any] The host's table of an extension, or null.  Valid as long as the process. */
  const void *(*extension)(const char *id, uint64_t length);
} tesseract_host_table;

#define TESSERACT_FRAME_ALL 1u     /* the caller asked for every output and takes a result */
#define TESSERACT_FRAME_NO_COPY 2u /* fail rather than copy an array between host and device */

/* ---- One running call -------------------------------------------------------------------------
 * Made by the host, valid until the function it was given to returns.  Pass on this pointer, never
 * a copy.
 *
 * Positions: a component without `prepare` sees its own leaf tables, in the order of describe, with
 * null for what is not given or not wanted; leaves that the caller put in the JSON, or left to
 * their default, are tensors like the others.  (The lists in frame->signature keep the caller's
 * order.)  A component with `prepare` sees the positions of the signature it prepared, and reads
 * the JSON itself. */

struct tesseract_frame {
  uint32_t size;
  uint32_t flags;   /* TESSERACT_FRAME_…; unknown bits are to be ignored */
  int32_t endpoint; /* TESSERACT_ENDPOINT_…; 0 in create, describe, prepare and loaders' functions,
                       where all below but host and log is null or 0 */
  int32_t reserved;
  const tesseract_host_table *host;
  tesseract_log *log;
  const tesseract_signature *signature; /* of the call; inputs->json is its JSON */
  const DLTensor *const *inputs;        /* [n_inputs]; null is not given */
  const DLTensor *const *seeds;         /* [n_seeds] tangents by input or cotangents by output; null
                                           entries are zero */
  DLTensor *const *outputs;             /* [n_outputs] outputs, gradients by input, or Jacobians
                                           [output * inputs + input]; null is not wanted */
  const tesseract_owner *const *owners; /* null, or [n_inputs + n_seeds]; each may be null */
  uint64_t n_inputs;
  uint64_t n_seeds;
  uint64_t n_outputs;
  uint64_t stream; /* device inputs are ready on it, device outputs must be; 0: all on the host */
};

/* ---- What the component offers --------------------------------------------------------------- */

/* Computes what is wanted: writes the data of each non-null outputs[i], overwriting.  `instance` is
 * what create made, `plan` what prepare made, null where there is none.  Called by one thread at a
 * time unless the description says "threads": "concurrent", and always by the same if "owner". */
typedef int32_t (*tesseract_endpoint)(void *instance, void *plan, tesseract_frame *frame);

typedef struct tesseract_plugin_table {
  uint32_t size;
  uint32_t flags;      /* 0 */
  tesseract_range abi; /* the versions this component can run at */

  /* Makes an instance; `options` is a JSON object ("{}" where none were given; also
   * NUL-terminated), whose unknown keys must be refused.  May be null: no state, no options. */
  int32_t (*create)(const char *options, uint64_t length, void **instance, tesseract_frame *frame);

  /* Called once, after the last call.  May be null. */
  void (*destroy)(void *instance);

  /* The leaf tables and properties as a JSON object, computed without running the solver; valid as
   * long as the instance. */
  int32_t (*describe)(void *instance, const char **text, uint64_t *length, tesseract_frame *frame);

  /* Resolves a signature, whose lists are complete and whose leaves all have a tensor (dtype, rank,
   * shape with -1).  Needed for containers of varying keys; may be null.  The signature lives as
   * long as the plan.  Plans are run by several threads at once if the component is concurrent. */
  int32_t (*prepare)(void *instance, const tesseract_signature *signature, void **plan,
                     tesseract_frame *frame);

  /* Frees a plan.  [any].  Null where prepare is. */
  void (*forget)(void *instance, void *plan);

  /* Only apply is required; what is null is not offered (the host may derive it). */
  tesseract_endpoint apply;
  tesseract_endpoint jvp;
  tesseract_endpoint vjp;
  tesseract_endpoint jacobian;
  tesseract_endpoint abstract_eval; /* calls allocate_output for each wanted output */

  /* [any] The component's table of an extension, or null; may be null.  `instance` is null when
   * asked about the plugin as a whole. */
  const void *(*extension)(void *instance, const char *id, uint64_t length);
} tesseract_plugin_table;

/* The one exported function.  Called by one thread at a time, possibly more than once; does nothing
 * but hand out a table that lives as long as the process.  `host` does too.  The host compares the
 * versions: a component need not. */
TESSERACT_EXPORT int32_t tesseract_plugin_v1(const tesseract_host_table *host,
                                             const tesseract_plugin_table **plugin);

/* Records an error in one line:  return tesseract_fail(frame, TESSERACT_ERROR_OUT_OF_DOMAIN, "dt",
 * "too large");  `path` may be null. */
static inline int32_t tesseract_fail(tesseract_frame *frame, int32_t status, const char *path,
                                     const char *text) {
  return frame->host->error_set(frame, status, path, TESSERACT_NTS, text, TESSERACT_NTS);
}

#ifdef __cplusplus
}
#endif

#endif
