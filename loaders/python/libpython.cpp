#include "libpython.h"

#include <dlfcn.h>
#include <link.h>

#include "../../python/ending/barrier.h"
#include "failure.h"
#include "paths.h"

namespace tesseract::python {
namespace {

template <typename Function>
void resolve(void *handle, const char *name, Function &function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
}

PythonLibrary resolve_all(void *handle) {
  PythonLibrary library;
  resolve(handle, "Py_GetVersion", library.version);
  resolve(handle, "PyGILState_GetThisThreadState", library.this_thread_state);
  resolve(handle, "_PyThreadState_UncheckedGet", library.current_thread_state);
  if (!library.current_thread_state) {
    resolve(handle, "PyThreadState_GetUnchecked", library.current_thread_state);
  }
  resolve(handle, "PyEval_SaveThread", library.save_thread);
  resolve(handle, "PyEval_RestoreThread", library.restore_thread);
  const bool whole = library.version && library.this_thread_state && library.current_thread_state &&
                     library.save_thread && library.restore_thread;
  if (whole) resolve(handle, "Py_IsInitialized", library.is_initialized);
  return library;
}

// libpython3.12.so.1.0 and the like; not libpython3.so, which holds no code.
bool is_python_library(const std::string &path) {
  const std::string name = file_name(path);
  constexpr std::string_view start = "libpython3.";
  return name.starts_with(start) && name.size() > start.size() && name[start.size()] >= '0' &&
         name[start.size()] <= '9' && name.find(".so") != std::string::npos;
}

int note_python_library(dl_phdr_info *info, size_t, void *data) {
  if (!info->dlpi_name || !is_python_library(info->dlpi_name)) return 0;
  *static_cast<std::string *>(data) = info->dlpi_name;
  return 1;
}

}  // namespace

std::string PythonLibrary::version_text() const {
  const std::string text = version();
  return text.substr(0, text.find(' '));
}

std::string PythonLibrary::tag() const {
  const std::string text = version();
  const size_t dot = text.find('.');
  const size_t end = text.find_first_not_of("0123456789", dot + 1);
  const bool free_threaded = text.find("free-threading") != std::string::npos;
  return "cp" + text.substr(0, dot) + text.substr(dot + 1, end - dot - 1) +
         (free_threaded ? "t" : "");
}

PythonLibrary find_python_library() {
  if (const PythonLibrary global = resolve_all(RTLD_DEFAULT)) return global;
  std::string file;
  dl_iterate_phdr(note_python_library, &file);
  if (file.empty()) return {};
  void *handle = dlopen(file.c_str(), RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
  return handle ? resolve_all(handle) : PythonLibrary{};
}

PythonLibrary load_python_library(const std::string &file) {
  void *handle = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!handle) {
    const char *why = dlerror();
    throw Failure{TESSERACT_ERROR_UNAVAILABLE, "can't load " + file + ": " + (why ? why : "?")};
  }
  const PythonLibrary library = resolve_all(handle);
  if (!library) {
    throw Failure{TESSERACT_ERROR_UNAVAILABLE, file + " lacks functions of CPython's C API"};
  }
  return library;
}

void *give_up_gil(const PythonLibrary &library) {
  if (!library || !library.is_initialized()) return nullptr;
  // Before 3.12 the current state is the one of whichever thread holds the GIL.
  void *own = library.this_thread_state();
  if (!own || own != library.current_thread_state()) return nullptr;
  return library.save_thread();
}

void take_gil(const PythonLibrary &library, void *state) {
  if (!state) return;
  Barrier barrier;
  library.restore_thread(state);
  barrier.pass();
}

}  // namespace tesseract::python
