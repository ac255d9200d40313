#include "device_inputs.h"

#include <cstdlib>
#include <memory>
#include <vector>

#include "../../../python/arrays/layout.h"
#include "errors.h"
#include "views.h"

namespace tesseract::python {

using arrays::DeviceFailure;

namespace {

template <typename Function>
void request(const std::string &path, Function function) {
  try {
    arrays::call_device(function);
  } catch (const DeviceFailure &failure) {
    throw CallFailure{failure.status, path, failure.message};
  }
}

// Copies between a tensor on a device and compact host memory, after what the module has enqueued.
void exchange(const tesseract_frame *frame, const DLTensor &tensor, void *memory, bool to_host,
              const std::string &path) {
  DLTensor host = tensor;
  host.data = memory;
  host.device = {kDLCPU, 0};
  host.strides = nullptr;
  host.byte_offset = 0;
  const DLDevice device{kDLCUDA, tensor.device.device_id};
  const uint64_t stream = frame->stream;
  request(path, [&](const tesseract_device_table &table, tesseract_error **error) {
    const int32_t status = stream == 1 ? TESSERACT_OK : table.order(device, 1, stream, error);
    if (status != TESSERACT_OK) return status;
    return to_host ? table.copy(&tensor, &host, stream, error)
                   : table.copy(&host, &tensor, stream, error);
  });
}

}  // namespace

DeviceCall::DeviceCall(const Instance &instance, const tesseract_frame *frame) {
  access_.is_input = true;
  access_.read_only = instance.device_read_only;
  if (!instance.stream_ordered) return;
  access_.stream = frame->stream;
  const Ref entered = own(PyObject_CallMethod(instance.component, "enter_stream", "K",
                                              static_cast<unsigned long long>(frame->stream)));
  PyObject *leave = nullptr;
  int publishes = 1;
  if (!PyArg_ParseTuple(entered.get(), "Op", &leave, &publishes)) throw PythonError{};
  access_.publishes = publishes != 0;
  if (leave != Py_None) leave_ = Ref(Py_NewRef(leave));
}

int32_t on_this_thread(const tesseract_frame *frame, const std::function<int32_t()> &function) {
  constexpr uint64_t kPerThread = 2;
  if (frame->stream == kPerThread) {
    throw CallFailure{TESSERACT_ERROR_DEVICE, "",
                      "the call's stream is the per-thread default one of its caller, and this "
                      "component runs on a thread of its own: give a stream with a handle"};
  }
  DLDevice device{kDLCUDA, 0};
  const auto look = [&](const DLTensor *const *tensors, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
      if (tensors[i] && arrays::is_on_device(*tensors[i])) {
        device.device_id = tensors[i]->device.device_id;
        return true;
      }
    }
    return false;
  };
  if (!look(frame->inputs, frame->n_inputs) && !look(frame->seeds, frame->n_seeds) &&
      !look(frame->outputs, frame->n_outputs)) {
    return function();
  }
  struct Errand {
    const std::function<int32_t()> &function;
    int32_t status;
  } errand{function, TESSERACT_OK};
  const auto body = [](void *data) {
    auto *mine = static_cast<Errand *>(data);
    mine->status = mine->function();
  };
  tesseract_error *error = nullptr;
  try {
    // Waits for nothing, so that the GIL need not be given up.
    arrays::check_device_call(
        arrays::device_api().table->run_current(device, body, &errand, &error), error);
  } catch (const DeviceFailure &failure) {
    throw CallFailure{failure.status, "", failure.message};
  }
  return errand.status;
}

void DeviceCall::leave() {
  const Ref function = std::move(leave_);
  if (function) own(PyObject_CallNoArgs(function.get()));
}

void keep_owner_of(PyObject *array, const tesseract_owner &owner) {
  arrays::Lease *lease = arrays::lease_of(arrays::as_device_array(array));
  if (lease->retained) return;
  owner.retain(owner.object);
  lease->owner = owner;
  lease->retained = true;
}

Ref copy_on_device(const tesseract_frame *frame, const DLTensor &tensor,
                   const arrays::Access &access, const std::string &path) {
  const DLDevice device{kDLCUDA, tensor.device.device_id};
  DLManagedTensorVersioned *memory = nullptr;
  request(path, [&](const tesseract_device_table &table, tesseract_error **error) {
    int32_t status = table.allocate(device, &tensor.dtype, tensor.ndim, tensor.shape, frame->stream,
                                    &memory, error);
    if (status != TESSERACT_OK || arrays::size_of(tensor) == 0) return status;
    status = table.copy(&tensor, &memory->dl_tensor, frame->stream, error);
    // Without a stream to follow, the module may read it by any.
    if (status == TESSERACT_OK && !access.stream) {
      status = table.synchronize(device, frame->stream, error);
    }
    if (status != TESSERACT_OK) memory->deleter(memory);
    return status;
  });
  return arrays::make_owner(memory, access);
}

uint64_t checksum_on_device(const tesseract_frame *frame, const DLTensor &tensor,
                            const std::string &path) {
  const auto bytes = static_cast<size_t>(arrays::bytes_in(tensor));
  if (bytes == 0) return 0;
  const std::unique_ptr<char[]> memory(new char[bytes]);
  exchange(frame, tensor, memory.get(), true, path);
  DLTensor host = tensor;
  host.data = memory.get();
  host.strides = nullptr;
  host.byte_offset = 0;
  return checksum(host);
}

void poison_on_device(const tesseract_frame *frame, const DLTensor &tensor,
                      const std::string &path) {
  const auto bytes = static_cast<size_t>(arrays::bytes_in(tensor));
  if (bytes == 0) return;
  std::vector<unsigned char> poison(bytes, static_cast<unsigned char>(kPoison));
  exchange(frame, tensor, poison.data(), false, path);
}

}  // namespace tesseract::python
