// Arrays of other libraries, most of them in CUDA memory: what `__cuda_array_interface__` or DLPack
// says of them.
#pragma once

#include <tesseract_host/types.h>

#include <memory>
#include <string>

#include "reference.h"

namespace tesseract::arrays {

// An object says something of itself that can't be, or nothing that can be used.
struct BadArray {
  std::string message;
};

// One array.  Borrows the object, whose memory it describes as long as both live.
class Producer {
 public:
  Producer() = default;
  Producer(const Producer &) = delete;
  Producer &operator=(const Producer &) = delete;

  // Of what DLPack has: that in CUDA memory, or that on the host, too.
  enum class Where { device, anywhere };

  // False for an object that is no such array: without the interface, and by DLPack elsewhere.
  // Runs code of the object's.  By DLPack, which is asked where the interface has nothing to say of
  // streams, the data are ready on `consumer` afterwards, a stream, or on the legacy default one if
  // it is 0.  Throws BadArray, PythonError for what the object raised, RevokedArrayError among it,
  // or std::bad_alloc.
  bool read(PyObject *object, uint64_t consumer, Where where = Where::device);

  // As the object says, not checked with the driver: of the interface the device is
  // {kDLCUDA, 0}, since that does not tell.
  const DLTensor &tensor() const { return tensor_; }
  bool tells_device() const { return tells_device_; }

  // The stream that it says its data are ready on; 0: none.
  uint64_t stream() const { return stream_; }

  // Whether it was DLPack that was asked.
  bool by_dlpack() const { return static_cast<bool>(capsule_); }

 private:
  void read_interface(PyObject *interface);
  bool read_dlpack(PyObject *object, uint64_t consumer, Where where);
  void take(const DLTensor &tensor);

  DLTensor tensor_{};
  std::unique_ptr<int64_t[]> lengths_;  // shape, then strides
  bool tells_device_ = false;
  uint64_t stream_ = 0;
  Ref capsule_;  // gives its tensor back when it dies, since nobody takes it out
};

}  // namespace tesseract::arrays
