/* fake_cuda.h: what tests ask of the fake CUDA driver in this folder.
 *
 * The library is named libcuda.so.1 and exports the driver functions a program finds in the real
 * one.  It runs no kernels: its devices are address ranges that the CPU can't touch, its streams
 * are queues.  The functions below are exported by the same library; a C++ test links it or looks
 * them up in it, a Python test uses ctypes.  Results are CUresult codes (0: done) where a function
 * says so.  Any function may be called on any thread.
 *
 * A stream is what driver functions take: 0 or 1 (legacy default), 2 (per-thread default), a
 * handle. Device pointers are the numbers that driver functions gave. */
#ifndef TESTS_FAKE_CUDA_H
#define TESTS_FAKE_CUDA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The world ------------------------------------------------------------------------------- */

/* As in a process that has just begun: options back to their defaults, cuInit not called, every
 * handle and every device pointer invalid, this thread's context stack empty.  The faults,
 * counters and injections are forgotten. */
void fake_cuda_reset(void);

/* Forgets faults, counters, injections and sticky errors; contexts, streams, events, memory and
 * options stay.  For tests of a host that keeps its contexts from one test to the next. */
void fake_cuda_clear(void);

/* Sets an option, from now on; -1 where there is none of that name.
 *   "devices"         2       how many there are; 0: cuInit says CUDA_ERROR_NO_DEVICE
 *   "driver_version"  13000   what cuDriverGetVersion says
 *   "init_result"     0       what cuInit says instead of trying
 *   "deinitialized"   0       1: every function says CUDA_ERROR_DEINITIALIZED, as at process exit
 *   "mode"            1       when the work of streams is done:
 *                               0 eager: when it is enqueued
 *                               1 delayed: when a test pumps, or a function that waits needs it
 *                               2 manual: only when a test pumps; a function that waits blocks
 * until another thread has pumped (60 s: a fault and CUDA_ERROR_UNKNOWN) "memory"          1 GiB
 * bytes of each device, beyond which memory is out "host_memory"     1 GiB   the same for
 * page-locked host memory "memory_pools"    1       0: cuMemAllocAsync is not supported, and the
 * attribute says so "abort_on_fault"  0       1: abort at the first fault, for a backtrace The
 * environment sets them too, before the first call: FAKE_CUDA_DEVICES=1 and so on. */
int32_t fake_cuda_set(const char *option, int64_t value);

/* cuGetProcAddress finds this function no more (until a reset), as in an older driver. */
void fake_cuda_hide(const char *function);

/* ---- What must not have happened ------------------------------------------------------------- */

/* How many faults there were: misuse that a real driver would refuse, corrupt memory over, or let
 * pass by luck. */
int32_t fake_cuda_faults(void);

/* One fault's text, "double-free: cuMemFree(0x…) …", or NULL.  Valid until clear or reset.  Kinds:
 * double-free, unknown-pointer, use-after-free, out-of-bounds, wrong-context, wrong-device,
 * no-context, bad-handle, unbalanced-pop, unbalanced-release, capture-sync, capture-unsafe, race,
 * freed-in-use, lost-memory, stuck. */
const char *fake_cuda_fault(int32_t index);

/* What is outstanding, to compare before and after. */
typedef struct fake_cuda_state {
  int64_t device_allocations, device_bytes; /* cuMemAlloc, cuMemAllocAsync, cuMemAllocManaged */
  int64_t host_allocations, host_bytes;     /* cuMemHostAlloc */
  int64_t registrations;                    /* cuMemHostRegister */
  int64_t streams, events, contexts;        /* made by create functions, not destroyed */
  int64_t retains;                          /* of primary contexts, all devices */
  int64_t context_depth;                    /* of the calling thread's stack */
  int64_t pushes_less_pops;                 /* all threads, since reset */
  int64_t pending;                          /* pieces of work not done, all streams */
  int64_t host_waits; /* times a function waited for work, or would have: every synchronize, and
                       * those inside other functions (cuMemFree, copies to pageable memory) */
  int64_t copies[4];  /* copies enqueued: [0] host to device, [1] device to host, [2] within a
                       * device or between two, [3] host to host */
  int64_t copied_bytes[4]; /* the same */
} fake_cuda_state;
void fake_cuda_get_state(fake_cuda_state *state);

