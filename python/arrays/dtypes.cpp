#include "dtypes.h"

#include <iterator>

namespace tesseract::arrays {
namespace {

struct Row {
  uint8_t code;
  uint8_t bits;
  const char *name;
  const char *typestr;
};

constexpr Row kTypes[] = {
    {kDLFloat, 64, "float64", "<f8"},
    {kDLFloat, 32, "float32", "<f4"},
    {kDLFloat, 16, "float16", "<f2"},
    {kDLInt, 64, "int64", "<i8"},
    {kDLInt, 32, "int32", "<i4"},
    {kDLInt, 16, "int16", "<i2"},
    {kDLInt, 8, "int8", "|i1"},
    {kDLUInt, 64, "uint64", "<u8"},
    {kDLUInt, 32, "uint32", "<u4"},
    {kDLUInt, 16, "uint16", "<u2"},
    {kDLUInt, 8, "uint8", "|u1"},
    {kDLBool, 8, "bool", "|b1"},
    {kDLComplex, 64, "complex64", "<c8"},
    {kDLComplex, 128, "complex128", "<c16"},
    {kDLBfloat, 16, "bfloat16", nullptr},
    {kDLFloat8_e4m3fn, 8, "float8_e4m3fn", nullptr},
    {kDLFloat8_e5m2, 8, "float8_e5m2", nullptr},
};

// Dtype objects live as long as the process.
PyObject *known[std::size(kTypes)] = {};

const Row *find(DLDataType dtype) {
  for (const Row &row : kTypes) {
    if (row.code == dtype.code && row.bits == dtype.bits && dtype.lanes == 1) return &row;
  }
  return nullptr;
}

Ref from_ml_dtypes(const Row &row) {
  const Ref module(PyImport_ImportModule("ml_dtypes"));
  if (!module) {
    PyErr_Format(PyExc_TypeError,
                 "the dtype of an array is %s, for which NumPy needs the Python package "
                 "ml_dtypes, which can't be imported: install it, or take an array on a device by "
                 "DLPack",
                 row.name);
    throw PythonError{};
  }
  return own(PyObject_GetAttrString(module.get(), row.name));
}

}  // namespace

const char *typestr_of(DLDataType dtype) {
  const Row *row = find(dtype);
  return row ? row->typestr : nullptr;
}

const char *name_of(DLDataType dtype) {
  const Row *row = find(dtype);
  return row ? row->name : nullptr;
}

bool read_typestr(std::string_view text, DLDataType &dtype) {
  if (text.size() < 2) return false;
  const bool is_native = text[0] == '<' || text[0] == '=' || text[0] == '|';
  for (const Row &row : kTypes) {
    if (!is_native || !row.typestr || text.substr(1) != std::string_view(row.typestr).substr(1)) {
      continue;
    }
    dtype = {row.code, row.bits, 1};
    return true;
  }
  return false;
}

bool read_name(std::string_view text, DLDataType &dtype) {
  for (const Row &row : kTypes) {
    if (text != row.name) continue;
    dtype = {row.code, row.bits, 1};
    return true;
  }
  return false;
}

Ref numpy_dtype(DLDataType dtype) {
  const Row *row = find(dtype);
  if (!row) {
    PyErr_Format(PyExc_TypeError, "no NumPy dtype for elements of DLPack's code %d, %d bits, %d",
                 dtype.code, dtype.bits, dtype.lanes);
    throw PythonError{};
  }
  PyObject *&cached = known[row - kTypes];
  if (!cached) {
    const Ref numpy = own(PyImport_ImportModule("numpy"));
    const Ref type = row->typestr ? own(PyUnicode_FromString(row->name)) : from_ml_dtypes(*row);
    cached = own(PyObject_CallMethod(numpy.get(), "dtype", "O", type.get())).release();
  }
  return Ref(Py_NewRef(cached));
}

}  // namespace tesseract::arrays
