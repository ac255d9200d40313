// The line between the bootstrap, which knows no Python, and the loader built for one CPython
// minor. Both come from one build; `tesseract_python_runtime_1` carries the revision of this file,
// so that parts of different releases refuse each other instead of misreading each other.
#pragma once

#include <tesseract_host/loader.h>

#define TESSERACT_PYTHON_RUNTIME_SYMBOL "tesseract_python_runtime_1"

// How to begin.  Borrowed.
struct PythonStart {
  const char *program;  // the interpreter's executable; null: join the running one
  const char *package;  // folder of the Python package tesseract_host, which holds __init__.py
  const tesseract_host_table *host;
};

// What the loader offers.  All functions are [any]; none may be called before `start` succeeded,
// except `start`, which the bootstrap calls under a lock.
struct PythonRuntime {
  // Initialises Python or joins it, imports NumPy and the support package.  Called again after a
  // failure, it tries again what failed.
  int32_t (*start)(const PythonStart *start, tesseract_frame *frame);

  // sys.prefix and sys.executable, UTF-8, valid as long as the process.
  const char *(*prefix)();
  const char *(*executable)();

  // As tesseract_loader_table's members of these names.
  int32_t (*open)(const tesseract_source *source, const tesseract_plugin_table **plugin,
                  void **instance, tesseract_frame *frame);
  int32_t (*shutdown)(double seconds, tesseract_frame *frame);
};

using PythonRuntimeFunction = const PythonRuntime *(*)();
