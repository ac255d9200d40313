/* A program that knows no Python: it opens a module and calls it.
 *
 *   embed VERB SOURCE [OPTIONS [VERB'S ARGUMENT]]
 *
 *   call       y of x = [1, 2, 3], then the gradient of sum(y) by x, and the other outputs
 *   json       apply of the JSON in the argument; prints the outputs that are no arrays
 *   leave      the same, and returns from main with the component open
 *   shutdown   the same, then tesseract_shutdown(1.0); prints its status
 *   second     opens the source again, with the argument as options
 *   fork       the same as json, then apply in a forked child; prints the child's status
 *   fork-end   forks while another thread holds the GIL in a module like `gil`; the child frees and
 *              closes all it has and shuts down; tells how it ended, then the parent shuts down
 *   signal     opens and calls between installing a handler of SIGINT and raising it; tells which
 *              signals are handled otherwise than before
 *   listing    opens for a listing
 *   local      first loads the libpython in the argument privately; then call
 *   started    the same, and starts Python in it; opens, calls and closes holding the GIL
 *   leave-busy     calls with the argument from three threads, on and on; returns from main
 *   shutdown-busy  the same, but shuts down first, and is refused a call
 *   finalize-busy  loads the libpython in the argument and starts it, calls from three threads,
 * ends Python, is refused a call and closes
 *
 * Errors go to standard output as "error STATUS: MESSAGE"; then the exit code is 1. */
#define _POSIX_C_SOURCE 200809L

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <tesseract_host/host.h>
#include <time.h>
#include <unistd.h>

#include "native_threads.h"

static int report(int32_t status, tesseract_error *error) {
  printf("error %d: %s\n", (int)status, tesseract_error_message(error, NULL));
  fflush(stdout);
  tesseract_error_free(error);
  return 1;
}

static int32_t open_source(const char *source, const char *json, uint32_t flags,
                           tesseract_component **component, tesseract_error **error) {
  tesseract_open_options options = TESSERACT_OPEN_OPTIONS_INIT;
  options.json.data = json;
  options.json.length = strlen(json);
  options.flags = flags;
  return tesseract_open(source, TESSERACT_NTS, &options, component, error);
}

static int apply_json(tesseract_component *component, const char *json) {
  tesseract_leaves inputs = TESSERACT_LEAVES_INIT;
  tesseract_result *result = NULL;
  tesseract_error *error = NULL;
  int32_t status;
  inputs.json.data = json;
  inputs.json.length = strlen(json);
  status = tesseract_apply(component, &inputs, NULL, NULL, &result, &error);
  if (status) return report(status, error);
  printf("%s\n", tesseract_result_json(result, NULL));
  fflush(stdout);
  tesseract_result_free(result);
  return 0;
}

static void print_tensor(const char *name, const DLTensor *tensor) {
  const double *data = (const double *)tensor->data;
  int64_t i;
  printf("%s =", name);
  for (i = 0; i < tensor->shape[0]; i++) printf(" %g", data[i]);
  printf("\n");
}

static int apply_and_vjp(tesseract_component *component) {
  double x[3] = {1.0, 2.0, 3.0}, seed[3] = {1.0, 1.0, 1.0};
  int64_t shape[1] = {3};
  DLTensor x_tensor = tesseract_float64(x, 1, shape);
  DLTensor seed_tensor = tesseract_float64(seed, 1, shape);
  tesseract_leaf given[1] = {{TESSERACT_STR("x"), NULL, NULL}};
  tesseract_leaf seeds[1] = {{TESSERACT_STR("y"), NULL, NULL}};
  tesseract_leaf wanted[1] = {{TESSERACT_STR("x"), NULL, NULL}};
  tesseract_leaves inputs = TESSERACT_LEAVES_INIT;
  tesseract_leaves cotangents = TESSERACT_LEAVES_INIT;
  tesseract_leaves wrt = TESSERACT_LEAVES_INIT;
  tesseract_result *result = NULL;
  tesseract_error *error = NULL;
  int32_t status;
  given[0].tensor = &x_tensor;
  seeds[0].tensor = &seed_tensor;
  inputs.count = cotangents.count = wrt.count = 1;
  inputs.items = given;
  inputs.json.data = "{\"note\": \"from C\"}";
  inputs.json.length = TESSERACT_NTS;
  cotangents.items = seeds;
  wrt.items = wanted;

  status = tesseract_apply(component, &inputs, NULL, NULL, &result, &error);
  if (status) return report(status, error);
  print_tensor("y", tesseract_result_tensor(result, 0));
  printf("%s\n", tesseract_result_json(result, NULL));
  tesseract_result_free(result);
  result = NULL;

  status = tesseract_vjp(component, &inputs, &cotangents, &wrt, NULL, &result, &error);
  if (status) return report(status, error);
  print_tensor("dx", tesseract_result_tensor(result, 0));
  tesseract_result_free(result);
  fflush(stdout);
  return 0;
}

