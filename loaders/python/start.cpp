#include "start.h"

#include <dlfcn.h>

#include <atomic>
#include <mutex>

#include "environment.h"
#include "failure.h"
#include "interpreter.h"
#include "paths.h"
#include "search_path.h"

namespace tesseract::python {
namespace {

std::atomic<const PythonRuntime *> running{nullptr};
std::atomic<const PythonLibrary *> process_python{nullptr};

// Held while waiting for other threads, which may need the GIL to get on.
struct GilPause {
  const PythonLibrary &library = process_library();
  void *state = give_up_gil(library);

  GilPause() = default;
  GilPause(const GilPause &) = delete;
  GilPause &operator=(const GilPause &) = delete;
  ~GilPause() { take_gil(library, state); }
};

std::string name_of(const Interpreter &interpreter, const Choice &choice) {
  return "Python " + interpreter.version + " at " + choice.executable + " (" + choice.reason + ")";
}

[[noreturn]] void refuse(const Interpreter &interpreter, const Choice &choice,
                         const std::string &problem) {
  throw Failure{TESSERACT_ERROR_UNAVAILABLE, name_of(interpreter, choice) + " " + problem};
}

// What a module needs must be there before the process is bound to this interpreter for good.
void check_usable(const Interpreter &interpreter, const Choice &choice) {
  if (interpreter.library.empty()) {
    refuse(interpreter, choice,
           "has no shared library libpython, so it can't be embedded: use an interpreter built "
           "with --enable-shared, or install the system's libpython package");
  }
  std::string missing;
  if (!interpreter.has_numpy) missing += " numpy";
  if (!interpreter.has_pydantic) missing += " pydantic";
  if (missing.empty()) return;
  refuse(interpreter, choice,
         "lacks what modules need: install it by\n  " + interpreter.executable + " -m pip install" +
             missing);
}

const PythonRuntime &load_runtime(const std::string &file) {
  void *handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *why = dlerror();
    throw Failure{TESSERACT_ERROR_UNAVAILABLE, "can't load " + file + ": " + (why ? why : "?")};
  }
  const auto function =
      reinterpret_cast<PythonRuntimeFunction>(dlsym(handle, TESSERACT_PYTHON_RUNTIME_SYMBOL));
  if (!function) {
    throw Failure{TESSERACT_ERROR_VERSION, file + " and " + own_folder() +
                                               "/tesseract_loader_python.so are of different "
                                               "releases of tesseract-host"};
  }
  return *function();
}

void remember(const PythonLibrary &library) {
  process_python = new PythonLibrary(library);
}

const PythonRuntime *start(const Parts &parts, const char *program, tesseract_frame *frame,
                           int32_t *status) {
  const PythonRuntime &runtime = load_runtime(parts.loader);
  const PythonStart request{program, parts.package.c_str(), frame->host};
  *status = runtime.start(&request, frame);
  if (*status != TESSERACT_OK) return nullptr;
  running = &runtime;
  return &runtime;
}

const PythonRuntime *join(const PythonLibrary &library, tesseract_frame *frame, int32_t *status) {
  const std::string who = "the running Python " + library.version_text();
  return start(find_parts(library.tag(), who, ""), nullptr, frame, status);
}

const PythonRuntime *embed(const PythonLibrary &loaded, const std::string &option,
                           tesseract_frame *frame, int32_t *status) {
  const Choice choice = choose_interpreter(option);
  const Interpreter interpreter = query_interpreter(choice.executable, choice.reason);
  check_usable(interpreter, choice);
  if (loaded && loaded.tag() != interpreter.tag) {
    refuse(interpreter, choice,
           "can't be used: this process has already loaded the library of Python " +
               loaded.version_text());
  }
  const Parts parts =
      find_parts(interpreter.tag, name_of(interpreter, choice), interpreter.package);
  if (!loaded) remember(load_python_library(interpreter.library));
  return start(parts, interpreter.executable.c_str(), frame, status);
}

// One interpreter per process: who asks for an environment gets it, or an error that names both.
void check_same_environment(const PythonRuntime &runtime, const std::string &option) {
  if (option.empty()) return;
  const Choice choice = resolve_interpreter(option, "chosen by the option \"python\"");
  if (choice.executable == runtime.executable()) return;
  const Interpreter asked = query_interpreter(choice.executable, choice.reason);
  if (resolved(asked.prefix) == resolved(runtime.prefix())) return;
  throw Failure{TESSERACT_ERROR_UNAVAILABLE,
                "this process runs the Python environment " + std::string(runtime.prefix()) +
                    ", and can't run " + asked.prefix +
                    " (asked for by the option \"python\") beside it: one interpreter per process"};
}

}  // namespace

const PythonRuntime *running_runtime() {
  return running;
}

const PythonLibrary &process_library() {
  static const PythonLibrary none;
  const PythonLibrary *known = process_python;
  if (known) return *known;
  const PythonLibrary found = find_python_library();
  if (!found) return none;
  const auto *entry = new PythonLibrary(found);
  if (process_python.compare_exchange_strong(known, entry)) return *entry;
  delete entry;
  return *known;
}

const PythonRuntime *started_runtime(const std::string &option, tesseract_frame *frame,
                                     int32_t *status) {
  *status = TESSERACT_OK;
  if (!running) {
    static auto &starting = *new std::mutex;
    const GilPause pause;
    const std::lock_guard lock(starting);
    if (!running) {
      const PythonLibrary &library = process_library();
      const bool joins = library && library.is_initialized();
      const auto *started =
          joins ? join(library, frame, status) : embed(library, option, frame, status);
      if (!started) return nullptr;
    }
  }
  const PythonRuntime *runtime = running;
  check_same_environment(*runtime, option);
  return runtime;
}

}  // namespace tesseract::python
