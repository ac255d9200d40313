// What a call returned.
#pragma once

#include <string>
#include <vector>

#include "call.h"
#include "frame.h"
#include "tensor.h"

struct tesseract_result {
  struct Entry {
    host::OwnedTensor tensor;  // null once taken
    bool destination = false;  // the data are the caller's
    std::string added_path;    // of an output that no signature names
  };
  std::shared_ptr<const host::OutputNames> names;
  int32_t endpoint;
  std::vector<Entry> entries;  // the call's positions out, then added ones
  std::string json = "{}";
  bool json_given = false;

  explicit tesseract_result(const tesseract_call &call);
};

namespace host {

// What a component's add_output and output_json do to a result; they return the frame's status.
int32_t add_entry(tesseract_result &result, tesseract_frame *frame, std::string_view path,
                  const DLDataType *dtype, int32_t ndim, const int64_t *shape, DLTensor **tensor);
int32_t set_json(tesseract_result &result, tesseract_frame *frame, std::string_view text);

// True for memory as a result has it: compact, on the device, aligned, shape and strides written
// out.
bool is_result_memory(const DLTensor &tensor, const DLDevice &device);

// After apply: throws Failure (component) if outputs that are no arrays are missing altogether.
void check_complete(const tesseract_result &result, const tesseract_component &component);

// An entry for a destination: its shape and strides, over the caller's data.
OwnedTensor describe_destination(const DLTensor &destination);

}  // namespace host