static int shut_down(void) {
  tesseract_error *error = NULL;
  const int32_t status = tesseract_shutdown(1.0, &error);
  if (status) return report(status, error);
  printf("shut down\n");
  return 0;
}

static int fork_and_apply(tesseract_component *component, const char *json) {
  int code = 0;
  pid_t child = fork();
  if (child == 0) {
    apply_json(component, json);
    _exit(0);
  }
  waitpid(child, &code, 0);
  printf("child ended with %d\n", WIFEXITED(code) ? WEXITSTATUS(code) : -1);
  return apply_json(component, json);
}

struct holder {
  tesseract_component *component;
  int ready[2], go_on[2];
};

static void *hold_gil(void *data) {
  struct holder *holder = data;
  char json[64];
  snprintf(json, sizeof json, "{\"ready\": %d, \"go_on\": %d}", holder->ready[1], holder->go_on[0]);
  apply_json(holder->component, json);
  return NULL;
}

static int fork_and_end(tesseract_component *component, const char *source) {
  struct holder holder = {component, {-1, -1}, {-1, -1}};
  tesseract_leaves inputs = TESSERACT_LEAVES_INIT;
  tesseract_signature signature = TESSERACT_SIGNATURE_INIT;
  tesseract_component *second = NULL;
  tesseract_call *call = NULL;
  tesseract_result *result = NULL;
  tesseract_error *error = NULL;
  pthread_t thread;
  int32_t status;
  int code = 0;
  char byte = 0;
  pid_t child;
  signature.endpoint = TESSERACT_ENDPOINT_APPLY;
  signature.inputs = &inputs;
  status = open_source(source, "{}", 0, &second, &error);
  if (!status) status = tesseract_apply(second, &inputs, NULL, NULL, &result, &error);
  if (!status) status = tesseract_prepare(second, &signature, &call, &error);
  if (status) return report(status, error);
  if (pipe(holder.ready) || pipe(holder.go_on)) return 1;
  if (pthread_create(&thread, NULL, hold_gil, &holder)) return 1;
  if (read(holder.ready[0], &byte, 1) != 1) return 1;
  child = fork();
  if (child == 0) {
    alarm(30);
    tesseract_result_free(result);
    tesseract_call_free(call);
    tesseract_close(second);
    tesseract_close(component);
    _exit(tesseract_shutdown(1.0, NULL));
  }
  waitpid(child, &code, 0);
  printf("child ended with %d\n", WIFEXITED(code) ? WEXITSTATUS(code) : -1);
  fflush(stdout);
  if (write(holder.go_on[1], &byte, 1) != 1) return 1;
  pthread_join(thread, NULL);
  tesseract_result_free(result);
  tesseract_call_free(call);
  tesseract_close(second);
  return shut_down();
}

/* Loads a libpython privately, as a program with a plugin that links it does. */
static int load_python(const char *file, int start) {
  void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  void (*initialise)(int);
  if (!library) return printf("%s\n", dlerror());
  *(void **)&initialise = dlsym(library, "Py_InitializeEx");
  if (start) initialise(0);
  return 0;
}

/* Calls from other threads have begun. */
static int call_on_and_on(tesseract_component *component, const char *json) {
  const struct timespec pause = {0, 100000000};
  if (start_threads(component, json, 3)) return 2;
  while (calls_begun() < 3) nanosleep(&pause, NULL);
  nanosleep(&pause, NULL);
  return 0;
}

static int shut_down_busy(tesseract_component *component, const char *json) {
  int failed = call_on_and_on(component, json);
  tesseract_error *error = NULL;
  const int32_t status = tesseract_shutdown(20.0, &error);
  if (failed || status) return report(status, error);
  printf("shut down\n");
  failed = apply_json(component, json) == 0;
  stop_threads();
  tesseract_close(component);
  return failed;
}

