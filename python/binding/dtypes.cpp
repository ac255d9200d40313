#include "dtypes.h"

#include <cstring>

namespace tesseract::binding {
namespace {

struct Row {
  uint8_t code;
  uint8_t bits;
  const char *name;  // of ml_dtypes; null: NumPy has the type
  int number;        // NumPy's
};

constexpr Row kTypes[] = {
    {kDLFloat, 64, nullptr, NPY_FLOAT64},     {kDLFloat, 32, nullptr, NPY_FLOAT32},
    {kDLInt, 64, nullptr, NPY_INT64},         {kDLInt, 32, nullptr, NPY_INT32},
    {kDLBool, 8, nullptr, NPY_BOOL},          {kDLFloat, 16, nullptr, NPY_FLOAT16},
    {kDLInt, 16, nullptr, NPY_INT16},         {kDLInt, 8, nullptr, NPY_INT8},
    {kDLUInt, 64, nullptr, NPY_UINT64},       {kDLUInt, 32, nullptr, NPY_UINT32},
    {kDLUInt, 16, nullptr, NPY_UINT16},       {kDLUInt, 8, nullptr, NPY_UINT8},
    {kDLComplex, 64, nullptr, NPY_COMPLEX64}, {kDLComplex, 128, nullptr, NPY_COMPLEX128},
    {kDLBfloat, 16, "bfloat16", -1},          {kDLFloat8_e4m3fn, 8, "float8_e4m3fn", -1},
    {kDLFloat8_e5m2, 8, "float8_e5m2", -1},
};

// Types of ml_dtypes are known by name.
bool extended_dtype(PyArray_Descr *descriptor, DLDataType &dtype) {
  const Ref name(PyObject_GetAttrString(reinterpret_cast<PyObject *>(descriptor), "name"));
  const char *text = name ? PyUnicode_AsUTF8(name.get()) : nullptr;
  if (!text) PyErr_Clear();
  for (const Row &row : kTypes) {
    if (!text || !row.name || std::strcmp(text, row.name) != 0) continue;
    dtype = {row.code, row.bits, 1};
    return true;
  }
  return false;
}

}  // namespace

bool dtype_of(PyArray_Descr *descriptor, DLDataType &dtype) {
  if (!PyArray_ISNBO(descriptor->byteorder)) return false;
  if (descriptor->type_num >= NPY_USERDEF) return extended_dtype(descriptor, dtype);
  const auto size = static_cast<uint64_t>(PyDataType_ELSIZE(descriptor));
  uint8_t code = 0;
  switch (descriptor->kind) {
    case 'f':
      code = kDLFloat;
      break;
    case 'i':
      code = kDLInt;
      break;
    case 'u':
      code = kDLUInt;
      break;
    case 'b':
      code = kDLBool;
      break;
    case 'c':
      code = kDLComplex;
      break;
    default:
      return extended_dtype(descriptor, dtype);
  }
  if (size > 16 || (code == kDLFloat && size > 8)) return false;  // long double
  dtype = {code, static_cast<uint8_t>(size * 8), 1};
  return true;
}

Ref descriptor(DLDataType dtype) {
  for (const Row &row : kTypes) {
    if (row.code != dtype.code || row.bits != dtype.bits || dtype.lanes != 1) continue;
    if (!row.name) return own(reinterpret_cast<PyObject *>(PyArray_DescrFromType(row.number)));
    const Ref module = own(PyImport_ImportModule("ml_dtypes"));
    const Ref type = own(PyObject_GetAttrString(module.get(), row.name));
    PyArray_Descr *found = nullptr;
    if (!PyArray_DescrConverter(type.get(), &found)) throw PythonError{};
    return Ref(reinterpret_cast<PyObject *>(found));
  }
  PyErr_Format(PyExc_TypeError, "NumPy has no arrays of the DLPack type (code %d, bits %d)",
               dtype.code, dtype.bits);
  throw PythonError{};
}

}  // namespace tesseract::binding
