// What a call returned, as Python objects.
#pragma once

#include <tesseract_host/host.h>

#include "python.h"

namespace tesseract::binding {

// A result of the host's; freed at the end.
class Result {
 public:
  Result() = default;
  ~Result() { tesseract_result_free(result_); }
  Result(const Result &) = delete;
  Result &operator=(const Result &) = delete;

  tesseract_result **out() { return &result_; }
  const tesseract_result *get() const { return result_; }

  // The tensor at an index: an array that owns its memory, not copied, or a scalar at rank 0; on a
  // device an arrays::DeviceArray, ready on `stream`; None where the component left an output out.
  // Once per index.  Throws PythonError.
  Ref value(int64_t index, uint64_t stream);

  // The same of an abstract evaluation: {"shape": tuple, "dtype": name}.
  Ref shape(int64_t index) const;

 private:
  DLManagedTensorVersioned *take(int64_t index);

  tesseract_result *result_ = nullptr;
};

}  // namespace tesseract::binding
