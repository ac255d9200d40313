// Results in the memory of a device, and results that are wanted there.
#pragma once

#include <tesseract_host/plugin.h>

#include <memory>
#include <string>
#include <vector>

#include "../../../python/arrays/producer.h"
#include "instance.h"
#include "output.h"
#include "reference.h"

namespace tesseract::python {

// Finds what of the host the functions below need.
void find_device_functions(const tesseract_host_table *host);

// True for an object that is neither an array nor a scalar of NumPy's, and so may be an array of
// another library.
inline bool may_be_on_device(PyObject *value) {
  return !PyArray_CheckExact(value) && value != Py_None && !PyArray_IsScalar(value, Generic) &&
         !PyArray_Check(value);
}

// Of one call.  Copies run on the call's stream; where the module is not ordered by streams, one
// wait at the end makes sure that they are done before what they read is freed.
class Transfers {
 public:
  Transfers(const Instance &instance, tesseract_frame *frame)
      : instance_(instance), frame_(frame) {}
  Transfers(const Transfers &) = delete;
  Transfers &operator=(const Transfers &) = delete;

  // False for an object that is no device array; else it was written to the output, on a device or
  // on the host.  Throws CallFailure, HostFailure or PythonError.
  bool wrote(PyObject *value, const Output &output);

  // True where the frame has taken the memory of a device array, whose only reference this must be.
  // Throws as above.
  bool gave(Ref &value, uint64_t position);

  // Copies a host array to a tensor on a device.  Throws as above.
  void upload(PyArrayObject *array, const DLTensor &tensor, const Output &output);

  // After the last result, while the results live.  Throws as above.
  void finish() {
    if (begun_) end();
  }

  // The same where the call has failed; throws nothing.
  void abandon() {
    if (begun_) give_up();
  }

 private:
  struct Source;

  // What there is once a result was read.
  struct Begun {
    std::vector<uint64_t> streams;  // of results, which the call's stream waits for
    std::vector<Ref> reading;       // what copies that may still run read
    DLDevice device{kDLCUDA, 0};    // of the last copy between devices
  };

  void inspect(Source &source, PyObject *value, const Output &output) const;
  void place(Source &source, const Output &output) const;
  uint64_t make_ready(const Source &source, const Output &output);
  void copy(const DLTensor &from, const DLTensor &to, uint64_t stream, const Output &output);
  void copy_pinned(const Source &source, const DLTensor &to, const Output &output);
  void end();
  void give_up();
  void refuse_copy(const Output &output) const;

  const Instance &instance_;
  tesseract_frame *frame_;
  std::unique_ptr<Begun> begun_;
};

}  // namespace tesseract::python
