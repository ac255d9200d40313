/* tesseract_host/loader.h: writing a loader, a plugin that makes components from sources.
 *
 * A loader offers the table below as an extension of the plugin as a whole, and needs no other
 * function of tesseract_plugin_table.  The host looks for files named tesseract_loader_*.so in the
 * folders of TESSERACT_HOST_LOADER_PATH, then in the folder tesseract_host/ beside its library. */
#ifndef TESSERACT_HOST_LOADER_H
#define TESSERACT_HOST_LOADER_H

#include "plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TESSERACT_LOADER_ID "tesseract-host.loader/1"

/* What to open.  Made by the host, borrowed. */
typedef struct tesseract_source {
  uint32_t size;
  uint32_t flags;           /* TESSERACT_SOURCE_… */
  tesseract_string text;    /* as the caller gave it, usually a path */
  tesseract_string options; /* a JSON object, "{}" where the caller gave none; the loader refuses
                               keys it does not know, or passes them to its component's create */
} tesseract_source;

#define TESSERACT_SOURCE_LISTING 1u /* only describe will be called: run no code of the source */

typedef struct tesseract_loader_table {
  uint32_t size;
  uint32_t flags;   /* 0 */
  const char *name; /* "python"; the option {"loader": "python"} chooses it */

  /* [any] 1 if it would open this source, judging without running anything of it, else 0. */
  int32_t (*accepts)(const char *source, uint64_t length);

  /* [any] Opens a source: the component's table and instance.  The host calls the table's destroy
   * on the instance, and never its create.  The table's apply may be null for a listing. */
  int32_t (*open)(const tesseract_source *source, const tesseract_plugin_table **plugin,
                  void **instance, tesseract_frame *frame);

  /* [any] Around each wait of the host for a lock or a stream, on the waiting thread: gives up what
   * must not be held meanwhile (the GIL) and takes it again.  May both be null. */
  void *(*before_wait)(void);
  void (*after_wait)(void *state);

  /* [any] For tesseract_shutdown, once no call runs; may be null. */
  int32_t (*shutdown)(double seconds, tesseract_frame *frame);

  /* [any] Unmaps what a source was loaded from (see ext/unload.h), or TESSERACT_ERROR_UNAVAILABLE
   * while in_use(its table) says that a component of it lives; null where nothing can be unloaded.
   * The host opens nothing meanwhile. */
  int32_t (*unload)(const tesseract_source *source,
                    int32_t (*in_use)(const tesseract_plugin_table *plugin),
                    tesseract_frame *frame);
} tesseract_loader_table;

/* ---- Forks ------------------------------------------------------------------------------------
 * After a fork the child's host answers TESSERACT_ERROR_UNAVAILABLE.  A loader that knows the child
 * to be whole (os.fork in a Python process, which stops its other threads in order) says so by this
 * table of the host's, once per fork, in the child, while it is its only thread. */

#define TESSERACT_FORK_ID "tesseract-host.fork/1"

typedef struct tesseract_fork_table {
  uint32_t size;
  uint32_t flags; /* 0 */
  void (*resume)(void);
} tesseract_fork_table;

/* ---- Threads that never return ------------------------------------------------------------------
 * When a runtime ends while threads are in calls of it, it may stop them where they are (Python
 * does). The loader lets such a thread sleep until the process ends, but has it say so before: the
 * locks of components that it holds are released, and it is no longer waited for.  Until it sleeps
 * it does nothing else of the host's. */

#define TESSERACT_LOST_THREAD_ID "tesseract-host.lost-thread/1"

typedef struct tesseract_lost_thread_table {
  uint32_t size;
  uint32_t flags; /* 0 */
  void (*lose)(void);
} tesseract_lost_thread_table;

#ifdef __cplusplus
}
#endif

#endif
