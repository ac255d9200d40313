#include "output.h"

#include "errors.h"

namespace tesseract::python {
namespace {

std::string path_of(const tesseract_frame *frame, uint64_t position) {
  const tesseract_signature *signature = frame->signature;
  if (!signature) return "";
  const bool by_input = frame->endpoint == TESSERACT_ENDPOINT_VJP;
  const tesseract_leaves *leaves = by_input ? signature->wrt : signature->of;
  if (frame->endpoint == TESSERACT_ENDPOINT_JACOBIAN && signature->wrt &&
      signature->wrt->count > 0) {
    position /= static_cast<uint64_t>(signature->wrt->count);
  }
  if (!leaves || leaves->count < 0 || position >= static_cast<uint64_t>(leaves->count)) return "";
  const tesseract_string &path = leaves->items[position].path;
  if (path.length == TESSERACT_NTS) return path.data;
  return {path.data, path.length};
}

}  // namespace

std::string path_of(const tesseract_frame *frame, const Output &output) {
  return output.added ? *output.added : path_of(frame, output.position);
}

DLTensor *allocate(tesseract_frame *frame, const Output &output, DLDataType dtype, int ndim,
                   const int64_t *shape) {
  DLTensor *tensor = nullptr;
  const tesseract_host_table *host = frame->host;
  const int32_t status =
      output.added ? host->add_output(frame, output.added->data(), output.added->size(), &dtype,
                                      ndim, shape, &tensor)
                   : host->allocate_output(frame, output.position, &dtype, ndim, shape, &tensor);
  if (status != TESSERACT_OK) throw HostFailure{status};
  return tensor;
}

}  // namespace tesseract::python
