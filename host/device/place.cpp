#include "place.h"

#include "../error.h"
#include "../text.h"

namespace host {

DLDevice device_of(const DLTensor &tensor, std::string_view path) {
  switch (tensor.device.device_type) {
    case kDLCPU:
    case kDLCUDAHost:
    case kDLROCMHost:
      return kHost;
    case kDLCUDA:
    case kDLCUDAManaged:
      return {kDLCUDA, tensor.device.device_id};
    default:
      throw Failure(TESSERACT_ERROR_DEVICE,
                    quote(path) + " is on a device of the type " +
                        std::to_string(tensor.device.device_type) +
                        " (of DLPack): only the host and CUDA devices are known",
                    path);
  }
}

std::string device_text(const DLDevice &device) {
  return is_host(device) ? "the host" : "CUDA device " + std::to_string(device.device_id);
}

}  // namespace host
