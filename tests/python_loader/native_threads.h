/* Threads that Python does not know, which call a component without end. */
#ifndef NATIVE_THREADS_H
#define NATIVE_THREADS_H

#include <tesseract_host/host.h>

/* Starts threads that apply a component to this JSON, and are never joined.  0, or 1 on failure. */
TESSERACT_EXPORT int start_threads(tesseract_component *component, const char *json, int count);

/* Has them end after their next call, and waits for that. */
TESSERACT_EXPORT void stop_threads(void);

TESSERACT_EXPORT int calls_begun(void);
TESSERACT_EXPORT int calls_refused(void); /* as unavailable */

/* Closes the component in an atexit function of C, after Python has ended. */
TESSERACT_EXPORT int close_at_exit(tesseract_component *component);

#endif
