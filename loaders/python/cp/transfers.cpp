#include "transfers.h"

#include <tesseract_host/ext/device.h>
#include <tesseract_host/ext/nested.h>

#include <algorithm>

#include "../../../python/arrays/device_array.h"
#include "../../../python/arrays/layout.h"
#include "dtype.h"
#include "errors.h"
#include "given.h"
#include "views.h"

namespace tesseract::python {

using arrays::DeviceFailure;
using arrays::Extent;

// What a module returned, as it says and as the driver knows it.
struct Transfers::Source {
  arrays::Producer producer;
  DLTensor tensor{};      // where its memory is
  bool is_known = false;  // an array that was made here
};

namespace {

// Runs a function of the device table; its failure is the call's.
template <typename Function>
void request(const tesseract_frame *frame, const Output &output, Function function) {
  try {
    arrays::call_device(function);
  } catch (const DeviceFailure &failure) {
    throw CallFailure{failure.status, path_of(frame, output), failure.message};
  }
}

[[noreturn]] void refuse(const tesseract_frame *frame, const Output &output,
                         const std::string &problem) {
  throw CallFailure{TESSERACT_ERROR_COMPONENT, path_of(frame, output),
                    "the component returned a device array that can't be used: " + problem};
}

bool same_device(DLDevice one, DLDevice other) {
  return one.device_id == other.device_id;
}

// The device that the call's stream is of; false where all is on the host.
bool device_of_call(const tesseract_frame *frame, DLDevice &device) {
  const auto look = [&](const DLTensor *const *tensors, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
      if (!tensors[i] || is_on_host(*tensors[i])) continue;
      device = {kDLCUDA, tensors[i]->device.device_id};
      return true;
    }
    return false;
  };
  return frame->stream &&
         (look(frame->inputs, frame->n_inputs) || look(frame->seeds, frame->n_seeds) ||
          look(frame->outputs, frame->n_outputs));
}

}  // namespace

void find_device_functions(const tesseract_host_table *host) {
  arrays::DeviceApi api;
  api.table = static_cast<const tesseract_device_table *>(
      host->extension(TESSERACT_DEVICE_ID, sizeof TESSERACT_DEVICE_ID - 1));
  const auto *nested = static_cast<const tesseract_nested_table *>(
      host->extension(TESSERACT_NESTED_ID, sizeof TESSERACT_NESTED_ID - 1));
  if (nested) {
    api.error_message = nested->error_message;
    api.error_free = nested->error_free;
  }
  arrays::set_device_api(api);
}

// Asks the driver where the memory is that a result claims to have.
void Transfers::place(Source &source, const Output &output) const {
  const Extent extent(source.tensor);
  DLDevice first{}, last{};
  request(frame_, output, [&](const tesseract_device_table &table, tesseract_error **error) {
    const auto *end = reinterpret_cast<const void *>(extent.end - 1);
    const auto *begin = reinterpret_cast<const void *>(extent.begin);
    const int32_t status = table.locate(begin, &first, error);
    return status != TESSERACT_OK ? status : table.locate(end, &last, error);
  });
  const bool is_whole = first.device_type == last.device_type && first.device_id == last.device_id;
  if (!is_whole || first.device_type == kDLCPU) {
    refuse(frame_, output,
           "the driver knows no memory of this size at its address, which was freed or never was "
           "device memory");
  }
  if (source.producer.tells_device() && first.device_type != kDLCUDAHost &&
      !same_device(first, source.tensor.device)) {
    refuse(frame_, output,
           "its memory is on device " + std::to_string(first.device_id) +
               ", and it says that it is on device " +
               std::to_string(source.tensor.device.device_id));
  }
  source.tensor.device = first;
}

// Reads what the value says of itself; leaves the tensor without a shape where it is no device
// array.
void Transfers::inspect(Source &source, PyObject *value, const Output &output) const {
  try {
    if (!source.producer.read(value, frame_->stream)) return;
  } catch (const arrays::BadArray &bad) {
    refuse(frame_, output, bad.message);
  }
  source.is_known = arrays::is_device_array(value);
  source.tensor = source.producer.tensor();
  if (arrays::size_of(source.tensor) > 0 && !source.is_known) place(source, output);
}

void Transfers::refuse_copy(const Output &output) const {
  if (!(frame_->flags & TESSERACT_FRAME_NO_COPY)) return;
  throw CallFailure{TESSERACT_ERROR_DEVICE, path_of(frame_, output),
                    "the component's result would have to be copied between host and device, "
                    "which this call forbids"};
}

// The stream that a copy of the result is to run on, which is ready for it.
uint64_t Transfers::make_ready(const Source &source, const Output &output) {
  const uint64_t ours = frame_->stream;
  // What publishes no stream may be of the default one, where modules don't follow the call's; what
  // was made here is ready.
  const bool follows = ours && (instance_.stream_ordered || source.is_known);
  const uint64_t theirs = source.producer.stream() ? source.producer.stream() : follows ? ours : 1;
  DLDevice device{};
  const bool ours_fits =
      device_of_call(frame_, device) && same_device(device, source.tensor.device);
  if (!ours_fits) return theirs;
  std::vector<uint64_t> &streams = begun_->streams;
  if (theirs == ours || std::find(streams.begin(), streams.end(), theirs) != streams.end()) {
    return ours;
  }
  request(frame_, output, [&](const tesseract_device_table &table, tesseract_error **error) {
    return table.order(device, theirs, ours, error);
  });
  streams.push_back(theirs);
  return ours;
}

