// The fast way of a run for components that check what they are given by themselves: every tensor
// is only looked at for soundness, and the outputs have destinations, whose shapes are the
// component's to meet.  It decides nothing, like the other fast way.

#include <alloca.h>

#include "dtype.h"
#include "overlap.h"
#include "run.h"
#include "tensor.h"

namespace host {
namespace {

// Notes where a compact tensor on the device lies; false for any other, and for one that may be
// wrong.
inline bool note_extent(const DLTensor *tensor, const DLDevice &device, const DLDataType &dtype,
                        uint32_t item, int32_t rank, const Extents &extents, uint32_t position) {
  if (!tensor || !same_dtype(tensor->dtype, dtype) || tensor->ndim != rank) return false;
  if (!same_device(tensor->device, device) || tensor->byte_offset != 0) return false;
  if (rank > 0 && !tensor->shape) return false;
  uint64_t step = 1;
  bool overflow = false;
  for (int32_t k = rank - 1; k >= 0; k--) {
    const int64_t length = tensor->shape[k];
    if (length < 0) return false;
    if (tensor->strides && tensor->strides[k] != static_cast<int64_t>(step)) return false;
    overflow |= __builtin_mul_overflow(step, static_cast<uint64_t>(length), &step);
  }
  overflow |= __builtin_mul_overflow(step, item, &step);
  const auto begin = reinterpret_cast<int64_t>(tensor->data);
  if (overflow || step > PTRDIFF_MAX || begin <= 0 ||
      begin > PTRDIFF_MAX - static_cast<int64_t>(step)) {
    return false;
  }
  extents.begins[position] = begin;
  extents.ends[position] = begin + static_cast<int64_t>(step);
  return true;
}

bool note_extents(const tesseract_call &call, const RunRequest &request, const Extents &extents) {
  for (uint32_t i = 0; i < call.n_in; i++) {
    const Position &position = call.in[i];
    if (!note_extent(request.in[i], position.declared_device, position.given, position.item,
                     position.rank(), extents, i))
      return false;
  }
  for (uint32_t o = 0; o < call.n_out; o++) {
    const Position &position = call.out[o];
    const DLTensor *tensor = request.out[o];
    if (!tensor) return false;
    const int32_t rank = position.any_rank ? tensor->ndim : position.rank();
    const bool declared = position.declared.lanes != 0;
    const DLDataType &dtype = declared ? position.declared : tensor->dtype;
    const uint32_t item = declared ? position.item : dtype_size(dtype);
    if (rank < 0 || rank > 64 || item == 0) return false;
    if (!note_extent(tensor, position.declared_device, dtype, item, rank, extents, call.n_in + o))
      return false;
  }
  return true;
}

}  // namespace

bool can_run_unchecked(tesseract_call &call) {
  if (call.endpoint == TESSERACT_ENDPOINT_ABSTRACT_EVAL || !call.direct_in || !call.direct_out ||
      call.n_in + call.n_out > most_fast_tensors) {
    return false;
  }
  for (Position &position : call.in) {
    position.item = dtype_size(position.given);
    if (position.item == 0) return false;
    if (position.layout != Layout::unchecked || position.converts() || position.converted) {
      return false;
    }
  }
  for (Position &position : call.out) {
    position.item = dtype_size(position.declared);
    if (position.layout != Layout::unchecked || position.optional) return false;
  }
  return true;
}

bool run_unchecked(const tesseract_call &call, const RunRequest &request, const ThreadSlot &slot,
                   int32_t *status, tesseract_error **error) {
  if (request.result || !request.out) return false;
  const uint32_t padded = padded_count(call.n_in + call.n_out);
  auto *words = static_cast<int64_t *>(alloca((2 * padded + 1) * sizeof(int64_t)));
  const Extents extents = {words, words + padded};
  if (!note_extents(call, request, extents)) return false;
  if (!call.overlap_allowed && outputs_overlap(extents, call.n_in, call.n_out)) return false;

  Frame frame;
  frame.shown = call.frame;
  frame.shown.stream = request.stream;
  if (request.no_copy) frame.shown.flags |= TESSERACT_FRAME_NO_COPY;
  frame.shown.inputs = request.in;
  frame.shown.seeds = request.in + call.n_inputs;
  frame.shown.owners = request.owners;
  frame.shown.outputs = request.out;
  frame.component = call.component;
  frame.cancel = request.cancel;
  frame.call = &call;
  frame.sink = nullptr;
  frame.error = nullptr;
  frame.context_current = request.context_current;
  *status = invoke(call, frame, slot);
  if (*status != TESSERACT_OK) {
    Failure failure = component_failure(frame, *status);
    *status = report(error, call.component->place(call.endpoint), failure);
  } else {
    delete frame.error;
  }
  return true;
}

}  // namespace host
