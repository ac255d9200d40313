#include "leaf.h"

#include <cmath>
#include <limits>

#include "errors.h"

namespace tesseract::python::engine {
namespace {

PyArrayObject *as_array(PyObject *object) {
  return reinterpret_cast<PyArrayObject *>(object);
}

bool is_allowed(int number) {
  switch (number) {
    case NPY_FLOAT16:
    case NPY_FLOAT32:
    case NPY_FLOAT64:
    case NPY_INT8:
    case NPY_INT16:
    case NPY_INT32:
    case NPY_INT64:
    case NPY_UINT8:
    case NPY_UINT16:
    case NPY_UINT32:
    case NPY_UINT64:
    case NPY_BOOL:
    case NPY_COMPLEX64:
    case NPY_COMPLEX128:
      return true;
    default:
      return false;
  }
}

bool has_type(const Leaf &leaf, int number) {
  return leaf.number < 0 ? is_allowed(number) : number == leaf.number;
}

bool has_shape(const Leaf &leaf, PyArrayObject *array) {
  return leaf.rank < 0 ||
         (PyArray_NDIM(array) == leaf.rank && leaf.has_lengths(PyArray_DIMS(array)));
}

Ref view_of(PyArrayObject *array) {
  PyArray_Descr *descriptor = PyArray_DESCR(array);
  Py_INCREF(descriptor);
  Ref view(PyArray_NewFromDescr(&PyArray_Type, descriptor, PyArray_NDIM(array), PyArray_DIMS(array),
                                PyArray_STRIDES(array), PyArray_DATA(array), 0, nullptr));
  if (!view) return {};
  Py_INCREF(array);
  if (PyArray_SetBaseObject(as_array(view.get()), reinterpret_cast<PyObject *>(array)) < 0) {
    return {};
  }
  return view;
}

Ref scalar_of(void *data, PyArray_Descr *descriptor) {
  return Ref(PyArray_Scalar(data, descriptor, nullptr));
}

// An array whose dtype and shape fit.
Ref finished(Ref array) {
  PyArrayObject *object = as_array(array.get());
  if (PyArray_NDIM(object) == 0) {
    Ref scalar = scalar_of(PyArray_DATA(object), PyArray_DESCR(object));
    return scalar ? std::move(scalar) : missed();
  }
  return array;
}

// ---- Scalars -----------------------------------------------------------------------------------

Ref scalar_from(PyArray_Descr *descriptor, void *data) {
  Ref scalar = scalar_of(data, descriptor);
  return scalar ? std::move(scalar) : missed();
}

// False for what may be out of a float's range, and for what would raise the flag of underflow.
bool is_normal_float(double value) {
  const double size = std::fabs(value);
  const bool in_range =
      size <= std::numeric_limits<float>::max() && size >= std::numeric_limits<float>::min();
  return in_range || size == 0.0 || !std::isfinite(value);
}

Ref real_from(const Leaf &leaf, double value) {
  auto *descriptor = reinterpret_cast<PyArray_Descr *>(leaf.descriptor.get());
  if (leaf.number == NPY_FLOAT64) return scalar_from(descriptor, &value);
  if (leaf.number != NPY_FLOAT32) return {};
  if (!is_normal_float(value)) return {};
  auto narrow = static_cast<float>(value);
  return scalar_from(descriptor, &narrow);
}

bool is_scalar(const Leaf &leaf, PyObject *value) {
  if (leaf.descriptor) {
    auto *descriptor = reinterpret_cast<PyArray_Descr *>(leaf.descriptor.get());
    return Py_IS_TYPE(value, descriptor->typeobj);
  }
  PyTypeObject *type = Py_TYPE(value);
  if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) || !PyArray_IsScalar(value, Generic)) return false;
  const Ref descriptor(reinterpret_cast<PyObject *>(
      PyArray_DescrFromTypeObject(reinterpret_cast<PyObject *>(type))));
  if (!descriptor) PyErr_Clear();
  return descriptor && is_number(reinterpret_cast<PyArray_Descr *>(descriptor.get()));
}

// A scalar of this leaf from a Python number.
Ref from_number(const Leaf &leaf, PyObject *value) {
  if (leaf.rank > 0 || leaf.number < 0) return {};
  auto *descriptor = reinterpret_cast<PyArray_Descr *>(leaf.descriptor.get());
  if (PyFloat_CheckExact(value)) return real_from(leaf, PyFloat_AS_DOUBLE(value));
  if (PyBool_Check(value) && leaf.number == NPY_BOOL) {
    npy_bool truth = value == Py_True;
    return scalar_from(descriptor, &truth);
  }
  if (!PyLong_CheckExact(value)) return {};
  int overflow = 0;
  int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow) return {};
  if (leaf.number == NPY_INT64) return scalar_from(descriptor, &number);
  if (leaf.number == NPY_INT32 && number == static_cast<int32_t>(number)) {
    auto narrow = static_cast<int32_t>(number);
    return scalar_from(descriptor, &narrow);
  }
  if (leaf.number == NPY_FLOAT32) {
    auto narrow = static_cast<float>(number);
    return scalar_from(descriptor, &narrow);
  }
  return real_from(leaf, static_cast<double>(number));
}

