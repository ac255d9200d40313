#include "dtypes.h"

#include "../arrays/dtypes.h"

namespace tesseract::binding {
namespace {

// Types of ml_dtypes are known by name.
bool extended_dtype(PyArray_Descr *descriptor, DLDataType &dtype) {
  const Ref name(PyObject_GetAttrString(reinterpret_cast<PyObject *>(descriptor), "name"));
  Py_ssize_t length = 0;
  const char *text = name ? PyUnicode_AsUTF8AndSize(name.get(), &length) : nullptr;
  if (!text) PyErr_Clear();
  return text && arrays::read_name({text, static_cast<size_t>(length)}, dtype) &&
         !arrays::typestr_of(dtype);
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

}  // namespace tesseract::binding
