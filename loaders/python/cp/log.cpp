#include "log.h"

#include <mutex>

#include "errors.h"
#include "thread_state.h"

namespace tesseract::python {
namespace {

using SharedLink = std::shared_ptr<LogLink>;

constexpr const char *kCapsule = "tesseract_host.loader.log";

void destroy_link(PyObject *capsule) {
  delete static_cast<SharedLink *>(PyCapsule_GetPointer(capsule, kCapsule));
}

PyObject *log(PyObject *capsule, PyObject *arguments) {
  int level = 0;
  PyObject *text = nullptr;
  if (!PyArg_ParseTuple(arguments, "iU:log", &level, &text)) return nullptr;
  const auto *link = static_cast<SharedLink *>(PyCapsule_GetPointer(capsule, kCapsule));
  if (!link) return nullptr;
  const std::string line = text_of(text);
  {
    const Pause pause;
    (*link)->write(level, line.data(), line.size());
  }
  Py_RETURN_NONE;
}

PyMethodDef log_definition = {"log", log, METH_VARARGS, "log(level, text): one line for the log"};

}  // namespace

void LogLink::write(int32_t level, const char *text, uint64_t length) {
  const std::shared_lock lock(mutex_);
  if (log_) host_->log(log_, level, text, length);
}

void LogLink::cut() {
  const std::unique_lock lock(mutex_);
  log_ = nullptr;
}

Ref log_function(const SharedLink &link) {
  auto *held = new SharedLink(link);
  PyObject *capsule = PyCapsule_New(held, kCapsule, destroy_link);
  if (!capsule) delete held;
  const Ref owned = own(capsule);
  return own(PyCFunction_New(&log_definition, capsule));
}

}  // namespace tesseract::python