// ---- Casts -------------------------------------------------------------------------------------

Ref cast(PyArrayObject *array, int number) {
  Ref result(PyArray_CastToType(array, PyArray_DescrFromType(number), 0));
  return result ? std::move(result) : missed();
}

bool fits_float(PyArrayObject *array) {
  const auto *values = static_cast<const double *>(PyArray_DATA(array));
  const npy_intp size = PyArray_SIZE(array);
  bool fits = true;
  for (npy_intp i = 0; i < size; i++) fits &= is_normal_float(values[i]);
  return fits;
}

template <typename From>
bool within(PyArrayObject *array, int64_t low, uint64_t high) {
  const auto *values = static_cast<const From *>(PyArray_DATA(array));
  const npy_intp size = PyArray_SIZE(array);
  bool fits = true;
  for (npy_intp i = 0; i < size; i++) {
    if constexpr (std::numeric_limits<From>::is_signed) {
      fits &= values[i] >= low && (values[i] < 0 || static_cast<uint64_t>(values[i]) <= high);
    } else {
      fits &= values[i] <= high;
    }
  }
  return fits;
}

// The bounds of an integer type.
bool limits_of(int number, int64_t &low, uint64_t &high) {
  int bits = 0;
  bool is_signed = true;
  switch (number) {
    case NPY_UINT8:
      is_signed = false;
      [[fallthrough]];
    case NPY_INT8:
      bits = 8;
      break;
    case NPY_UINT16:
      is_signed = false;
      [[fallthrough]];
    case NPY_INT16:
      bits = 16;
      break;
    case NPY_UINT32:
      is_signed = false;
      [[fallthrough]];
    case NPY_INT32:
      bits = 32;
      break;
    case NPY_UINT64:
      is_signed = false;
      [[fallthrough]];
    case NPY_INT64:
      bits = 64;
      break;
    default:
      return false;
  }
  high = std::numeric_limits<uint64_t>::max() >> (64 - bits + (is_signed ? 1 : 0));
  low = is_signed ? -static_cast<int64_t>(high) - 1 : 0;
  return true;
}

bool fits_integer(PyArrayObject *array, int64_t low, uint64_t high) {
  switch (PyArray_TYPE(array)) {
    case NPY_INT8:
      return within<int8_t>(array, low, high);
    case NPY_INT16:
      return within<int16_t>(array, low, high);
    case NPY_INT32:
      return within<int32_t>(array, low, high);
    case NPY_INT64:
      return within<int64_t>(array, low, high);
    case NPY_UINT8:
      return within<uint8_t>(array, low, high);
    case NPY_UINT16:
      return within<uint16_t>(array, low, high);
    case NPY_UINT32:
      return within<uint32_t>(array, low, high);
    case NPY_UINT64:
      return within<uint64_t>(array, low, high);
    default:
      return false;
  }
}

bool is_integer(int number) {
  return is_allowed(number) && PyTypeNum_ISINTEGER(number);
}

// True where every value of the array is one of the leaf's type, up to rounding.
bool fits(const Leaf &leaf, PyArrayObject *array) {
  const int number = PyArray_TYPE(array);
  if (number == NPY_FLOAT64 && leaf.number == NPY_FLOAT32) return fits_float(array);
  if (number == NPY_BOOL || is_integer(number)) {
    if (leaf.number == NPY_FLOAT32 || leaf.number == NPY_FLOAT64) return true;
    if (leaf.number == NPY_COMPLEX64 || leaf.number == NPY_COMPLEX128) return true;
    int64_t low = 0;
    uint64_t high = 0;
    if (!limits_of(leaf.number, low, high)) return false;
    return number == NPY_BOOL || fits_integer(array, low, high);
  }
  return is_allowed(number) && PyArray_CanCastSafely(number, leaf.number);
}

