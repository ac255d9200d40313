/* The extension by which the toy loader's components show how often its functions were called. */
#ifndef TESTS_PLUGINS_TOY_LOADER_COUNTS_H
#define TESTS_PLUGINS_TOY_LOADER_COUNTS_H

#include <stdint.h>

#define TOY_COUNTS_ID "toy.counts/1"

typedef struct toy_counts {
  int64_t inside;    /* callers in apply now */
  int64_t before;    /* calls of before_wait */
  int64_t after;     /* calls of after_wait with what before_wait gave */
  int64_t shutdowns; /* calls of shutdown */
  int64_t listings;  /* opens with TESSERACT_SOURCE_LISTING */
} toy_counts;

#endif
