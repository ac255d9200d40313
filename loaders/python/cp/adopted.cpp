#include "adopted.h"

#include "../../../python/ending/barrier.h"

namespace tesseract::python {
namespace {

PyObject *attribute_or_null(PyObject *object, const char *name) {
  Ref value = own(PyObject_GetAttrString(object, name));
  return value.get() == Py_None ? nullptr : value.release();
}

// A function on its way to another thread.
struct Errand {
  int32_t (*body)(void *);
  void *data;
  int32_t status;
  bool done;
};

PyObject *do_errand(PyObject *capsule, PyObject *) {
  auto *errand = static_cast<Errand *>(PyCapsule_GetPointer(capsule, nullptr));
  if (!errand) return nullptr;
  errand->status = errand->body(errand->data);
  errand->done = true;
  Py_RETURN_NONE;
}

PyMethodDef errand_definition = {"call", do_errand, METH_NOARGS, nullptr};

}  // namespace

std::unique_ptr<Adopted> Adopted::read(PyObject *live) {
  auto made = std::make_unique<Adopted>();
  try {
    made->life_ = attribute_or_null(live, "life");
    made->acquire_ = attribute_or_null(live, "acquire");
    made->release_ = attribute_or_null(live, "release");
    made->run_ = attribute_or_null(live, "run");
  } catch (const PythonError &) {
    made->drop();
    throw;
  }
  return made;
}

void Adopted::drop() {
  Py_CLEAR(acquire_);
  Py_CLEAR(release_);
  Py_CLEAR(run_);
  Py_CLEAR(life_);
}

Turn::Turn(const Adopted &adopted) : release_(adopted.release()) {
  own(PyObject_CallNoArgs(adopted.acquire()));
}

Turn::~Turn() {
  stop_if_asked_to_end();
  end();
}

void Turn::end() const {
  Barrier barrier;
  PyObject *done = PyObject_CallNoArgs(release_);
  // In the child of a fork the lock is a new one, which nobody holds.
  if (!done) PyErr_Clear();
  Py_XDECREF(done);
  barrier.pass();
}

int32_t send_to_thread(const Adopted &adopted, tesseract_frame *frame, int32_t (*body)(void *),
                       void *data) {
  return guarded(frame, [&]() -> int32_t {
    Errand errand{body, data, TESSERACT_OK, false};
    const Ref capsule = own(PyCapsule_New(&errand, nullptr, nullptr));
    const Ref function = own(PyCFunction_New(&errand_definition, capsule.get()));
    const Ref done(PyObject_CallOneArg(adopted.run(), function.get()));
    if (done) return errand.status;
    if (errand.done || !PyErr_ExceptionMatches(PyExc_RuntimeError)) throw PythonError{};
    const Ref error = take_exception();  // the thread is no more
    throw CallFailure{TESSERACT_ERROR_UNAVAILABLE, "", error ? text_of(error.get()) : ""};
  });
}

}  // namespace tesseract::python
