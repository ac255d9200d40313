#include "match.h"

#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

#include "../arrays/dtypes.h"
#include "dtypes.h"
#include "errors.h"

namespace tesseract::binding {
namespace {

std::string_view text(PyObject *object) {
  Py_ssize_t length = 0;
  const char *data = PyUnicode_AsUTF8AndSize(object, &length);
  if (!data) throw PythonError{};
  return {data, static_cast<size_t>(length)};
}

PyObject *item(PyObject *tuple, Py_ssize_t index) {
  if (PyTuple_Check(tuple) && index < PyTuple_GET_SIZE(tuple))
    return PyTuple_GET_ITEM(tuple, index);
  PyErr_SetString(PyExc_ValueError, "a malformed description of arguments or results");
  throw PythonError{};
}

size_t number(PyObject *object) {
  const size_t value = PyLong_AsSize_t(object);
  if (value == static_cast<size_t>(-1) && PyErr_Occurred()) throw PythonError{};
  return value;
}

template <typename Kind>
std::vector<std::unique_ptr<Kind>> read_all(PyObject *tuple) {
  std::vector<std::unique_ptr<Kind>> made;
  for (Py_ssize_t i = 0; i < PyTuple_Size(tuple); i++) {
    made.push_back(Kind::read(PyTuple_GET_ITEM(tuple, i)));
  }
  return made;
}

std::vector<Ref> keys_of(PyObject *tuple) {
  std::vector<Ref> keys;
  for (Py_ssize_t i = 0; i < PyTuple_Size(tuple); i++) {
    keys.emplace_back(Py_NewRef(PyTuple_GET_ITEM(tuple, i)));
  }
  return keys;
}

template <typename T>
bool write(void *place, T value) {
  std::memcpy(place, &value, sizeof value);
  return true;
}

bool is(DLDataType dtype, uint8_t code, uint8_t bits) {
  return dtype.code == code && dtype.bits == bits;
}

// False where the number is none of this type: the general way says so.
bool write_number(PyObject *value, DLDataType dtype, void *place, bool &known) {
  known = true;
  if (PyFloat_CheckExact(value)) {
    const double given = PyFloat_AS_DOUBLE(value);
    if (is(dtype, kDLFloat, 64)) return write(place, given);
    if (is(dtype, kDLFloat, 32)) {
      return !(std::isfinite(given) && std::fabs(given) > double{FLT_MAX}) &&
             write(place, static_cast<float>(given));
    }
  } else if (PyBool_Check(value)) {
    if (is(dtype, kDLBool, 8)) return write(place, static_cast<uint8_t>(value == Py_True));
  } else if (PyLong_CheckExact(value)) {
    int overflow = 0;
    const long long given = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow) {
      known = false;
      return false;
    }
    if (is(dtype, kDLInt, 64)) return write(place, int64_t{given});
    if (is(dtype, kDLFloat, 64)) return write(place, static_cast<double>(given));
    if (is(dtype, kDLInt, 32)) {
      return given >= std::numeric_limits<int32_t>::min() &&
             given <= std::numeric_limits<int32_t>::max() &&
             write(place, static_cast<int32_t>(given));
    }
  }
  known = false;
  return false;
}

}  // namespace

std::unique_ptr<Pattern> Pattern::read(PyObject *description) {
  auto made = std::make_unique<Pattern>();
  const std::string_view kind = text(item(description, 0));
  PyObject *first = item(description, 1);
  if (kind == "dict") {
    made->kind_ = Kind::dict;
    made->keys_ = keys_of(first);
    made->children_ = read_all<Pattern>(item(description, 2));
  } else if (kind == "list") {
    made->kind_ = Kind::list;
    made->object_ = Ref(Py_NewRef(first));
    made->children_ = read_all<Pattern>(item(description, 2));
  } else if (kind == "array") {
    made->kind_ = Kind::array;
    made->position_ = number(first);
  } else if (kind == "number" || kind == "other" || kind == "foreign") {
    made->kind_ = kind == "number" ? Kind::number : kind == "other" ? Kind::other : Kind::foreign;
    made->object_ = Ref(Py_NewRef(first));
    made->position_ = number(item(description, 2));
    if (made->kind_ == Kind::other) made->make_ = Ref(Py_NewRef(item(description, 3)));
  } else {
    made->kind_ = kind == "set" ? Kind::set : Kind::value;
    made->object_ = Ref(Py_NewRef(first));
  }
  return made;
}

bool Pattern::matches(PyObject *value, const Match &match) const {
  switch (kind_) {
    case Kind::dict:
      return matches_dict(value, match);
    case Kind::list:
      return matches_list(value, match);
    case Kind::array:
      return PyArray_CheckExact(value) && matches_array(Ref(Py_NewRef(value)), match);
    case Kind::foreign:
      return reinterpret_cast<PyObject *>(Py_TYPE(value)) == object_.get() &&
             matches_foreign(value, match);
    case Kind::number:
      return reinterpret_cast<PyObject *>(Py_TYPE(value)) == object_.get() &&
             matches_number(value, match);
    case Kind::other: {
      if (reinterpret_cast<PyObject *>(Py_TYPE(value)) != object_.get()) return false;
      Ref array(PyArray_CheckScalar(value) ? PyArray_FromScalar(value, nullptr)
                                           : PyObject_CallOneArg(make_.get(), value));
      if (!array) forget_exception();
      return array && PyArray_Check(array.get()) && matches_array(std::move(array), match);
    }
    case Kind::value:
    case Kind::set:
      return equals(value);
  }
  return false;
}

