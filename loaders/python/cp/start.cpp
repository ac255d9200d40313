#include "start.h"

#define TESSERACT_IMPORTS_NUMPY
#include "python.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "../../../python/arrays/device_array.h"
#include "../../../python/ending/ending.h"
#include "../engine/module.h"
#include "../engine/numpy.h"
#include "call_frame.h"
#include "cancel.h"
#include "constructor.h"
#include "device_handover.h"
#include "errors.h"
#include "handover.h"
#include "support.h"
#include "thread_state.h"
#include "transfers.h"
#include "views.h"

namespace tesseract::python {
namespace {

bool joined = true;  // until this loader initialises Python itself
const tesseract_host_table *host = nullptr;
std::string *environment_prefix = nullptr;
std::string *environment_executable = nullptr;

// Ends a configuration and its memory.
struct Config {
  PyConfig value;
  Config() { PyConfig_InitPythonConfig(&value); }
  ~Config() { PyConfig_Clear(&value); }
  Config(const Config &) = delete;
  Config &operator=(const Config &) = delete;
};

void check_status(const PyStatus &status) {
  if (!PyStatus_Exception(status)) return;
  throw CallFailure{TESSERACT_ERROR_UNAVAILABLE, "",
                    std::string("Python can't be started: ") +
                        (status.err_msg ? status.err_msg : "it asked to exit")};
}

// The program keeps its signals, locale, standard streams and arguments; the interpreter's path
// alone selects the environment.  Ends without the GIL.
void initialise(const char *program) {
  const FloatEnvironment environment;
  PyPreConfig before;
  PyPreConfig_InitPythonConfig(&before);
  before.parse_argv = 0;
  before.configure_locale = 0;
  before.coerce_c_locale = 0;
  check_status(Py_PreInitialize(&before));

  Config config;
  config.value.install_signal_handlers = 0;
  config.value.parse_argv = 0;
  config.value.configure_c_stdio = 0;
#if PY_VERSION_HEX >= 0x030B0000
  config.value.safe_path = 1;
#endif
  check_status(PyConfig_SetBytesString(&config.value, &config.value.program_name, program));
  check_status(Py_InitializeFromConfig(&config.value));
  joined = false;
  PyEval_SaveThread();
}

std::string *system_text(const char *name) {
  PyObject *value = PySys_GetObject(name);
  return new std::string(value && value != Py_None ? text_of(value) : "");
}

PyObject *resume_after_fork(PyObject *, PyObject *) {
  resume_in_child();
  const auto *forks = static_cast<const tesseract_fork_table *>(
      host->extension(TESSERACT_FORK_ID, sizeof TESSERACT_FORK_ID - 1));
  if (forks && forks->resume) forks->resume();
  Py_RETURN_NONE;
}

PyMethodDef resume_definition = {"resume_after_fork", resume_after_fork, METH_NOARGS, nullptr};

// os.fork in a Python process leaves a whole interpreter in the child.
void register_fork() {
  const Ref os = own(PyImport_ImportModule("os"));
  const Ref function = own(PyObject_GetAttrString(os.get(), "register_at_fork"));
  const Ref resume = own(PyCFunction_New(&resume_definition, nullptr));
  const Ref none = own(PyTuple_New(0));
  const Ref keywords = own(PyDict_New());
  check(PyDict_SetItemString(keywords.get(), "after_in_child", resume.get()));
  own(PyObject_Call(function.get(), none.get(), keywords.get()));
}

int32_t prepare(const PythonStart *request, tesseract_frame *frame) {
  const Entry entry;
  if (!entry) return report_gone(frame);
  return guarded(frame, [&]() -> int32_t {
    import_numpy();
    create_exporter_type();
    arrays::create_device_array_type();
    const char *reuse = std::getenv("TESSERACT_HOST_FRAME_REUSE");
    CallFrame::reuses = recycles = !reuse || std::strcmp(reuse, "0") != 0;
    engine::register_module();
    load_support(request->package, !joined);
    install_cancel_hook();
    if (joined) {
      register_fork();
      if (!watch_end()) throw PythonError{};
    }
    if (!environment_prefix) environment_prefix = system_text("prefix");
    if (!environment_executable) environment_executable = system_text("executable");
    return TESSERACT_OK;
  });
}

}  // namespace

void import_numpy() {
  if (PyArray_ImportNumPyAPI() < 0) throw PythonError{};
}

void trim_memory() {
#ifdef __GLIBC__
  static std::atomic<bool> done{false};
  if (!joined && !done.exchange(true)) malloc_trim(0);
#endif
}

int32_t start(const PythonStart *request, tesseract_frame *frame) {
  host = request->host;
  find_adoption(host);
  find_memory_adoption(host);
  find_device_functions(host);
  find_lose_thread(*host);
  watch_forks();
  // What a failed start leaves behind can't be started again.
  static auto &failed = *new std::string;
  if (failed.empty() && request->program && !Py_IsInitialized()) {
    try {
      initialise(request->program);
    } catch (const CallFailure &failure) {
      failed = failure.message;
    }
  }
  if (!failed.empty()) return report(frame, {TESSERACT_ERROR_UNAVAILABLE, "", failed});
  return prepare(request, frame);
}

const char *prefix() {
  return environment_prefix->c_str();
}

const char *executable() {
  return environment_executable->c_str();
}

int32_t shutdown(double seconds, tesseract_frame *frame) {
  const Entry entry;
  if (!entry) return TESSERACT_OK;
  return guarded(frame, [&]() -> int32_t {
    const double bounded = seconds > 0.0 ? seconds : 0.0;
    const Ref late = own(PyObject_CallFunction(support().finish, "di", bounded, joined ? 1 : 0));
    const std::string names = text_of(late.get());
    if (names.empty()) return TESSERACT_OK;
    return report(
        frame, {TESSERACT_ERROR_UNAVAILABLE, "", "Python threads did not end in time: " + names});
  });
}

}  // namespace tesseract::python
