// Element types of NumPy's arrays, beside what ../arrays/dtypes.h has of names.
#pragma once

#include <dlpack/dlpack.h>

#include "python.h"

namespace tesseract::binding {

// The type of an array's elements; false where DLPack has none, or the bytes are swapped.
bool dtype_of(PyArray_Descr *descriptor, DLDataType &dtype);

inline bool same(DLDataType one, DLDataType other) {
  return one.code == other.code && one.bits == other.bits && one.lanes == other.lanes;
}

}  // namespace tesseract::binding
