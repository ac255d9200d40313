/* Stands before the allocator, the locks and syscall() of the process it is linked into. */
#define _GNU_SOURCE
#include "interpose.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *memory);

static int counting;
static interposed_counts counts;

void interposed_start(void) {
  counts.allocations = counts.locks = 0;
  __atomic_store_n(&counting, 1, __ATOMIC_SEQ_CST);
}

interposed_counts interposed_stop(void) {
  __atomic_store_n(&counting, 0, __ATOMIC_SEQ_CST);
  return counts;
}

static void count(int64_t *counter) {
  if (__atomic_load_n(&counting, __ATOMIC_RELAXED))
    __atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

/* ---- The allocator --------------------------------------------------------------------------- */

void *malloc(size_t size) {
  count(&counts.allocations);
  return __libc_malloc(size);
}

void *calloc(size_t n, size_t size) {
  count(&counts.allocations);
  return __libc_calloc(n, size);
}

void *realloc(void *memory, size_t size) {
  count(&counts.allocations);
  return __libc_realloc(memory, size);
}

void free(void *memory) {
  if (memory) count(&counts.allocations);
  __libc_free(memory);
}

void *memalign(size_t alignment, size_t size) {
  count(&counts.allocations);
  return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  return memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
  *memory = memalign(alignment, size);
  return *memory ? 0 : ENOMEM;
}

/* ---- Locks -----------------------------------------------------------------------------------
 * The function that each hides is looked up at its first call. */

#define HIDE(counter, result, name, parameters, arguments)    \
  result name parameters {                                    \
    static result(*hidden) parameters;                        \
    if (!hidden) *(void **)&hidden = dlsym(RTLD_NEXT, #name); \
    count(&counts.counter);                                   \
    return hidden arguments;                                  \
  }

HIDE(allocations, void *, mmap,
     (void *address, size_t length, int protection, int flags, int file, off_t offset),
     (address, length, protection, flags, file, offset))

HIDE(locks, int, pthread_mutex_lock, (pthread_mutex_t * m), (m))
HIDE(locks, int, pthread_mutex_trylock, (pthread_mutex_t * m), (m))
HIDE(locks, int, pthread_mutex_unlock, (pthread_mutex_t * m), (m))
HIDE(locks, int, pthread_mutex_timedlock, (pthread_mutex_t * m, const struct timespec *t), (m, t))
HIDE(locks, int, pthread_mutex_clocklock,
     (pthread_mutex_t * m, clockid_t c, const struct timespec *t), (m, c, t))
HIDE(locks, int, pthread_rwlock_rdlock, (pthread_rwlock_t * l), (l))
HIDE(locks, int, pthread_rwlock_wrlock, (pthread_rwlock_t * l), (l))
HIDE(locks, int, pthread_rwlock_tryrdlock, (pthread_rwlock_t * l), (l))
HIDE(locks, int, pthread_rwlock_trywrlock, (pthread_rwlock_t * l), (l))
HIDE(locks, int, pthread_rwlock_unlock, (pthread_rwlock_t * l), (l))
HIDE(locks, int, pthread_cond_wait, (pthread_cond_t * c, pthread_mutex_t *m), (c, m))
HIDE(locks, int, pthread_cond_signal, (pthread_cond_t * c), (c))
HIDE(locks, int, pthread_cond_broadcast, (pthread_cond_t * c), (c))
HIDE(locks, int, pthread_spin_lock, (pthread_spinlock_t * s), (s))
HIDE(locks, int, pthread_spin_trylock, (pthread_spinlock_t * s), (s))
HIDE(locks, int, sem_wait, (sem_t * s), (s))
HIDE(locks, int, sem_post, (sem_t * s), (s))

long syscall(long number, ...) {
  static long (*hidden)(long, ...);
  long a[6];
  va_list list;
  va_start(list, number);
  for (int i = 0; i < 6; i++) a[i] = va_arg(list, long);
  va_end(list);
  if (!hidden) *(void **)&hidden = dlsym(RTLD_NEXT, "syscall");
  if (number == SYS_futex) count(&counts.locks);
  return hidden(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
