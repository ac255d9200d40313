// Errors of the host as Python exceptions.
#pragma once

#include <tesseract_host/host.h>

#include <new>

#include "python.h"

namespace tesseract::binding {

// An error of the host; freed at the end.
class Error {
 public:
  Error() = default;
  ~Error() { tesseract_error_free(error_); }
  Error(const Error &) = delete;
  Error &operator=(const Error &) = delete;

  tesseract_error **out() { return &error_; }

  const char *text() const { return tesseract_error_message(error_, nullptr); }

  // Sets the exception that it is in Python and throws PythonError.  `status` is that of the
  // function that failed.
  [[noreturn]] void raise(int32_t status) const;

 private:
  tesseract_error *error_ = nullptr;
};

// The function that makes exceptions: of (status, message, component, endpoint, path, traceback,
// cause), texts and an exception that may be None.
void set_error_factory(PyObject *function);

// A text of the host's; what is no UTF-8 is escaped.  Throws PythonError.
Ref text_object(const char *data, uint64_t length);

// Where a value is none of what was expected, and the general way finds out why.  An interrupt is
// nobody's answer: throws PythonError for what is no Exception.
inline void forget_exception() {
  if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception)) throw PythonError{};
  PyErr_Clear();
}

// Runs a function where Python is: null, with an exception set, where it throws.
template <typename Function>
PyObject *guarded(Function function) {
  try {
    return function();
  } catch (const PythonError &) {
    return nullptr;
  } catch (const std::bad_alloc &) {
    return PyErr_NoMemory();
  }
}

}  // namespace tesseract::binding
