/* tesseract_host/ext/nested.h: components that call components.
 *
 * A component links nothing of ours, so what it needs of host.h comes as a table; each member is
 * the function of that name there.  Offered by the host, found by the host table's `extension`. */
#ifndef TESSERACT_HOST_EXT_NESTED_H
#define TESSERACT_HOST_EXT_NESTED_H

#include "../host.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TESSERACT_NESTED_ID "tesseract-host.nested/1"

typedef struct tesseract_nested_table {
  uint32_t size;
  uint32_t flags; /* 0 */

  /* [run] Makes `error`, which a nested call gave, the cause of this call's error and takes it
   * over; returns the nested error's status.  error_set may be called before, for a message. */
  int32_t (*error_nested)(tesseract_frame *frame, tesseract_error *error);

  int32_t (*open)(const char *source, uint64_t length, const tesseract_open_options *options,
                  tesseract_component **component, tesseract_error **error);
  void (*close)(tesseract_component *component);
  int32_t (*apply)(tesseract_component *component, const tesseract_leaves *inputs,
                   const tesseract_leaves *of, const tesseract_call_options *options,
                   tesseract_result **result, tesseract_error **error);
  int32_t (*jvp)(tesseract_component *component, const tesseract_leaves *inputs,
                 const tesseract_leaves *tangents, const tesseract_leaves *of,
                 const tesseract_call_options *options, tesseract_result **result,
                 tesseract_error **error);
  int32_t (*vjp)(tesseract_component *component, const tesseract_leaves *inputs,
                 const tesseract_leaves *cotangents, const tesseract_leaves *wrt,
                 const tesseract_call_options *options, tesseract_result **result,
                 tesseract_error **error);
  int32_t (*jacobian)(tesseract_component *component, const tesseract_leaves *inputs,
                      const tesseract_leaves *of, const tesseract_leaves *wrt,
                      const tesseract_call_options *options, tesseract_result **result,
                      tesseract_error **error);
  int32_t (*prepare)(tesseract_component *component, const tesseract_signature *signature,
                     tesseract_call **call, tesseract_error **error);
  int32_t (*call_run)(const tesseract_call *call, const DLTensor *const *in, DLTensor *const *out,
                      const tesseract_call_options *options, tesseract_result **result,
                      tesseract_error **error);
  void (*call_free)(tesseract_call *call);
  int64_t (*result_count)(const tesseract_result *result);
  const DLTensor *(*result_tensor)(const tesseract_result *result, int64_t index);
  const char *(*result_json)(const tesseract_result *result, uint64_t *length);
  void (*result_free)(tesseract_result *result);
  const char *(*error_message)(const tesseract_error *error, uint64_t *length);
  void (*error_free)(tesseract_error *error);
} tesseract_nested_table;

#ifdef __cplusplus
}
#endif

#endif
