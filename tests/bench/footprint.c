/* What a C program pays for the library and a component: time of the first open and of the second,
 * and memory.  One line: microseconds, microseconds, resident KiB before, resident KiB after the
 * first.
 *
 *   footprint SOURCE [OPTIONS]    the options as JSON */
#define _POSIX_C_SOURCE 199309L /* clock_gettime */
#include <stdio.h>
#include <stdlib.h>
#include <tesseract_host/host.h>
#include <time.h>

static long resident(void) {
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file) return -1;
  if (fscanf(file, "%*d %ld", &pages) != 1) pages = -1;
  fclose(file);
  return pages * 4;
}

/* Microseconds. */
static double open_one(const char *source, const char *json, tesseract_component **component) {
  tesseract_error *error = NULL;
  tesseract_open_options options = TESSERACT_OPEN_OPTIONS_INIT;
  struct timespec begin, end;
  options.json.data = json;
  options.json.length = TESSERACT_NTS;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  if (tesseract_open(source, TESSERACT_NTS, &options, component, &error)) {
    fprintf(stderr, "%s\n", tesseract_error_message(error, NULL));
    exit(1);
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  return (double)(end.tv_sec - begin.tv_sec) * 1e6 + (double)(end.tv_nsec - begin.tv_nsec) * 1e-3;
}

int main(int argc, char **argv) {
  tesseract_component *first = NULL, *second = NULL;
  if (argc < 2 || argc > 3) return 2;
  const char *json = argc == 3 ? argv[2] : "{}";
  const long before = resident();
  const double first_time = open_one(argv[1], json, &first);
  const long after = resident();
  const double second_time = open_one(argv[1], json, &second);
  printf("%.0f %.0f %ld %ld\n", first_time, second_time, before, after);
  tesseract_close(second);
  tesseract_close(first);
  return 0;
}
