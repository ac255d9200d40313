/* tesseract_host/ext/unload.h: unmapping a native component's library.
 *
 * Libraries stay in the process: threads, handlers and thread-local destructors of theirs may
 * outlive every component.  A program that makes libraries by the thousand may ask otherwise.
 * Offered by the host, found by tesseract_host_extension. */
#ifndef TESSERACT_HOST_EXT_UNLOAD_H
#define TESSERACT_HOST_EXT_UNLOAD_H

#include "../host.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TESSERACT_UNLOAD_ID "tesseract-host.unload/1"

typedef struct tesseract_unload_table {
  uint32_t size;
  uint32_t flags; /* 0 */

  /* [any] Unmaps what `source` was loaded from.  TESSERACT_ERROR_UNAVAILABLE while a component or
   * prepared call of it lives, TESSERACT_ERROR_NOT_FOUND if it is not loaded,
   * TESSERACT_ERROR_UNSUPPORTED where the loader can't.  `error` may be null. */
  int32_t (*unload)(const char *source, uint64_t length, tesseract_error **error);
} tesseract_unload_table;

#ifdef __cplusplus
}
#endif

#endif
