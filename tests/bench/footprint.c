/* What a C program pays for the library and one native component: time of the first open, and
 * memory.  One line: microseconds, resident KiB before, resident KiB after.
 *
 *   footprint PLUGIN */
#define _POSIX_C_SOURCE 199309L /* clock_gettime */
#include <stdio.h>
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

int main(int argc, char **argv) {
  tesseract_component *component = NULL;
  tesseract_error *error = NULL;
  tesseract_open_options options = TESSERACT_OPEN_OPTIONS_INIT;
  tesseract_string json = TESSERACT_STR("{\"inputs\":5,\"outputs\":3}");
  struct timespec begin, end;
  if (argc != 2) return 2;
  options.json = json;
  const long before = resident();
  clock_gettime(CLOCK_MONOTONIC, &begin);
  if (tesseract_open(argv[1], TESSERACT_NTS, &options, &component, &error)) {
    fprintf(stderr, "%s\n", tesseract_error_message(error, NULL));
    return 1;
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  printf("%.0f %ld %ld\n",
         (double)(end.tv_sec - begin.tv_sec) * 1e6 + (double)(end.tv_nsec - begin.tv_nsec) * 1e-3,
         before, resident());
  tesseract_close(component);
  return 0;
}
