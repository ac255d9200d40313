/* tesseract_host/ext/reference.h: keeping a component that somebody else closes.
 *
 * For tables of components whose owners close them at any time, also while another thread prepares
 * a call.  Offered by the host, found by tesseract_host_extension. */
#ifndef TESSERACT_HOST_EXT_REFERENCE_H
#define TESSERACT_HOST_EXT_REFERENCE_H

#include "../host.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TESSERACT_REFERENCE_ID "tesseract-host.reference/1"

typedef struct tesseract_reference_table {
  uint32_t size;
  uint32_t flags; /* 0 */

  /* [any] Takes a reference to a component that is open or that somebody holds.  Its handle stays
   * valid until the reference is dropped; once closed it refuses what is new as any closed one. */
  void (*hold)(tesseract_component *component);

  /* [any] Drops one; the last reference destroys the component. */
  void (*drop)(tesseract_component *component);
} tesseract_reference_table;

#ifdef __cplusplus
}
#endif

#endif