bool Pattern::matches_arguments(PyObject *const *values, size_t count, const Match &match) const {
  if (count != children_.size()) return false;
  for (size_t i = 0; i < count; i++) {
    if (!children_[i]->matches(values[i], match)) return false;
  }
  return true;
}

bool Pattern::matches_dict(PyObject *value, const Match &match) const {
  if (!PyDict_CheckExact(value) ||
      PyDict_GET_SIZE(value) != static_cast<Py_ssize_t>(keys_.size())) {
    return false;
  }
  for (size_t i = 0; i < keys_.size(); i++) {
    PyObject *found = PyDict_GetItemWithError(value, keys_[i].get());
    if (!found) {
      forget_exception();
      return false;
    }
    // What an array is made of may run code that changes the dict.
    const Ref kept(Py_NewRef(found));
    if (!children_[i]->matches(found, match)) return false;
  }
  return true;
}

bool Pattern::matches_list(PyObject *value, const Match &match) const {
  if (reinterpret_cast<PyObject *>(Py_TYPE(value)) != object_.get()) return false;
  for (size_t i = 0; i < children_.size(); i++) {
    // Its length may change, too.
    if (PySequence_Fast_GET_SIZE(value) != static_cast<Py_ssize_t>(children_.size())) return false;
    const Ref kept(Py_NewRef(PySequence_Fast_GET_ITEM(value, static_cast<Py_ssize_t>(i))));
    if (!children_[i]->matches(kept.get(), match)) return false;
  }
  return PySequence_Fast_GET_SIZE(value) == static_cast<Py_ssize_t>(children_.size());
}

bool Pattern::matches_array(Ref array, const Match &match) const {
  auto *given = reinterpret_cast<PyArrayObject *>(array.get());
  const Position &position = match.positions[position_];
  DLDataType dtype{};
  if (PyArray_NDIM(given) != position.ndim || !dtype_of(PyArray_DESCR(given), dtype) ||
      !same(dtype, position.dtype)) {
    return false;
  }
  if (!match.allows_copies && !has_whole_strides(given)) return false;
  match.tensors.set(position_, std::move(array), dtype);
  return true;
}

bool Pattern::matches_foreign(PyObject *value, const Match &match) const {
  const Position &position = match.positions[position_];
  const bool on_host = position.device.device_type == kDLCPU;
  const Foreign *array =
      match.readings.of(value, on_host ? Foreign::Where::anywhere : Foreign::Where::device);
  if (!array) return false;
  const DLTensor &tensor = array->tensor();
  if (tensor.ndim != position.ndim || !same(tensor.dtype, position.dtype) ||
      array->on_device() == on_host ||
      (!array->is_on_any() && tensor.device.device_id != position.device.device_id)) {
    return false;
  }
  match.tensors.set(position_, Ref(Py_NewRef(value)), *array);
  return true;
}

bool Pattern::matches_number(PyObject *value, const Match &match) const {
  const Position &position = match.positions[position_];
  bool known = false;
  if (write_number(value, position.dtype, match.tensors.set_number(position_, position.dtype),
                   known)) {
    return true;
  }
  if (known) return false;
  try {
    Ref descr = arrays::numpy_dtype(position.dtype);
    Ref array(PyArray_FromAny(value, reinterpret_cast<PyArray_Descr *>(descr.release()), 0, 0, 0,
                              nullptr));
    if (array) return matches_array(std::move(array), match);
  } catch (const PythonError &) {
  }
  forget_exception();
  return false;
}

bool Pattern::equals(PyObject *value) const {
  PyObject *known = object_.get();
  if (value == known) return true;
  if (Py_TYPE(value) != Py_TYPE(known)) return false;
  if (PyFloat_CheckExact(value)) {
    const double given = PyFloat_AS_DOUBLE(value), wanted = PyFloat_AS_DOUBLE(known);
    return std::memcmp(&given, &wanted, sizeof given) == 0;  // -0.0 is another value than 0.0
  }
  const int answer = PyObject_RichCompareBool(value, known, Py_EQ);
  if (answer < 0) forget_exception();
  return answer == 1;
}

int Pattern::traverse(visitproc visit, void *arg) const {
  Py_VISIT(object_.get());
  Py_VISIT(make_.get());
  for (const auto &child : children_) {
    if (const int stop = child->traverse(visit, arg)) return stop;
  }
  return 0;
}

std::unique_ptr<Form> Form::read(PyObject *description) {
  auto made = std::make_unique<Form>();
  const std::string_view kind = text(item(description, 0));
  PyObject *first = item(description, 1);
  if (kind == "out") {
    made->index_ = number(first);
  } else if (kind == "list") {
    made->is_list_ = true;
    made->children_ = read_all<Form>(first);
  } else {
    made->is_dict_ = true;
    made->keys_ = keys_of(first);
    made->children_ = read_all<Form>(item(description, 2));
  }
  return made;
}

Ref Form::make(const std::vector<Ref> &values) const {
  if (is_dict_) {
    Ref made = own(PyDict_New());
    for (size_t i = 0; i < keys_.size(); i++) {
      const Ref inside = children_[i]->make(values);
      check(PyDict_SetItem(made.get(), keys_[i].get(), inside.get()));
    }
    return made;
  }
  if (is_list_) {
    Ref made = own(PyList_New(static_cast<Py_ssize_t>(children_.size())));
    for (size_t i = 0; i < children_.size(); i++) {
      PyList_SET_ITEM(made.get(), static_cast<Py_ssize_t>(i), children_[i]->make(values).release());
    }
    return made;
  }
  if (index_ < values.size()) return Ref(Py_NewRef(values[index_].get()));
  PyErr_SetString(PyExc_RuntimeError, "the component returned fewer outputs than it has");
  throw PythonError{};
}

}  // namespace tesseract::binding