void Transfers::copy(const DLTensor &from, const DLTensor &to, uint64_t stream,
                     const Output &output) {
  request(frame_, output, [&](const tesseract_device_table &table, tesseract_error **error) {
    return table.copy(&from, &to, stream, error);
  });
  frame_->host->copied(frame_, TESSERACT_COPY_DEVICE, bytes_of(to));
}

// Page-locked host memory, which devices can reach, too.
void Transfers::copy_pinned(const Source &source, const DLTensor &to, const Output &output) {
  DLDevice device{kDLCUDA, 0};
  device_of_call(frame_, device);
  const uint64_t theirs = source.producer.stream() ? source.producer.stream() : 1;
  request(frame_, output, [&](const tesseract_device_table &table, tesseract_error **error) {
    return table.synchronize(device, theirs, error);
  });
  if (!is_on_host(to)) {
    refuse_copy(output);
    return copy(source.tensor, to, frame_->stream, output);
  }
  const std::string path = path_of(frame_, output);
  const View from = borrow(source.tensor, path);
  const Ref target = destination(to, path);
  check(PyArray_CopyInto(reinterpret_cast<PyArrayObject *>(target.get()),
                         reinterpret_cast<PyArrayObject *>(from.array.get())));
}

bool Transfers::wrote(PyObject *value, const Output &output) {
  if (!begun_) begun_ = std::make_unique<Begun>();
  Source source;
  inspect(source, value, output);
  const DLTensor &from = source.tensor;
  if (!from.dtype.bits) return false;
  const DLTensor &to = *allocate(frame_, output, from.dtype, from.ndim, from.shape);
  if (arrays::size_of(from) == 0) return true;
  if (from.device.device_type == kDLCUDAHost) {
    copy_pinned(source, to, output);
    return true;
  }
  const bool to_host = is_on_host(to);
  if (to_host) refuse_copy(output);
  if (!to_host && !same_device(from.device, to.device)) {
    refuse(frame_, output,
           "it is on device " + std::to_string(from.device.device_id) +
               ", and the caller wants it on device " + std::to_string(to.device.device_id));
  }
  const uint64_t stream = make_ready(source, output);
  if (!to_host) {
    begun_->reading.emplace_back(Py_NewRef(value));
    begun_->device = {kDLCUDA, to.device.device_id};
  }
  copy(from, to, stream, output);
  return true;
}

void Transfers::upload(PyArrayObject *array, const DLTensor &tensor, const Output &output) {
  refuse_copy(output);
  const Ref compact = own(PyArray_FromArray(
      array, nullptr, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_NOTSWAPPED));
  auto *source = reinterpret_cast<PyArrayObject *>(compact.get());
  DLTensor from = tensor;
  from.data = PyArray_DATA(source);
  from.device = {kDLCPU, 0};
  from.strides = nullptr;
  from.byte_offset = 0;
  copy(from, tensor, frame_->stream, output);
}

bool Transfers::gave(Ref &value, uint64_t position) {
  const Output output{position, nullptr};
  if (!is_given_alone(value.get())) return false;
  if (!begun_) begun_ = std::make_unique<Begun>();
  Source source;
  inspect(source, value.get(), output);
  const DLTensor &from = source.tensor;
  const DLTensor *wanted = frame_->outputs[position];
  if (!from.dtype.bits || !wanted || is_on_host(*wanted) ||
      !same_device(from.device, wanted->device) || from.device.device_type == kDLCUDAHost ||
      arrays::size_of(from) == 0 || !is_compact(from)) {
    return false;
  }
  if (!give_memory(value.get(), from, frame_, position)) return false;
  make_ready(source, output);
  return true;
}

// Where the module follows the call's stream, what it frees is used again in that order, or in that
// of the streams that it said.
void Transfers::end() {
  if (begun_->reading.empty()) return;
  const DLDevice device = begun_->device;
  if (!frame_->stream || !instance_.stream_ordered) {
    const uint64_t stream = frame_->stream ? frame_->stream : 1;
    request(frame_, Output{frame_->n_outputs, nullptr},
            [&](const tesseract_device_table &table, tesseract_error **error) {
              return table.synchronize(device, stream, error);
            });
  } else {
    for (const uint64_t theirs : begun_->streams) {
      request(frame_, Output{frame_->n_outputs, nullptr},
              [&](const tesseract_device_table &table, tesseract_error **error) {
                return table.order(device, frame_->stream, theirs, error);
              });
    }
  }
  begun_->reading.clear();
}

void Transfers::give_up() {
  if (begun_->reading.empty()) return;
  try {
    arrays::call_device([&](const tesseract_device_table &table, tesseract_error **error) {
      return table.synchronize(begun_->device, frame_->stream ? frame_->stream : 1, error);
    });
  } catch (const DeviceFailure &) {
  }
  begun_->reading.clear();
}

}  // namespace tesseract::python
