#include "results.h"

#include <cstring>

#include "dtype.h"
#include "errors.h"
#include "views.h"

namespace tesseract::python {
namespace {

// The leaf of an output position, for messages.
std::string path_of(const tesseract_frame *frame, uint64_t position) {
  const tesseract_signature *signature = frame->signature;
  if (!signature) return "";
  const bool by_input = frame->endpoint == TESSERACT_ENDPOINT_VJP;
  const tesseract_leaves *leaves = by_input ? signature->wrt : signature->of;
  if (frame->endpoint == TESSERACT_ENDPOINT_JACOBIAN && signature->wrt &&
      signature->wrt->count > 0) {
    position /= static_cast<uint64_t>(signature->wrt->count);
  }
  if (!leaves || leaves->count < 0 || position >= static_cast<uint64_t>(leaves->count)) return "";
  const tesseract_string &path = leaves->items[position].path;
  if (path.length == TESSERACT_NTS) return path.data;
  return {path.data, path.length};
}

// The list and the JSON text, checked.
PyObject *list_of(PyObject *answer, const tesseract_frame *frame) {
  if (!PyTuple_Check(answer) || PyTuple_GET_SIZE(answer) != 2 ||
      !PyList_Check(PyTuple_GET_ITEM(answer, 0)) || !PyUnicode_Check(PyTuple_GET_ITEM(answer, 1))) {
    throw CallFailure{TESSERACT_ERROR_INTERNAL, "", "a plan must return (list, JSON text)"};
  }
  PyObject *list = PyTuple_GET_ITEM(answer, 0);
  if (static_cast<uint64_t>(PyList_GET_SIZE(list)) != frame->n_outputs) {
    throw CallFailure{TESSERACT_ERROR_INTERNAL, "",
                      "a plan returned " + std::to_string(PyList_GET_SIZE(list)) + " results for " +
                          std::to_string(frame->n_outputs) + " outputs"};
  }
  return list;
}

void write_json(PyObject *answer, tesseract_frame *frame) {
  const std::string text = text_of(PyTuple_GET_ITEM(answer, 1));
  if (text.empty() || text == "{}") return;
  const int32_t status = frame->host->output_json(frame, text.data(), text.size());
  if (status != TESSERACT_OK) throw HostFailure{status};
}

void write_array(PyObject *value, tesseract_frame *frame, uint64_t position) {
  const Ref array = own(PyArray_FromAny(value, nullptr, 0, 0, 0, nullptr));
  auto *source = reinterpret_cast<PyArrayObject *>(array.get());
  DLDataType dtype{};
  if (!dtype_of(PyArray_DESCR(source), dtype)) {
    const Ref name = own(PyObject_Str(reinterpret_cast<PyObject *>(PyArray_DESCR(source))));
    throw CallFailure{TESSERACT_ERROR_SCHEMA, path_of(frame, position),
                      "the component returned an array of dtype " + text_of(name.get())};
  }
  DLTensor *tensor = nullptr;
  const int32_t status = frame->host->allocate_output(
      frame, position, &dtype, PyArray_NDIM(source),
      reinterpret_cast<const int64_t *>(PyArray_DIMS(source)), &tensor);
  if (status != TESSERACT_OK) throw HostFailure{status};
  const auto bytes = static_cast<size_t>(PyArray_NBYTES(source));
  if (bytes == 0) return;
  if (is_compact(*tensor) && PyArray_IS_C_CONTIGUOUS(source) && PyArray_ISNOTSWAPPED(source)) {
    std::memcpy(static_cast<char *>(tensor->data) + tensor->byte_offset, PyArray_DATA(source),
                bytes);
    return;
  }
  const Ref target = destination(*tensor, path_of(frame, position));
  check(PyArray_CopyInto(reinterpret_cast<PyArrayObject *>(target.get()), source));
}

void write_shape(PyObject *value, tesseract_frame *frame, uint64_t position) {
  PyObject *lengths = nullptr, *name = nullptr;
  if (!PyTuple_Check(value) || !PyArg_ParseTuple(value, "O!U", &PyTuple_Type, &lengths, &name)) {
    PyErr_Clear();
    throw CallFailure{TESSERACT_ERROR_INTERNAL, path_of(frame, position),
                      "a plan must return (shape, dtype name)"};
  }
  DLDataType dtype{};
  if (!dtype_named(text_of(name), dtype)) {
    throw CallFailure{TESSERACT_ERROR_SCHEMA, path_of(frame, position),
                      "the component returned the unknown dtype " + text_of(name)};
  }
  const Py_ssize_t rank = PyTuple_GET_SIZE(lengths);
  if (rank > NPY_MAXDIMS) {
    throw CallFailure{TESSERACT_ERROR_SCHEMA, path_of(frame, position),
                      "the component returned a shape of rank " + std::to_string(rank)};
  }
  int64_t shape[NPY_MAXDIMS];
  for (Py_ssize_t i = 0; i < rank; i++) {
    PyObject *length = PyTuple_GET_ITEM(lengths, i);
    shape[i] = length == Py_None ? -1 : PyLong_AsLongLong(length);
    if (shape[i] == -1 && PyErr_Occurred()) throw PythonError{};
  }
  DLTensor *tensor = nullptr;
  const int32_t status = frame->host->allocate_output(frame, position, &dtype,
                                                      static_cast<int32_t>(rank), shape, &tensor);
  if (status != TESSERACT_OK) throw HostFailure{status};
}

template <typename Write>
void write_all(PyObject *answer, tesseract_frame *frame, Write write) {
  PyObject *list = list_of(answer, frame);
  for (uint64_t i = 0; i < frame->n_outputs; i++) {
    if (!frame->outputs[i]) continue;
    // Reading a value may run code of the module's, which may have kept the list.
    const Ref value = own(Py_XNewRef(PyList_GetItem(list, static_cast<Py_ssize_t>(i))));
    write(value.get(), frame, i);
  }
  write_json(answer, frame);
}

}  // namespace

void write_results(PyObject *answer, tesseract_frame *frame) {
  write_all(answer, frame, write_array);
}

void write_shapes(PyObject *answer, tesseract_frame *frame) {
  write_all(answer, frame, write_shape);
}

}  // namespace tesseract::python
