// A run whose tensors on a device go through the host: one copy per tensor and direction, all
// inputs waited for once, results copied back in the order of the stream.

#include <algorithm>
#include <vector>

#include "component.h"
#include "device/context.h"
#include "device/memory.h"
#include "device/pinned.h"
#include "device/scope.h"
#include "dtype.h"
#include "result.h"
#include "run.h"
#include "text.h"

namespace host {
namespace {

class StagedRun {
 public:
  StagedRun(const tesseract_call &call, const RunRequest &request)
      : call_(call),
        request_(request),
        stream_(request.stream),
        context_(call.device.device_id),
        blocks_(call.device.device_id, request.stream),
        mirrors_(call.n_in + call.n_out),
        in_(call.n_in),
        out_(call.n_out) {}

  int32_t run(const ThreadSlot &slot, tesseract_error **error) {
    cuda::refuse_capture(stream_, "arrays of the call go through the host, which waits for them");
    note_ranges();
    if (request_.owners) owners_.assign(request_.owners, request_.owners + call_.n_in);
    for (uint32_t i = 0; i < call_.n_in; i++) {
      in_[i] = take_input(i);
      // A mirror is nobody's but the run's, so it can't be kept.
      if (request_.owners && in_[i] != request_.in[i]) owners_[i] = nullptr;
    }
    for (uint32_t i = 0; i < call_.n_out; i++) out_[i] = take_output(i);
    if (copied_) cuda::check(cuda::driver().stream_synchronize(stream_), "waiting for the inputs");
    RunRequest inner = request_;
    inner.in = in_.data();
    inner.owners = request_.owners ? owners_.data() : nullptr;
    inner.out = request_.out ? out_.data() : nullptr;
    inner.stream = 0;
    inner.context_current = false;
    tesseract_result *result = nullptr;
    if (request_.result) inner.result = &result;
    const int32_t status = run_in_place(call_, *call_.staging, inner, slot, error);
    std::unique_ptr<tesseract_result> made(result);
    if (status != TESSERACT_OK) {
      blocks_.reuse();
      return status;
    }
    for (uint32_t i = 0; i < call_.n_out; i++) give_output(i, made.get());
    blocks_.finish();
    if (request_.result) *request_.result = made.release();
    return TESSERACT_OK;
  }

 private:
  // A tensor of the caller's on a device, as the component sees it.
  struct Mirror {
    DLTensor tensor{};
    std::vector<int64_t> strides;
    bool used = false;
    Range range;  // of the caller's tensor, wherever it is
  };

  // Where the caller's tensors are.  Those on the host may yet prove unsound, in the run between
  // the copies, which says so: they are nowhere.
  void note_ranges() {
    for (uint32_t i = 0; i < call_.n_in; i++) mirrors_[i].range = range_of(request_.in[i]);
    for (uint32_t i = 0; request_.out && i < call_.n_out; i++)
      mirrors_[call_.n_in + i].range = range_of(request_.out[i]);
  }

  static Range range_of(const DLTensor *tensor) {
    Range range;
    const bool readable = tensor && has_readable_shape(*tensor);
    if (!readable || !address_range(*tensor, dtype_size(tensor->dtype), &range)) return {};
    return range;
  }

  static bool has_readable_shape(const DLTensor &tensor) {
    return tensor.ndim >= 0 && tensor.ndim <= 64 && (tensor.ndim == 0 || tensor.shape);
  }

  [[noreturn]] static void fail(int32_t status, const Position &position, const std::string &why) {
    throw Failure(status, quote(position.path) + ": " + why, position.path);
  }

  // True if the tensor must be copied; on the host it is the component's as it is.
  bool is_on_device(const Position &position, const DLTensor &tensor) const {
    const DLDevice found = device_of(tensor, position.path);
    // A Jacobian's place can't be said by a signature.
    const bool anywhere = !position.placed && (is_host(found) || same_device(found, call_.device));
    if (!anywhere && !same_device(found, position.given_device))
      fail(TESSERACT_ERROR_DEVICE, position,
           "it is on " + device_text(found) + ", and the call was prepared for " +
               device_text(position.given_device));
    if (is_host(found)) return false;
    if (request_.no_copy)
      fail(TESSERACT_ERROR_DEVICE, position,
           "it is on " + device_text(found) + ", and " +
               why_staged(*call_.component, call_.endpoint) + ": copies are forbidden");
    return true;
  }

  // The addresses of the elements must be the device's own.
  static void check_memory(const Position &position, const DLTensor &tensor) {
    const uint32_t item = dtype_size(tensor.dtype);
    uint64_t count = 0, bytes = 0;
    Range range;
    if (!has_readable_shape(tensor))
      fail(TESSERACT_ERROR_INVALID_ARGUMENT, position, "its shape is null, or its rank impossible");
    if (item == 0)
      fail(TESSERACT_ERROR_SCHEMA, position,
           "it has the unknown dtype " + dtype_name(tensor.dtype));
    if (!count_bytes(tensor.ndim, tensor.shape, item, &count, &bytes) ||
        !address_range(tensor, item, &range))
      fail(TESSERACT_ERROR_SCHEMA, position,
           "its shape " + shape_text(tensor.ndim, tensor.shape) + ", strides or address overflow");
    if (count == 0) return;
    if (!tensor.data) fail(TESSERACT_ERROR_INVALID_ARGUMENT, position, "its data are null");
    if (!cuda::is_on(first_element(tensor), tensor.device.device_id))
      fail(TESSERACT_ERROR_DEVICE, position,
           "its address is said to be on " + device_text(tensor.device) + ", and is not");
  }

