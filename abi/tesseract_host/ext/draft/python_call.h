/* tesseract_host/ext/draft/python_call.h: calling a Python component with Python objects.
 *
 * Draft, which nobody offers yet.  To be offered by components of the Python loader and found by
 * tesseract_component_extension.  The
 * functions are called inside tesseract_call_with, which gives them their instance and frame.
 * Every PyObject is a void *, so that neither this header nor the host knows Python. */
#ifndef TESSERACT_HOST_EXT_PYTHON_CALL_H
#define TESSERACT_HOST_EXT_PYTHON_CALL_H

#include "../../types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TESSERACT_PYTHON_CALL_ID "tesseract-host.python-call/1"

/* All functions: [run], GIL held.  Arguments are borrowed references: dictionaries as the module's
 * schema says, and lists, tuples or sets of paths.  The result is a new reference; or null with a
 * Python exception set, which the body turns into TESSERACT_ERROR_COMPONENT. */
typedef struct tesseract_python_call_table {
  uint32_t size;
  uint32_t flags; /* 0 */
  void *(*apply)(void *instance, tesseract_frame *frame, void *inputs);
  void *(*jvp)(void *instance, tesseract_frame *frame, void *inputs, void *jvp_inputs,
               void *jvp_outputs, void *tangents);
  void *(*vjp)(void *instance, tesseract_frame *frame, void *inputs, void *vjp_inputs,
               void *vjp_outputs, void *cotangents);
  void *(*jacobian)(void *instance, tesseract_frame *frame, void *inputs, void *jac_inputs,
                    void *jac_outputs);
  void *(*abstract_eval)(void *instance, tesseract_frame *frame, void *abstract_inputs);
  void *(*module)(void *instance, tesseract_frame *frame); /* the module object */
} tesseract_python_call_table;

#ifdef __cplusplus
}
#endif

#endif
