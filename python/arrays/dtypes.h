// Element types of arrays, by their names in array interfaces and as NumPy's dtype objects.
#pragma once

#include <dlpack/dlpack.h>

#include <string_view>

#include "reference.h"

namespace tesseract::arrays {

// "<f4", say; null for types that NumPy does not have by itself, which only DLPack can name.
const char *typestr_of(DLDataType dtype);

// "float32"; null for a type that has no name here.
const char *name_of(DLDataType dtype);

// The type of a typestr in native byte order, or of a name; false for any other text.
bool read_typestr(std::string_view text, DLDataType &dtype);
bool read_name(std::string_view text, DLDataType &dtype);

// NumPy's dtype object, a new reference; for types that NumPy lacks that of ml_dtypes.  Throws
// PythonError: a TypeError where there is none.
Ref numpy_dtype(DLDataType dtype);

}  // namespace tesseract::arrays
