/* Logs on and on, from a thread of its own that destroy joins. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "../component.h"

DESCRIBE({
  "name": "talkative"
})

typedef struct talker {
  const tesseract_host_table *host;
  tesseract_log *log;
  pthread_t thread;
  atomic_int stop;
} talker;

static void *talk(void *data) {
  talker *own = data;
  while (!atomic_load(&own->stop))
    own->host->log(own->log, TESSERACT_LOG_INFO, "on and on", TESSERACT_NTS);
  return NULL;
}

static int32_t create(const char *options, uint64_t length, void **instance,
                      tesseract_frame *frame) {
  talker *made = calloc(1, sizeof *made);
  (void)options, (void)length;
  if (!made) return TESSERACT_ERROR_OUT_OF_MEMORY;
  made->host = frame->host;
  made->log = frame->log;
  if (pthread_create(&made->thread, NULL, talk, made)) {
    free(made);
    return tesseract_fail(frame, TESSERACT_ERROR_COMPONENT, NULL, "no thread");
  }
  *instance = made;
  return TESSERACT_OK;
}

static void destroy(void *instance) {
  talker *own = instance;
  atomic_store(&own->stop, 1);
  pthread_join(own->thread, NULL);
  free(own);
}

static int32_t apply(void *instance, void *plan, tesseract_frame *frame) {
  (void)instance, (void)plan, (void)frame;
  return TESSERACT_OK;
}

EXPORT_COMPONENT(.create = create, .destroy = destroy, .apply = apply)
