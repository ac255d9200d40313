#include "dtype.h"

#include <tesseract_host/types.h>

#include "../../../python/arrays/dtypes.h"
#include "errors.h"

namespace tesseract::python {

std::string dtype_name(DLDataType dtype) {
  if (const char *name = arrays::name_of(dtype)) return name;
  return "dtype(code " + std::to_string(dtype.code) + ", bits " + std::to_string(dtype.bits) +
         ", lanes " + std::to_string(dtype.lanes) + ")";
}

bool dtype_named(std::string_view name, DLDataType &dtype) {
  return arrays::read_name(name, dtype);
}

Ref descriptor(DLDataType dtype, const std::string &path) {
  const char *name = arrays::name_of(dtype);
  if (!name) {
    throw CallFailure{TESSERACT_ERROR_UNSUPPORTED, path,
                      "Python modules can't take arrays of " + dtype_name(dtype)};
  }
  try {
    return arrays::numpy_dtype(dtype);
  } catch (const PythonError &) {
    if (arrays::typestr_of(dtype) || !PyErr_ExceptionMatches(PyExc_TypeError)) throw;
    PyErr_Clear();
    throw CallFailure{TESSERACT_ERROR_UNSUPPORTED, path,
                      std::string(name) +
                          " arrays need the Python package ml_dtypes, which can't be imported: "
                          "install it into the environment"};
  }
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
  return arrays::name_of(dtype) != nullptr;
}

}  // namespace tesseract::python
