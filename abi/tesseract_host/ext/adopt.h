/* tesseract_host/ext/adopt.h: outputs in memory of the component's own.
 *
 * A component that has made an output in memory of its own writes it into the tensor it is given,
 * which is a copy.  Where the caller gave no destination, it can hand the memory over instead.
 * Offered by the host, found by the host table's `extension`. */
#ifndef TESSERACT_HOST_EXT_ADOPT_H
#define TESSERACT_HOST_EXT_ADOPT_H

#include "../plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TESSERACT_ADOPT_ID "tesseract-host.adopt/1"

typedef struct tesseract_adopt_table {
  uint32_t size;
  uint32_t flags; /* 0 */

  /* [run] Makes `tensor` the output at a position: compact row-major memory on the host, or on the
   * device that the output's tensor in the frame is on (ready on the call's stream), with shape and
   * strides written out, byte offset 0, of the output's dtype and shape, that nothing else reads or
   * writes from now on.  TESSERACT_OK: it is the host's, which calls its deleter once, on any
   * thread and at any time, or leaves that to whoever takes it out of the result.
   * TESSERACT_ERROR_UNSUPPORTED: the output has a destination, nobody asked for a result, or the
   * tensor is not as said; nothing is recorded and the tensor stays the component's, which goes on
   * as without this extension. */
  int32_t (*output)(tesseract_frame *frame, uint64_t index, DLManagedTensorVersioned *tensor);
} tesseract_adopt_table;

#ifdef __cplusplus
}
#endif

#endif
