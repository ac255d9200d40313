/* Counts who is inside at once; built once per threading class, THREADS.
 *
 * `together` is how many callers this call waits for: it returns when so many have been inside at
 * once, or when it is cancelled.  `in_process` and `in_instance` are the most that this call saw
 * inside. */
#include <sched.h>
#include <stdlib.h>

#include "../component.h"

DESCRIBE({
  "name": "occupancy",
  "threads": THREADS,
  "inputs": [{"path": "together", "dtype": "int64", "shape": [], "default": 1}],
  "outputs": [
    {"path": "in_process", "dtype": "int64", "shape": []},
    {"path": "in_instance", "dtype": "int64", "shape": []}
  ]
})

typedef struct room {
  int64_t inside;
  int64_t most;
} room;

static room process;

static void enter(room *r) {
  const int64_t now = __atomic_add_fetch(&r->inside, 1, __ATOMIC_SEQ_CST);
  int64_t most = __atomic_load_n(&r->most, __ATOMIC_SEQ_CST);
  while (most < now && !__atomic_compare_exchange_n(&r->most, &most, now, 0, __ATOMIC_SEQ_CST,
                                                    __ATOMIC_SEQ_CST)) {
  }
}

static void leave(room *r) {
  __atomic_sub_fetch(&r->inside, 1, __ATOMIC_SEQ_CST);
}

static int64_t most_of(room *r) {
  return __atomic_load_n(&r->most, __ATOMIC_SEQ_CST);
}

static int32_t create(const char *options, uint64_t length, void **instance,
                      tesseract_frame *frame) {
  (void)options, (void)length, (void)frame;
  *instance = calloc(1, sizeof(room));
  return *instance ? TESSERACT_OK : TESSERACT_ERROR_OUT_OF_MEMORY;
}

static void destroy(void *instance) {
  free(instance);
}

static int32_t apply(void *instance, void *plan, tesseract_frame *frame) {
  const int64_t together = *(const int64_t *)frame->inputs[0]->data;
  int32_t status = TESSERACT_OK;
  (void)plan;
  enter(instance); /* first, so that who is counted in the process is counted here too */
  enter(&process);
  for (int turn = 0; turn < 20; turn++) sched_yield(); /* a chance for others to come in */
  while (most_of(&process) < together && status == TESSERACT_OK) {
    if (frame->host->cancelled(frame)) status = TESSERACT_ERROR_CANCELLED;
    sched_yield();
  }
  if (frame->outputs[0]) *(int64_t *)frame->outputs[0]->data = most_of(&process);
  if (frame->outputs[1]) *(int64_t *)frame->outputs[1]->data = most_of(instance);
  leave(&process);
  leave(instance);
  return status;
}

EXPORT_COMPONENT(.create = create, .destroy = destroy, .apply = apply)
