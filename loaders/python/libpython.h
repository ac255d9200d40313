// The process's Python library, seen through the dynamic linker.
#pragma once

#include <string>

namespace tesseract::python {

// The few functions the bootstrap needs of Python, whichever library holds them.
struct PythonLibrary {
  int (*is_initialized)() = nullptr;
  const char *(*version)() = nullptr;
  void *(*this_thread_state)() = nullptr;     // PyGILState_GetThisThreadState
  void *(*current_thread_state)() = nullptr;  // of the thread that holds the GIL, without checks
  void *(*save_thread)() = nullptr;
  void (*restore_thread)(void *state) = nullptr;

  explicit operator bool() const { return is_initialized != nullptr; }

  // "3.12.1" and "cp312" (or "cp313t").
  std::string version_text() const;
  std::string tag() const;
};

// The Python library that the process holds already, its symbols made visible to extension modules
// even where the program loaded it privately; empty without one.  [any].
PythonLibrary find_python_library();

// Loads the file with global visibility.  Throws Failure.
PythonLibrary load_python_library(const std::string &file);

// Gives up the GIL if this thread holds it: what must be given to take_gil, or null.  Nothing else
// may be done with Python meanwhile.
void *give_up_gil(const PythonLibrary &library);
void take_gil(const PythonLibrary &library, void *state);

}  // namespace tesseract::python
