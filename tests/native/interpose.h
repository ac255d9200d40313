/* Counting what a piece of work asks of the allocator and of locks. */
#ifndef TESTS_NATIVE_INTERPOSE_H
#define TESTS_NATIVE_INTERPOSE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct interposed_counts {
  int64_t allocations; /* malloc, free and their kin, and mmap */
  int64_t locks;       /* of pthread, semaphores, and futex by syscall() */
} interposed_counts;

/* Counts, on all threads, from the first to the second call. */
void interposed_start(void);
interposed_counts interposed_stop(void);

#ifdef __cplusplus
}
#endif

#endif
