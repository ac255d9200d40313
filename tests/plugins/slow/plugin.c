/* Runs until it is cancelled, asking at every step.  It logs "running" once it runs. */
#include <sched.h>

#include "../component.h"

DESCRIBE({
  "name": "slow",
  "threads": "concurrent",
  "outputs": [{"path": "steps", "dtype": "int64", "shape": []}]
})

static int32_t apply(void *instance, void *plan, tesseract_frame *frame) {
  (void)instance, (void)plan;
  frame->host->log(frame->log, TESSERACT_LOG_INFO, "running", TESSERACT_NTS);
  while (!frame->host->cancelled(frame)) sched_yield();
  return tesseract_fail(frame, TESSERACT_ERROR_CANCELLED, NULL, "stopped on request");
}

EXPORT_COMPONENT(.apply = apply)
