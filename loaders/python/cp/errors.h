// Errors on their way from Python to the C line.
#pragma once

#include <tesseract_host/plugin.h>

#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "reference.h"

namespace tesseract::python {

// An error of the loader's own.  Caught where the C line is.
struct CallFailure {
  int32_t status;
  std::string path;  // the leaf at fault, "" for none
  std::string message;
};

// The host recorded the error itself.
struct HostFailure {
  int32_t status;
};

// Records the failure; returns its status.
int32_t report(tesseract_frame *frame, const CallFailure &failure);

// The exception that is set, made whole: an instance with its traceback.  None is set then.
Ref take_exception();

// Takes the Python exception that is set, whatever it is, and records it as the support package's
// `classify` says: status, leaf, message, traceback.  Returns the status.  GIL held.
int32_t report_exception(tesseract_frame *frame);

// The answer where the interpreter has ended.
int32_t report_gone(tesseract_frame *frame);

// The object's text as UTF-8, with escapes for what UTF-8 can't hold; of objects other than str
// their str().  Leaves no exception set.
std::string text_of(PyObject *object);

// Runs the function and records what it throws; returns its status.  GIL held.
template <typename Function>
int32_t guarded(tesseract_frame *frame, Function function) {
  try {
    return function();
  } catch (const PythonError &) {
    return report_exception(frame);
  } catch (const HostFailure &failure) {
    return failure.status;
  } catch (const CallFailure &failure) {
    return report(frame, failure);
  } catch (const std::bad_alloc &) {
    return report(frame, {TESSERACT_ERROR_OUT_OF_MEMORY, "", "out of memory"});
  } catch (const std::exception &error) {
    return report(frame, {TESSERACT_ERROR_INTERNAL, "", error.what()});
  }
}

}  // namespace tesseract::python
