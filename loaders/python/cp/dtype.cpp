#include "dtype.h"

#include <tesseract_host/types.h>

#include "errors.h"

namespace tesseract::python {
namespace {

struct Row {
  uint8_t code;
  uint8_t bits;
  const char *name;
  int number;  // NumPy's type number; -1: ml_dtypes has the type under this name
};

constexpr Row kTypes[] = {
    {kDLFloat, 64, "float64", NPY_FLOAT64},
    {kDLFloat, 32, "float32", NPY_FLOAT32},
    {kDLFloat, 16, "float16", NPY_FLOAT16},
    {kDLInt, 64, "int64", NPY_INT64},
    {kDLInt, 32, "int32", NPY_INT32},
    {kDLInt, 16, "int16", NPY_INT16},
    {kDLInt, 8, "int8", NPY_INT8},
    {kDLUInt, 64, "uint64", NPY_UINT64},
    {kDLUInt, 32, "uint32", NPY_UINT32},
    {kDLUInt, 16, "uint16", NPY_UINT16},
    {kDLUInt, 8, "uint8", NPY_UINT8},
    {kDLBool, 8, "bool", NPY_BOOL},
    {kDLComplex, 64, "complex64", NPY_COMPLEX64},
    {kDLComplex, 128, "complex128", NPY_COMPLEX128},
    {kDLBfloat, 16, "bfloat16", -1},
    {kDLFloat8_e4m3fn, 8, "float8_e4m3fn", -1},
    {kDLFloat8_e5m2, 8, "float8_e5m2", -1},
};

const Row *find(DLDataType dtype) {
  for (const Row &row : kTypes) {
    if (row.code == dtype.code && row.bits == dtype.bits && dtype.lanes == 1) return &row;
  }
  return nullptr;
}

Ref ml_dtype(const Row &row, const std::string &path) {
  const Ref module(PyImport_ImportModule("ml_dtypes"));
  if (!module) {
    PyErr_Clear();
    throw CallFailure{TESSERACT_ERROR_UNSUPPORTED, path,
                      std::string(row.name) +
                          " arrays need the Python package ml_dtypes, which can't be imported: "
                          "install it into the environment"};
  }
  const Ref type = own(PyObject_GetAttrString(module.get(), row.name));
  PyArray_Descr *result = nullptr;
  if (!PyArray_DescrConverter(type.get(), &result)) throw PythonError{};
  return Ref(reinterpret_cast<PyObject *>(result));
}

}  // namespace

std::string dtype_name(DLDataType dtype) {
  if (const Row *row = find(dtype)) return row->name;
  return "dtype(code " + std::to_string(dtype.code) + ", bits " + std::to_string(dtype.bits) +
         ", lanes " + std::to_string(dtype.lanes) + ")";
}

bool dtype_named(std::string_view name, DLDataType &dtype) {
  for (const Row &row : kTypes) {
    if (name != row.name) continue;
    dtype = {row.code, row.bits, 1};
    return true;
  }
  return false;
}

Ref descriptor(DLDataType dtype, const std::string &path) {
  const Row *row = find(dtype);
  if (!row) {
    throw CallFailure{TESSERACT_ERROR_UNSUPPORTED, path,
                      "Python modules can't take arrays of " + dtype_name(dtype)};
  }
  if (row->number < 0) return ml_dtype(*row, path);
  return own(reinterpret_cast<PyObject *>(PyArray_DescrFromType(row->number)));
}

bool dtype_of(PyArray_Descr *descriptor, DLDataType &dtype) {
  const auto bits = static_cast<uint64_t>(PyDataType_ELSIZE(descriptor)) * 8;
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
      code = kDLOpaqueHandle;
      break;
  }
  if (descriptor->type_num >= NPY_USERDEF || code == kDLOpaqueHandle) {
    const Ref name(PyObject_GetAttrString(reinterpret_cast<PyObject *>(descriptor), "name"));
    if (!name) PyErr_Clear();
    return name && dtype_named(text_of(name.get()), dtype);
  }
  if (bits > 255) return false;
  dtype = {code, static_cast<uint8_t>(bits), 1};
  return find(dtype) != nullptr;
}

}  // namespace tesseract::python