/* ---- Counting and failing driver calls ------------------------------------------------------- */

/* Calls of one driver function (a suffix _v2 or _v3 makes no difference), or of all (NULL), since
 * reset, clear or fake_cuda_reset_calls.  Functions of this header aren't counted. */
int64_t fake_cuda_calls(const char *function);
void fake_cuda_reset_calls(void);

/* The names of the driver functions called since then, in order, one a line; the last 4096. */
const char *fake_cuda_trace(void);

/* Fails the n-th driver call from now (1: the next), of any function or thread, with this code.
 * The function does nothing else, except functions that give back (free, destroy, release, pop):
 * these do their work and then say the code, so that what is outstanding still tells of leaks.
 * n = 0 withdraws.  cuGetErrorName, cuGetErrorString and cuGetProcAddress are neither counted here
 * nor failed. */
void fake_cuda_fail_nth(int64_t n, int32_t code);

/* Fails the next `times` calls of one function. */
void fake_cuda_fail_next(const char *function, int32_t code, int64_t times);

/* How many calls were failed by these two since reset or clear: 0 ends a walk over n. */
int64_t fake_cuda_failed(void);

/* From now on the device's primary context (and whatever context an injected failure meets) answers
 * with a sticky code, as after a kernel that went astray: every function that needs that context
 * says so until clear or reset.  Codes that stick when injected: 214, 220, 226, 700, 702, 710,
 * 714 to 719.  Pending work of the context is dropped. */
void fake_cuda_stick(int32_t device, int32_t code);

/* ---- Work ------------------------------------------------------------------------------------ */

/* Does up to `count` pieces of a stream's work (-1: all); stops before work that waits for an event
 * not reached yet.  Returns how many were done. */
int64_t fake_cuda_pump(void *stream, int64_t count);
int64_t fake_cuda_pump_all(void);

/* Memory that work reads or writes. */
enum { FAKE_CUDA_READ = 1, FAKE_CUDA_WRITE = 2 };
typedef struct fake_cuda_range {
  uint64_t pointer; /* device, managed or page-locked host memory */
  uint64_t bytes;
  int32_t access;
} fake_cuda_range;

/* Enqueues a "kernel": work(argument, memory) is called once when its turn comes, with memory[i]
 * the address at which the CPU finds ranges[i].  It calls no driver function.  Not 0: the context
 * sticks with that code.  The result is a CUresult, as cuLaunchKernel's; a context must be current.
 * At most 64 ranges. */
typedef int32_t (*fake_cuda_work)(void *argument, void *const *memory);
int32_t fake_cuda_launch(void *stream, fake_cuda_work work, void *argument,
                         const fake_cuda_range *ranges, int32_t count);

/* The most common kernel: to[i] = factor * from[i] for count doubles. */
int32_t fake_cuda_launch_scale(void *stream, uint64_t to, uint64_t from, uint64_t count,
                               double factor);

/* ---- Memory, as a debugger sees it: no stream, no order, no context ----------------------------
 */

/* CUDA_ERROR_INVALID_VALUE, and no fault, where the range isn't inside live memory of the driver.
 */
int32_t fake_cuda_write(uint64_t pointer, const void *from, uint64_t bytes);
int32_t fake_cuda_read(uint64_t pointer, void *to, uint64_t bytes);

/* Every byte of device and page-locked memory holds this until it is written, and the destination
 * of a copy or kernel holds it from when that is enqueued until it is done. */
#define FAKE_CUDA_POISON 0xCB

/* ---- Capture --------------------------------------------------------------------------------- */

/* Begins to capture a stream (a handle or 2) on the current context; mode as in the driver: 0
 * global, 1 thread-local, 2 relaxed.  A CUresult. */
int32_t fake_cuda_begin_capture(void *stream, int32_t mode);

/* Ends it: a CUresult (901 where it was invalidated), and how much work was captured. */
int32_t fake_cuda_end_capture(void *stream, int64_t *captured);

/* Enqueues what this stream's last capture holds, again and again if wanted.  A CUresult. */
int32_t fake_cuda_replay(void *stream);

#ifdef __cplusplus
}
#endif

#endif
