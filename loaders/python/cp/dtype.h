// Element types: DLPack's, NumPy's, and their names.
#pragma once

#include <dlpack/dlpack.h>

#include <string>
#include <string_view>

#include "reference.h"

namespace tesseract::python {

// "float64", "bool", "bfloat16", …; for messages a text like "dtype(code 7, bits 4)" where the type
// has no name here.
std::string dtype_name(DLDataType dtype);

// The type of this name; false where there is none.
bool dtype_named(std::string_view name, DLDataType &dtype);

// NumPy's descriptor, native byte order, a new reference.  The types that NumPy lacks come from
// ml_dtypes.  Throws CallFailure (unsupported, naming the leaf) or PythonError.
Ref descriptor(DLDataType dtype, const std::string &path);

// The type of a NumPy descriptor, byte order ignored; false where DLPack or this table has none.
bool dtype_of(PyArray_Descr *descriptor, DLDataType &dtype);

}  // namespace tesseract::python