/* Began by Py_InitializeEx, this thread holding the GIL. */
static int finalize_busy(tesseract_component *component, tesseract_component *idle,
                         const char *json) {
  void *(*save)(void), (*restore)(void *);
  int (*finalize)(void);
  void *state;
  int failed;
  *(void **)&save = dlsym(RTLD_DEFAULT, "PyEval_SaveThread");
  *(void **)&restore = dlsym(RTLD_DEFAULT, "PyEval_RestoreThread");
  *(void **)&finalize = dlsym(RTLD_DEFAULT, "Py_FinalizeEx");
  if (!save || !restore || !finalize) return 2;
  state = save();
  failed = call_on_and_on(component, json);
  restore(state);
  printf("finalized %d\n", finalize());
  if (failed || !apply_json(component, json) || !apply_json(idle, json)) return 1;
  tesseract_close(idle);
  return 0;
}

static volatile sig_atomic_t interrupted = 0;

static void on_interrupt(int number) {
  (void)number;
  interrupted = 1;
}

enum { SIGNALS = 32 };
typedef void (*handler)(int);

static void read_handlers(handler handlers[SIGNALS]) {
  struct sigaction action;
  int i;
  for (i = 1; i < SIGNALS; i++) {
    if (sigaction(i, NULL, &action)) action.sa_handler = SIG_DFL;
    handlers[i] = action.sa_handler;
  }
}

/* Installs a handler, opens, calls, raises. */
static int call_between_signals(const char *source, const char *options) {
  tesseract_component *component = NULL;
  tesseract_error *error = NULL;
  handler before[SIGNALS], after[SIGNALS];
  int32_t status;
  int i, failed;
  signal(SIGINT, on_interrupt);
  read_handlers(before);
  status = open_source(source, options, 0, &component, &error);
  if (status) return report(status, error);
  failed = apply_and_vjp(component);
  read_handlers(after);
  for (i = 1; i < SIGNALS; i++)
    if (before[i] != after[i]) printf("signal %d changed\n", i);
  raise(SIGINT);
  printf("handled %d\n", (int)interrupted);
  tesseract_close(component);
  return failed;
}

int main(int argc, char **argv) {
  const char *verb, *source, *options, *argument;
  tesseract_component *component = NULL, *second = NULL;
  tesseract_error *error = NULL;
  int32_t status;
  int failed = 0;
  if (argc < 3) return 2;
  verb = argv[1];
  source = argv[2];
  options = argc > 3 ? argv[3] : "{}";
  argument = argc > 4 ? argv[4] : "{}";

  if (!strcmp(verb, "signal")) return call_between_signals(source, options);
  if (!strcmp(verb, "local") && load_python(argument, 0)) return 2;
  if (!strcmp(verb, "started") && load_python(argument, 1)) return 2;
  if (!strcmp(verb, "finalize-busy") && load_python(argument, 1)) return 2;
  status = open_source(source, options, !strcmp(verb, "listing") ? TESSERACT_OPEN_LISTING : 0,
                       &component, &error);
  if (status) return report(status, error);

  if (!strcmp(verb, "call") || !strcmp(verb, "local") || !strcmp(verb, "started"))
    failed = apply_and_vjp(component);
  if (!strcmp(verb, "json") || !strcmp(verb, "leave") || !strcmp(verb, "shutdown"))
    failed = apply_json(component, argument);
  if (!strcmp(verb, "leave")) return failed;
  if (!strcmp(verb, "shutdown")) failed |= shut_down();
  if (!strcmp(verb, "leave-busy")) return call_on_and_on(component, argument);
  if (!strcmp(verb, "shutdown-busy")) return shut_down_busy(component, argument);
  if (!strcmp(verb, "finalize-busy")) {
    status = open_source(source, options, 0, &second, &error);
    if (status) return report(status, error);
    return finalize_busy(component, second, argc > 5 ? argv[5] : "{\"x\": [1.0]}");
  }
  if (!strcmp(verb, "fork")) failed = fork_and_apply(component, argument);
  if (!strcmp(verb, "fork-end")) failed = fork_and_end(component, source);
  if (!strcmp(verb, "second")) {
    status = open_source(source, argument, 0, &second, &error);
    if (status) failed = report(status, error);
    tesseract_close(second);
  }
  tesseract_close(component);
  return failed;
}
