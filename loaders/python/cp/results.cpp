#include "results.h"

#include <cstring>

#include "dtype.h"
#include "errors.h"
#include "handover.h"
#include "output.h"
#include "transfers.h"
#include "views.h"

namespace tesseract::python {
namespace {

void write_array(PyObject *value, tesseract_frame *frame, const Output &output,
                 Transfers &transfers) {
  if (may_be_on_device(value) && transfers.wrote(value, output)) return;
  const Ref array = own(PyArray_FromAny(value, nullptr, 0, 0, 0, nullptr));
  auto *source = reinterpret_cast<PyArrayObject *>(array.get());
  DLDataType dtype{};
  if (!dtype_of(PyArray_DESCR(source), dtype)) {
    const Ref name = own(PyObject_Str(reinterpret_cast<PyObject *>(PyArray_DESCR(source))));
    throw CallFailure{TESSERACT_ERROR_SCHEMA, path_of(frame, output),
                      "the component returned an array of dtype " + text_of(name.get())};
  }
  const DLTensor &tensor = *allocate(frame, output, dtype, PyArray_NDIM(source),
                                     reinterpret_cast<const int64_t *>(PyArray_DIMS(source)));
  const auto bytes = static_cast<size_t>(PyArray_NBYTES(source));
  if (bytes == 0) return;
  if (!is_on_host(tensor)) return transfers.upload(source, tensor, output);
  if (is_compact(tensor) && PyArray_IS_C_CONTIGUOUS(source) && PyArray_ISNOTSWAPPED(source)) {
    std::memcpy(static_cast<char *>(tensor.data) + tensor.byte_offset, PyArray_DATA(source), bytes);
    return;
  }
  const Ref target = destination(tensor, path_of(frame, output));
  check(PyArray_CopyInto(reinterpret_cast<PyArrayObject *>(target.get()), source));
}

void write_shape(PyObject *value, tesseract_frame *frame, const Output &output, Transfers &) {
  PyObject *lengths = nullptr, *name = nullptr;
  if (!PyTuple_Check(value) || !PyArg_ParseTuple(value, "O!U", &PyTuple_Type, &lengths, &name)) {
    PyErr_Clear();
    throw CallFailure{TESSERACT_ERROR_INTERNAL, path_of(frame, output),
                      "a plan must return (shape, dtype name)"};
  }
  DLDataType dtype{};
  if (!dtype_named(text_of(name), dtype)) {
    throw CallFailure{TESSERACT_ERROR_SCHEMA, path_of(frame, output),
                      "the component returned the unknown dtype " + text_of(name)};
  }
  const Py_ssize_t rank = PyTuple_GET_SIZE(lengths);
  if (rank > NPY_MAXDIMS) {
    throw CallFailure{TESSERACT_ERROR_SCHEMA, path_of(frame, output),
                      "the component returned a shape of rank " + std::to_string(rank)};
  }
  int64_t shape[NPY_MAXDIMS];
  for (Py_ssize_t i = 0; i < rank; i++) {
    PyObject *length = PyTuple_GET_ITEM(lengths, i);
    shape[i] = length == Py_None ? -1 : PyLong_AsLongLong(length);
    if (shape[i] == -1 && PyErr_Occurred()) throw PythonError{};
  }
  allocate(frame, output, dtype, static_cast<int>(rank), shape);
}

[[noreturn]] void refuse_answer(const std::string &problem) {
  throw CallFailure{TESSERACT_ERROR_INTERNAL, "", "a plan returned " + problem};
}

// Reading a value may run code of the module's, which may have kept the list: each item is owned
// while it is read.
Ref item(PyObject *list, Py_ssize_t i) {
  return own(Py_XNewRef(PyList_GetItem(list, i)));
}

// True for an array whose memory the frame has taken; the list lets it go for that.
bool gave(PyObject *list, Ref &value, tesseract_frame *frame, uint64_t position,
          Transfers &transfers) {
  if (!may_be_taken(value.get())) return false;
  DLDataType dtype{};
  if (PyArray_CheckExact(value.get()) &&
      !dtype_of(PyArray_DESCR(reinterpret_cast<PyArrayObject *>(value.get())), dtype)) {
    return false;
  }
  check(PyList_SetItem(list, static_cast<Py_ssize_t>(position), Py_NewRef(Py_None)));
  return was_taken(value, dtype, frame, position, transfers);
}

template <typename Write>
void write_named(PyObject *list, tesseract_frame *frame, Transfers &transfers, Write write) {
  if (static_cast<uint64_t>(PyList_GET_SIZE(list)) != frame->n_outputs) {
    refuse_answer(std::to_string(PyList_GET_SIZE(list)) + " results for " +
                  std::to_string(frame->n_outputs) + " outputs");
  }
  for (uint64_t i = 0; i < frame->n_outputs; i++) {
    if (!frame->outputs[i]) continue;
    Ref value = item(list, static_cast<Py_ssize_t>(i));
    if (value.get() == Py_None || gave(list, value, frame, i, transfers)) continue;
    write(value.get(), frame, Output{i, nullptr}, transfers);
  }
}

template <typename Write>
void write_added(PyObject *list, tesseract_frame *frame, Transfers &transfers, Write write) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
    const Ref pair = item(list, i);
    PyObject *name = nullptr, *value = nullptr;
    if (!PyTuple_Check(pair.get()) || !PyArg_ParseTuple(pair.get(), "UO", &name, &value)) {
      PyErr_Clear();
      refuse_answer("no pair of path and value");
    }
    const std::string path = text_of(name);
    if (value != Py_None) write(value, frame, Output{0, &path}, transfers);
  }
}

