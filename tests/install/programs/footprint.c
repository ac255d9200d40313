/* Prints what a host with one native component takes: microseconds to open it, and the resident
 * kilobytes after its first call. */
#include <stdio.h>
#include <tesseract_host/host.h>
#include <time.h>

static int failed(tesseract_error *error) {
  fprintf(stderr, "%s\n", tesseract_error_message(error, NULL));
  tesseract_error_free(error);
  return 1;
}

static double microseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static long resident_kilobytes(void) {
  char line[256];
  long kilobytes = -1;
  FILE *status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status))
    if (sscanf(line, "VmRSS: %ld", &kilobytes) == 1) break;
  if (status) fclose(status);
  return kilobytes;
}

int main(int argc, char **argv) {
  double x[3] = {1.0, 2.0, 3.0};
  int64_t shape[1] = {3};
  const DLTensor tensor = tesseract_float64(x, 1, shape);
  const tesseract_leaf given = {TESSERACT_STR("x"), &tensor, NULL};
  const tesseract_leaves inputs = {sizeof inputs, 0, 1, &given, {NULL, 0}};
  tesseract_component *component = NULL;
  tesseract_result *result = NULL;
  tesseract_error *error = NULL;
  if (argc != 2) return 2;

  const double start = microseconds();
  if (tesseract_open(argv[1], TESSERACT_NTS, NULL, &component, &error)) return failed(error);
  const double opened = microseconds();
  if (tesseract_apply(component, &inputs, NULL, NULL, &result, &error)) return failed(error);
  printf("%.0f %ld\n", opened - start, resident_kilobytes());
  tesseract_result_free(result);
  tesseract_close(component);
  return 0;
}