// An exact array in native byte order, of a rank and shape that fit.
Ref cast_or_copied(const Leaf &leaf, Ref array) {
  PyArrayObject *object = as_array(array.get());
  if (!PyArray_IS_C_CONTIGUOUS(object) || !PyArray_ISALIGNED(object)) {
    array = Ref(PyArray_NewCopy(object, NPY_CORDER));
    if (!array) return missed();
    object = as_array(array.get());
  }
  if (has_type(leaf, PyArray_TYPE(object))) return finished(read_only(std::move(array)));
  if (leaf.number < 0 || !fits(leaf, object)) return {};
  Ref result = cast(object, leaf.number);
  return result ? finished(std::move(result)) : Ref();
}

Ref from_array(const Leaf &leaf, Ref array) {
  PyArrayObject *object = as_array(array.get());
  if (!PyArray_ISNOTSWAPPED(object) || !has_shape(leaf, object)) return {};
  return cast_or_copied(leaf, std::move(array));
}

}  // namespace

bool is_number(const PyArray_Descr *descriptor) {
  return is_allowed(descriptor->type_num);
}

Ref read_only(Ref value) {
  if (!value || !PyArray_CheckExact(value.get())) return value;
  PyArrayObject *array = as_array(value.get());
  if (!PyArray_ISWRITEABLE(array)) return value;
  Ref view = view_of(array);
  return view ? std::move(view) : missed();
}

namespace {

bool fits_as_it_is(const Leaf &leaf, PyArrayObject *array) {
  return has_type(leaf, PyArray_TYPE(array)) && PyArray_IS_C_CONTIGUOUS(array) &&
         PyArray_ISNOTSWAPPED(array) && has_shape(leaf, array);
}

}  // namespace

bool fits_writeable(const Leaf &leaf, PyObject *array) {
  PyArrayObject *object = as_array(array);
  return PyArray_ISWRITEABLE(object) && PyArray_NDIM(object) > 0 && fits_as_it_is(leaf, object);
}

Ref fitting(const Leaf &leaf, PyObject *value) {
  if (PyArray_CheckExact(value)) {
    PyArrayObject *array = as_array(value);
    if (!fits_as_it_is(leaf, array)) return {};
    return PyArray_NDIM(array) ? read_only(Ref(Py_NewRef(value))) : finished(Ref(Py_NewRef(value)));
  }
  return leaf.rank <= 0 && is_scalar(leaf, value) ? Ref(Py_NewRef(value)) : Ref();
}

Ref converted(const Leaf &leaf, PyObject *value) {
  if (PyArray_CheckExact(value)) return from_array(leaf, Ref(Py_NewRef(value)));
  Ref number = from_number(leaf, value);
  if (number || PyErr_Occurred()) return number ? std::move(number) : missed();
  if (!PyList_CheckExact(value)) return {};
  Ref array(PyArray_FromAny(value, nullptr, 0, 0, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ENSUREARRAY,
                            nullptr));
  if (!array) return missed();
  return from_array(leaf, std::move(array));
}

Ref accept_leaf(const Leaf &leaf, PyObject *value, Context &context) {
  Ref result = fitting(leaf, value);
  if (result || PyErr_Occurred()) return result;
  result = converted(leaf, value);
  if (result || PyErr_Occurred()) return result;
  PyObject *given = context.get();
  if (!given) return missed();
  static PyObject *const name = PyUnicode_InternFromString("checked");
  result = Ref(PyObject_CallMethodObjArgs(leaf.slow.get(), name, value, given, nullptr));
  return result ? std::move(result) : missed();
}

void read_leaf(Leaf &leaf, PyObject *array_check) {
  const Ref shape = own(PyObject_GetAttrString(array_check, "shape"));
  const Ref dtype = own(PyObject_GetAttrString(array_check, "dtype"));
  if (dtype.get() != Py_None) {
    PyArray_Descr *descriptor = nullptr;
    if (!PyArray_DescrConverter(dtype.get(), &descriptor)) throw PythonError{};
    leaf.descriptor = Ref(reinterpret_cast<PyObject *>(descriptor));
    leaf.number = descriptor->type_num;
  }
  if (shape.get() != Py_Ellipsis) {
    const Ref lengths = own(PySequence_Tuple(shape.get()));
    leaf.rank = static_cast<int>(PyTuple_GET_SIZE(lengths.get()));
    for (Py_ssize_t i = 0; i < leaf.rank; i++) {
      PyObject *length = PyTuple_GET_ITEM(lengths.get(), i);
      npy_intp axis = -1;
      if (length != Py_None) {
        axis = PyLong_AsSsize_t(length);
        // A negative length, which no array has, is left to the slow function.
        if (axis == -1 && PyErr_Occurred()) throw PythonError{};
        if (axis < 0) axis = std::numeric_limits<npy_intp>::max();
      }
      leaf.axes.push_back(axis);
    }
  }
  leaf.slow = Ref(Py_NewRef(array_check));
}

}  // namespace tesseract::python::engine