template <typename Write>
void write_all(PyObject *answer, tesseract_frame *frame, Transfers &transfers, Write write) {
  PyObject *named = nullptr, *json = nullptr, *added = nullptr;
  if (!PyTuple_Check(answer) ||
      !PyArg_ParseTuple(answer, "O!U|O!", &PyList_Type, &named, &json, &PyList_Type, &added)) {
    PyErr_Clear();
    refuse_answer(std::string("neither (list, text) nor (list, text, list) but ") +
                  Py_TYPE(answer)->tp_name);
  }
  write_named(named, frame, transfers, write);
  if (added && (frame->flags & TESSERACT_FRAME_ALL)) write_added(added, frame, transfers, write);
  transfers.finish();
  write_json(json, frame);
}

bool same_dtype(DLDataType one, DLDataType other) {
  return one.code == other.code && one.bits == other.bits && one.lanes == other.lanes;
}

bool has_dtype(const DLTensor &tensor, PyArray_Descr *descriptor) {
  DLDataType dtype{};
  return dtype_of(descriptor, dtype) && same_dtype(dtype, tensor.dtype);
}

// The memory of an output that takes what it is given as it lies, but for the dtype; null where the
// host has to say.
char *ready(const DLTensor &tensor, PyArrayObject *source) {
  if (!tensor.data || !is_on_host(tensor) || tensor.ndim != PyArray_NDIM(source)) return nullptr;
  for (int k = 0; k < tensor.ndim; k++) {
    if (tensor.shape[k] != PyArray_DIM(source, k)) return nullptr;
  }
  return is_compact(tensor) ? data_of(tensor) : nullptr;
}

}  // namespace

bool is_exactly(const engine::Leaf &leaf, PyObject *value) {
  if (!PyArray_CheckExact(value)) return false;
  auto *array = reinterpret_cast<PyArrayObject *>(value);
  if (leaf.number < 0 || PyArray_TYPE(array) != leaf.number || !PyArray_ISCARRAY_RO(array)) {
    return false;
  }
  if (PyArray_NDIM(array) == 0 || (leaf.rank >= 0 && PyArray_NDIM(array) != leaf.rank)) {
    return false;
  }
  return leaf.has_lengths(PyArray_DIMS(array));
}

bool wrote_exactly(PyObject *value, DLDataType dtype, const DLTensor &tensor) {
  if (dtype.lanes != 1 || !same_dtype(dtype, tensor.dtype)) return false;
  auto *source = reinterpret_cast<PyArrayObject *>(value);
  char *target = ready(tensor, source);
  if (!target) return false;
  std::memcpy(target, PyArray_DATA(source), bytes_of(tensor));
  return true;
}

void write_result(PyObject *value, tesseract_frame *frame, uint64_t position,
                  Transfers &transfers) {
  if (PyArray_CheckExact(value)) {
    auto *source = reinterpret_cast<PyArrayObject *>(value);
    if (PyArray_IS_C_CONTIGUOUS(source) && PyArray_ISNOTSWAPPED(source) &&
        has_dtype(*frame->outputs[position], PyArray_DESCR(source))) {
      if (char *target = ready(*frame->outputs[position], source)) {
        std::memcpy(target, PyArray_DATA(source), static_cast<size_t>(PyArray_NBYTES(source)));
        return;
      }
    }
  }
  const DLTensor &tensor = *frame->outputs[position];
  if (PyArray_IsScalar(value, Number) && tensor.ndim == 0 && tensor.data && is_on_host(tensor)) {
    const Ref type = own(reinterpret_cast<PyObject *>(PyArray_DescrFromScalar(value)));
    if (has_dtype(tensor, reinterpret_cast<PyArray_Descr *>(type.get()))) {
      PyArray_ScalarAsCtype(value, data_of(tensor));
      return;
    }
  }
  write_array(value, frame, Output{position, nullptr}, transfers);
}

bool may_be_taken(PyObject *value) {
  return PyArray_CheckExact(value) ? is_worth_handing_over(value) : may_be_on_device(value);
}

bool was_taken(Ref &value, DLDataType dtype, tesseract_frame *frame, uint64_t position,
               Transfers &transfers) {
  return may_be_on_device(value.get()) ? transfers.gave(value, position)
                                       : hand_over(value, dtype, frame, position);
}

void write_json(PyObject *value, tesseract_frame *frame) {
  const std::string text = text_of(value);
  if (text.empty() || text == "{}") return;
  const int32_t status = frame->host->output_json(frame, text.data(), text.size());
  if (status != TESSERACT_OK) throw HostFailure{status};
}

void write_results(PyObject *answer, tesseract_frame *frame, Transfers &transfers) {
  write_all(answer, frame, transfers, write_array);
}

void write_shapes(PyObject *answer, tesseract_frame *frame, Transfers &transfers) {
  write_all(answer, frame, transfers, write_shape);
}

}  // namespace tesseract::python
