// Inputs in the memory of a device: shown as they lie, or in private copies where they are
// compared.
#pragma once

#include <tesseract_host/plugin.h>

#include <functional>
#include <string>

#include "../../../python/arrays/device_array.h"
#include "instance.h"
#include "reference.h"

namespace tesseract::python {

// How arrays on devices are taken in this call.  Where the module follows the call's stream, that
// is the current one of the libraries it uses as long as the object lives.
class DeviceCall {
 public:
  // Throws PythonError.
  DeviceCall(const Instance &instance, const tesseract_frame *frame);
  DeviceCall(const DeviceCall &) = delete;
  DeviceCall &operator=(const DeviceCall &) = delete;

  const arrays::Access &access() const { return access_; }

  // Gives the libraries their streams back; before the object dies.  Throws PythonError.
  void leave();

 private:
  arrays::Access access_;
  Ref leave_;
};

// Runs a function of a call with tensors on a device on a thread that isn't the caller's: the
// device's primary context is current there.  Throws CallFailure, also for the caller's per-thread
// default stream, which is another one here.
int32_t on_this_thread(const tesseract_frame *frame, const std::function<int32_t()> &function);

// True for an array that something besides this reference holds, or imported by DLPack.
inline bool is_held_on_device(PyObject *array) {
  return Py_REFCNT(array) > 1 || arrays::open_exports(array) > 0;
}

// Keeps the tensor's owner as long as the array, or what imported it, lives.  Throws
// std::bad_alloc.
void keep_owner_of(PyObject *array, const tesseract_owner &owner);

// A copy in device memory of its own.  Throws CallFailure (naming the leaf) or PythonError.
Ref copy_on_device(const tesseract_frame *frame, const DLTensor &tensor,
                   const arrays::Access &access, const std::string &path);

// As `checksum`, of memory of a device, after all that was enqueued.  Throws CallFailure.
uint64_t checksum_on_device(const tesseract_frame *frame, const DLTensor &tensor,
                            const std::string &path);

// Fills a private copy, which is compact, with kPoison.  Throws CallFailure.
void poison_on_device(const tesseract_frame *frame, const DLTensor &tensor,
                      const std::string &path);

}  // namespace tesseract::python
