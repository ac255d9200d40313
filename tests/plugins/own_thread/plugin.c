/* Logs at every level from a thread of its own, from create on and in destroy; the talkative one,
 * for which ON_AND_ON is 1, until destroy joins the thread. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "../component.h"

#ifndef ON_AND_ON
#define ON_AND_ON 0
#endif

DESCRIBE({
  "name": "own_thread"
})

typedef struct worker {
  const tesseract_host_table *host;
  tesseract_log *log;
  pthread_t thread;
  atomic_int stop;
} worker;

static void *work(void *data) {
  static const char *const lines[] = {"debug", "info", "warning", "error", "output"};
  worker *own = data;
  do {
    for (int32_t i = 0; i < 5; i++)
      own->host->log(own->log, TESSERACT_LOG_DEBUG + i, lines[i], TESSERACT_NTS);
  } while (ON_AND_ON && !atomic_load(&own->stop));
  return NULL;
}

static int32_t create(const char *options, uint64_t length, void **instance,
                      tesseract_frame *frame) {
  worker *made = calloc(1, sizeof *made);
  (void)options, (void)length;
  if (!made) return TESSERACT_ERROR_OUT_OF_MEMORY;
  made->host = frame->host;
  made->log = frame->log;
  if (pthread_create(&made->thread, NULL, work, made)) {
    free(made);
    return tesseract_fail(frame, TESSERACT_ERROR_COMPONENT, NULL, "no thread");
  }
  *instance = made;
  return TESSERACT_OK;
}

static void destroy(void *instance) {
  worker *own = instance;
  atomic_store(&own->stop, 1);
  pthread_join(own->thread, NULL);
  own->host->log(own->log, TESSERACT_LOG_INFO, "destroyed", 9);
  free(own);
}

static int32_t apply(void *instance, void *plan, tesseract_frame *frame) {
  (void)plan;
  frame->host->log(((worker *)instance)->log, TESSERACT_LOG_INFO, "applied, and more", 7);
  return TESSERACT_OK;
}

EXPORT_COMPONENT(.create = create, .destroy = destroy, .apply = apply)
