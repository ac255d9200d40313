// What becomes of inputs that outlive their call.
#pragma once

#include <tesseract_host/plugin.h>

#include <string>
#include <vector>

#include "../../../python/arrays/device_array.h"
#include "escape.h"
#include "instance.h"
#include "views.h"

namespace tesseract::python {

// One array given to the module.
struct Argument {
  View view;
  const DLTensor *tensor;
  const tesseract_owner *owner;  // null: the memory is only the call's
  const std::string *path;
  bool copied;             // its memory is its own
  bool on_device = false;  // a device array, without an exporter
  uint64_t checksum = 0;   // of the tensor before the call, where inputs are compared

  bool borrows() const { return !copied && !owner && !on_device; }
};

// After a call: TESSERACT_OK, or the status of an error that it recorded where the module has
// written into its caller's memory.
int32_t compare(tesseract_frame *frame, const std::vector<Argument> &arguments);

// After a call, with its results dropped.
//
// The first successful call of each endpoint gets copies of memory that only the call owns.  A
// module that keeps one is known from then on and always gets copies (`copies`).  One that begins
// to keep inputs later has the array moved to a copy; where that fails, something would read freed
// memory at the next call, so there is none.
//
// Device arrays are revoked; one that is kept all the same, or that DLPack imports of are alive of,
// is an error, or a warning where the component was opened so.
//
// Returns TESSERACT_OK, or the status of an error that it recorded.
int32_t settle(Instance &instance, tesseract_frame *frame, std::vector<Argument> &arguments,
               bool copies);

}  // namespace tesseract::python
