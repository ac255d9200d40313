#include "errors.h"

namespace tesseract::binding {
namespace {

PyObject *factory = nullptr;

Ref detail(const tesseract_error *error, int32_t which) {
  uint64_t length = 0;
  const char *text = tesseract_error_detail(error, which, &length);
  return text ? text_object(text, length) : Ref(Py_NewRef(Py_None));
}

Ref exception_of(const tesseract_error *error, int32_t status) {
  const tesseract_error *reason = tesseract_error_cause(error);
  const Ref cause =
      reason ? exception_of(reason, tesseract_error_status(reason)) : Ref(Py_NewRef(Py_None));
  uint64_t length = 0;
  const char *text = tesseract_error_message(error, &length);
  const Ref message = text_object(text, length);
  const Ref number = own(PyLong_FromLong(status));
  const Ref component = detail(error, TESSERACT_DETAIL_COMPONENT);
  const Ref endpoint = detail(error, TESSERACT_DETAIL_ENDPOINT);
  const Ref path = detail(error, TESSERACT_DETAIL_PATH);
  const Ref traceback = detail(error, TESSERACT_DETAIL_TRACEBACK);
  return own(PyObject_CallFunctionObjArgs(factory, number.get(), message.get(), component.get(),
                                          endpoint.get(), path.get(), traceback.get(), cause.get(),
                                          nullptr));
}

}  // namespace

void set_error_factory(PyObject *function) {
  PyObject *old = std::exchange(factory, Py_NewRef(function));
  Py_XDECREF(old);
}

Ref text_object(const char *data, uint64_t length) {
  return own(
      PyUnicode_DecodeUTF8(data ? data : "", static_cast<Py_ssize_t>(length), "backslashreplace"));
}

void Error::raise(int32_t status) const {
  const Ref exception = exception_of(error_, status);
  PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(exception.get())), exception.get());
  throw PythonError{};
}

}  // namespace tesseract::binding