  const DLTensor *take_input(uint32_t i) {
    const DLTensor *given = request_.in[i];
    const Position &position = call_.in[i];
    if (!given || !is_on_device(position, *given)) return given;
    check_memory(position, *given);
    Mirror &mirror = mirrors_[i];
    const Range &range = mirror.range;
    mirror.tensor = *given;
    mirror.tensor.device = kHost;
    const size_t bytes = range.end - range.begin;
    if (bytes == 0) return empty(mirror);
    // All that lies between the first and the last element, in one copy: strides stay as they are.
    auto *block = static_cast<char *>(blocks_.take(bytes));
    cuda::check(cuda::driver().copy_to_host(block, range.begin, bytes, stream_),
                "copying an input to the host");
    copied_ = true;
    const auto first = reinterpret_cast<uintptr_t>(first_element(*given));
    mirror.tensor.data = block + (first - range.begin);
    mirror.tensor.byte_offset = 0;
    call_.component->count_copy(TESSERACT_COPY_DEVICE, bytes);
    return &mirror.tensor;
  }

  DLTensor *take_output(uint32_t i) {
    DLTensor *given = request_.out ? request_.out[i] : nullptr;
    const Position &position = call_.out[i];
    if (!given || !is_on_device(position, *given)) return given;
    check_memory(position, *given);
    if (!separate_elements(*given))
      fail(TESSERACT_ERROR_SCHEMA, position, "elements of the destination overlap each other");
    check_separate(i);
    Mirror &mirror = mirrors_[call_.n_in + i];
    mirror.used = true;
    mirror.tensor = *given;
    mirror.tensor.device = kHost;
    const Layout layout =
        position.layout == Layout::column_major ? Layout::column_major : Layout::row_major;
    mirror.strides.resize(static_cast<size_t>(given->ndim));
    compact_strides(given->ndim, given->shape, layout, mirror.strides.data());
    mirror.tensor.strides = layout == Layout::row_major ? nullptr : mirror.strides.data();
    uint64_t count = 0, bytes = 0;
    count_bytes(given->ndim, given->shape, dtype_size(given->dtype), &count, &bytes);
    if (bytes == 0) return empty(mirror);
    mirror.tensor.data = blocks_.take(bytes);
    mirror.tensor.byte_offset = 0;
    return &mirror.tensor;
  }

  static DLTensor *empty(Mirror &mirror) {
    mirror.tensor.data = nullptr;
    mirror.tensor.byte_offset = 0;
    return &mirror.tensor;
  }

  // The mirrors never overlap, so what the caller's tensors do is seen here.
  void check_separate(uint32_t o) const {
    if (call_.overlap_allowed) return;
    const Range &range = mirrors_[call_.n_in + o].range;
    for (uint32_t i = 0; i < call_.n_in; i++)
      if (range.overlaps(mirrors_[i].range))
        fail(TESSERACT_ERROR_INVALID_ARGUMENT, call_.out[o],
             "the destination overlaps the input " + quote(call_.in[i].path));
    for (uint32_t p = 0; p < o; p++)
      if (range.overlaps(mirrors_[call_.n_in + p].range))
        fail(TESSERACT_ERROR_INVALID_ARGUMENT, call_.out[o],
             "the destination overlaps that of " + quote(call_.out[p].path));
  }

  void give_output(uint32_t i, tesseract_result *result) {
    const Position &position = call_.out[i];
    const Mirror &mirror = mirrors_[call_.n_in + i];
    if (mirror.used) {
      send(mirror.tensor, *request_.out[i]);
      if (result) result->entries[i].tensor = describe_destination(*request_.out[i]);
      return;
    }
    if (is_host(position.given_device) || !result || !result->entries[i].tensor) return;
    OwnedTensor &entry = result->entries[i].tensor;
    const DLTensor &made = entry->dl_tensor;
    OwnedTensor there = make_tensor_on(position.given_device, made.dtype, made.ndim, made.shape);
    send(made, there->dl_tensor, is_read_late(made));
    entry = std::move(there);
  }

  // Copies have read their source when they return, unless a driver call has made it: such memory
  // may be a component's, that has handed it over.
  static bool is_read_late(const DLTensor &made) {
    return made.data && !is_host(cuda::locate(first_element(made)));
  }

  void send(const DLTensor &from, const DLTensor &to, bool wait = false) {
    uint64_t count = 0, bytes = 0;
    count_bytes(from.ndim, from.shape, dtype_size(from.dtype), &count, &bytes);
    if (bytes == 0) return;
    copy_in_order(from, to, stream_, wait);
    call_.component->count_copy(TESSERACT_COPY_DEVICE, bytes);
  }

  const tesseract_call &call_;
  const RunRequest &request_;
  const uint64_t stream_;
  const cuda::CurrentContext context_;
  cuda::PinnedBlocks blocks_;
  std::vector<Mirror> mirrors_;  // of inputs, then outputs
  std::vector<const DLTensor *> in_;
  std::vector<DLTensor *> out_;
  std::vector<const tesseract_owner *> owners_;  // of inputs, where the caller gave any
  bool copied_ = false;                          // an input is on its way
};

}  // namespace

const char *why_staged(const tesseract_component &component, int32_t endpoint) {
  if (!component.description.cuda) return "the component gets arrays on the host";
  if (!component.offered(endpoint)) return "endpoints that are derived work on the host";
  return "the caller wants the component to get arrays on the host";
}

int32_t run_staged(const tesseract_call &call, const RunRequest &request, const ThreadSlot &slot,
                   tesseract_error **error) {
  require_stream(request.stream);
  return StagedRun(call, request).run(slot, error);
}

}  // namespace host
