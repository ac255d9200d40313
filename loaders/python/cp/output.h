// The outputs of a frame, as its host sees them.
#pragma once

#include <tesseract_host/plugin.h>

#include <string>

namespace tesseract::python {

// An output: one of the frame's, by position, or one that is added, by path.
struct Output {
  uint64_t position;
  const std::string *added;
};

// The leaf of an output, for messages.
std::string path_of(const tesseract_frame *frame, const Output &output);

// The tensor that takes an output of this dtype and shape.  Throws HostFailure.
DLTensor *allocate(tesseract_frame *frame, const Output &output, DLDataType dtype, int ndim,
                   const int64_t *shape);

}  // namespace tesseract::python
