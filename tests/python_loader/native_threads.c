#define _POSIX_C_SOURCE 200809L
#include "native_threads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static atomic_int begun, refused, living, stop;
static tesseract_component *closed_at_exit;

struct task {
  tesseract_component *component;
  char json[128];
};

static void sleep_briefly(void) {
  const struct timespec pause = {0, 1000000};
  nanosleep(&pause, NULL);
}

static void *call_on_and_on(void *data) {
  const struct task *task = data;
  tesseract_leaves inputs = TESSERACT_LEAVES_INIT;
  inputs.json.data = task->json;
  inputs.json.length = TESSERACT_NTS;
  while (!atomic_load(&stop)) {
    tesseract_result *result = NULL;
    tesseract_error *error = NULL;
    int32_t status;
    atomic_fetch_add(&begun, 1);
    status = tesseract_apply(task->component, &inputs, NULL, NULL, &result, &error);
    tesseract_result_free(result);
    if (status == TESSERACT_ERROR_UNAVAILABLE) {
      atomic_fetch_add(&refused, 1);
      sleep_briefly();
    } else if (status != TESSERACT_OK) {
      fprintf(stderr, "error %d: %s\n", (int)status, tesseract_error_message(error, NULL));
      _exit(90);
    }
    tesseract_error_free(error);
  }
  atomic_fetch_sub(&living, 1);
  return NULL;
}

int start_threads(tesseract_component *component, const char *json, int count) {
  int i;
  for (i = 0; i < count; i++) {
    pthread_t thread;
    struct task *task = calloc(1, sizeof *task);
    if (!task) return 1;
    task->component = component;
    strncpy(task->json, json, sizeof task->json - 1);
    atomic_fetch_add(&living, 1);
    if (pthread_create(&thread, NULL, call_on_and_on, task)) return 1;
    pthread_detach(thread);
  }
  return 0;
}

int calls_begun(void) {
  return atomic_load(&begun);
}

int calls_refused(void) {
  return atomic_load(&refused);
}

void stop_threads(void) {
  atomic_store(&stop, 1);
  while (atomic_load(&living)) sleep_briefly();
}

static void close_now(void) {
  tesseract_close(closed_at_exit);
}

int close_at_exit(tesseract_component *component) {
  closed_at_exit = component;
  return atexit(close_now);
}
