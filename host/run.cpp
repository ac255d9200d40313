// The fast way of a run: compare, build the frame, call.  It decides nothing: whatever does not
// compare equal goes to the general run, which finds the reason or repairs it.

#include "run.h"

#include <alloca.h>

#include <cstring>

#include "cancel.h"
#include "dtype.h"
#include "floating_point.h"
#include "overlap.h"
#include "request.h"
#include "result.h"

namespace host {
namespace {

// DLTensor as words: data | device | ndim, dtype | shape | strides | byte_offset.
static_assert(sizeof(DLTensor) == 48 && offsetof(DLTensor, device) == 8 &&
              offsetof(DLTensor, ndim) == 16 && offsetof(DLTensor, dtype) == 20);

inline uint64_t load_word(const DLTensor *tensor, size_t offset) {
  uint64_t word;
  std::memcpy(&word, reinterpret_cast<const char *>(tensor) + offset, sizeof word);
  return word;
}

uint64_t host_device_word() {
  DLTensor tensor{};
  tensor.device = {kDLCPU, 0};
  return load_word(&tensor, offsetof(DLTensor, device));
}
const uint64_t host_device = host_device_word();

// The lengths of a class at this run, and what follows from them.
struct ClassShape {
  const int64_t *lengths;
  const int64_t *strides;
  uint64_t bytes;
};

struct Scratch {
  int64_t *words;      // of classes
  int64_t *variables;  // lengths bound so far
  uint64_t *begins;    // addresses, positions in, then out
  uint64_t *sizes;
};

// Works out lengths and strides of a class whose first tensor is `first`; false if they overflow
// or contradict what is bound.
inline bool establish(const TensorClass &c, const DLTensor *first, Scratch &scratch,
                      ClassShape &shape) {
  int64_t *lengths = scratch.words + c.scratch, *strides = lengths + c.rank;
  const LengthRule *rules = c.rules.data();
  for (int32_t k = 0; k < c.rank; k++) {
    switch (rules[k].kind) {
      case LengthRule::Kind::fixed:
        lengths[k] = rules[k].fixed;
        break;
      case LengthRule::Kind::use:
        lengths[k] = scratch.variables[rules[k].variable];
        break;
      case LengthRule::Kind::bind:
        lengths[k] = first->shape[k];
        if (lengths[k] < 0) return false;
        scratch.variables[rules[k].variable] = lengths[k];
        break;
    }
  }
  uint64_t step = 1;
  bool overflow = false;
  for (int32_t k = c.rank - 1; k >= 0; k--) {
    strides[k] = static_cast<int64_t>(step);
    overflow |= __builtin_mul_overflow(step, static_cast<uint64_t>(lengths[k]), &step);
  }
  overflow |= __builtin_mul_overflow(step, c.item, &shape.bytes);
  shape.lengths = lengths;
  shape.strides = strides;
  return !overflow && shape.bytes <= PTRDIFF_MAX;
}

// Zero if the tensor is exactly as its class says, compact and in host memory.
template <int Rank>
inline uint64_t difference(const DLTensor *tensor, const TensorClass &c, const ClassShape &shape) {
  const int64_t *lengths = tensor->shape, *strides = tensor->strides;
  uint64_t bad = 0;
  const int32_t rank = Rank >= 0 ? Rank : c.rank;
  for (int32_t k = 0; k < rank; k++) bad |= static_cast<uint64_t>(lengths[k] ^ shape.lengths[k]);
  if (strides)
    for (int32_t k = 0; k < rank; k++) bad |= static_cast<uint64_t>(strides[k] ^ shape.strides[k]);
  return bad;
}

// True if all of the tensor but its lengths and strides is as it should be, and those can be read.
inline bool plain(const DLTensor *tensor, const TensorClass &c) {
  if (!tensor) return false;
  const auto address = reinterpret_cast<uint64_t>(tensor->data);
  const uint64_t bad = (load_word(tensor, offsetof(DLTensor, ndim)) ^ c.word) |
                       (load_word(tensor, offsetof(DLTensor, device)) ^ host_device) |
                       tensor->byte_offset | (address & c.align_mask);
  return bad == 0 && address != 0 && (c.rank == 0 || tensor->shape);
}

template <int Rank>
bool check_class(const TensorClass &c, const RunRequest &request, uint32_t n_in, Scratch &scratch,
                 bool *missing) {
  ClassShape shape = {c.fixed_lengths.data(), c.fixed_lengths.data() + c.rank, c.fixed_bytes};
  const uint32_t *in = c.in.data(), *const in_end = in + c.in.size();
  if (!c.fixed) {
    const DLTensor *first = in == in_end ? nullptr : request.in[*in];
    if ((first && !plain(first, c)) || !establish(c, first, scratch, shape)) return false;
  }
  uint64_t bad = 0;
  for (; in != in_end; in++) {
    const DLTensor *tensor = request.in[*in];
    if (!plain(tensor, c)) return false;
    bad |= difference<Rank>(tensor, c, shape);
    scratch.begins[*in] = reinterpret_cast<uint64_t>(tensor->data);
    scratch.sizes[*in] = shape.bytes;
  }
  for (const uint32_t out : c.out) {
    const DLTensor *tensor = request.out ? request.out[out] : nullptr;
    scratch.sizes[n_in + out] = tensor ? shape.bytes : 0;
    if (!tensor) {
      scratch.begins[n_in + out] = 0;
      *missing = true;
      continue;
    }
    if (!plain(tensor, c)) return false;
    bad |= difference<Rank>(tensor, c, shape);
    scratch.begins[n_in + out] = reinterpret_cast<uint64_t>(tensor->data);
  }
  return bad == 0;
}

bool check_classes(const tesseract_call &call, const RunRequest &request, Scratch &scratch,
                   bool *missing) {
  for (const TensorClass &c : call.classes) {
    bool fine = false;
    switch (c.rank) {
      case 0:
        fine = check_class<0>(c, request, call.n_in, scratch, missing);
        break;
      case 1:
        fine = check_class<1>(c, request, call.n_in, scratch, missing);
        break;
      case 2:
        fine = check_class<2>(c, request, call.n_in, scratch, missing);
        break;
      case 3:
        fine = check_class<3>(c, request, call.n_in, scratch, missing);
        break;
      default:
        fine = check_class<-1>(c, request, call.n_in, scratch, missing);
        break;
    }
    if (!fine) return false;
  }
  return true;
}

// Takes what a component gives beside tensors in a run whose tensors are all there.
class ExtraSink final : public OutputSink {
 public:
  explicit ExtraSink(tesseract_result &result) : result_(result) {}

  int32_t allocate(tesseract_frame *frame, uint64_t index, const DLDataType *dtype, int32_t ndim,
                   const int64_t *shape, DLTensor **tensor) override {
    DLTensor *shown = frame->outputs[index];
    const bool fits = shown->ndim == ndim && (!dtype || same_dtype(*dtype, shown->dtype)) &&
                      std::equal(shape, shape + ndim, shown->shape);
    if (!fits)
      return frame_error(frame, TESSERACT_ERROR_SCHEMA, {},
                         "output " + std::to_string(index) + " has the shape " +
                             shape_text(shown->ndim, shown->shape) + ", the component made " +
                             shape_text(ndim, shape));
    if (tensor) *tensor = shown;
    return TESSERACT_OK;
  }

  int32_t add(tesseract_frame *frame, std::string_view path, const DLDataType *dtype, int32_t ndim,
              const int64_t *shape, DLTensor **tensor) override {
    return add_entry(result_, frame, path, dtype, ndim, shape, tensor);
  }

  int32_t json(tesseract_frame *frame, std::string_view text) override {
    return set_json(result_, frame, text);
  }

 private:
  tesseract_result &result_;
};

struct FreshOutputs {
  std::unique_ptr<tesseract_result> result;
  DLTensor **out;  // the destinations, and fresh tensors where there were none
};

// Makes the result: fresh tensors for outputs without destination.
FreshOutputs make_outputs(const tesseract_call &call, const RunRequest &request,
                          const Scratch &scratch, DLTensor **out) {
  auto result = std::make_unique<tesseract_result>(&call);
  for (const TensorClass &c : call.classes) {
    const int64_t *lengths = c.fixed ? c.fixed_lengths.data() : scratch.words + c.scratch;
    for (const uint32_t i : c.out) {
      tesseract_result::Entry &entry = result->entries[i];
      DLTensor *given = request.out ? request.out[i] : nullptr;
      if (given) {
        entry.destination = true;
        out[i] = given;
        continue;
      }
      entry.tensor = make_tensor(call.out[i].given, c.rank, lengths);
      out[i] = &entry.tensor->dl_tensor;
    }
  }
  return {std::move(result), out};
}

void describe_destinations(const RunRequest &request, tesseract_result &result) {
  for (size_t i = 0; i < result.entries.size(); i++)
    if (result.entries[i].destination && !result.entries[i].tensor)
      result.entries[i].tensor = describe_destination(*request.out[i]);
}

void fill_frame(const tesseract_call &call, const RunRequest &request, Frame &frame) {
  tesseract_frame &shown = frame.shown;
  shown.size = sizeof shown;
  shown.flags = 0;
  shown.endpoint = call.endpoint;
  shown.reserved = 0;
  shown.host = &host_table;
  shown.log = &call.component->log;
  shown.signature = &call.resolved.signature;
  shown.owners = nullptr;
  shown.n_inputs = call.n_inputs;
  shown.n_seeds = call.n_seeds;
  shown.n_outputs = call.n_outputs;
  shown.stream = request.stream;
  frame.component = call.component;
  frame.cancel = request.cancel;
  frame.sink = nullptr;
  frame.error = nullptr;
}

}  // namespace

// One stack frame for everything that a run needs: pointers live until the component returns.
enum class FastRun { done, not_fast };

static FastRun run_fast(const tesseract_call &call, const RunRequest &request,
                        const ThreadSlot &slot, int32_t *status, tesseract_error **error) {
  const uint32_t n = call.n_in + call.n_out;
  auto *words = static_cast<uint64_t *>(
      alloca((call.scratch_words + call.n_variables + 2 * n + 1) * sizeof(uint64_t)));
  Scratch scratch;
  scratch.begins = words;
  scratch.sizes = words + n;
  scratch.words = reinterpret_cast<int64_t *>(words + 2 * n);
  scratch.variables = scratch.words + call.scratch_words;
  bool missing = false;
  if (!check_classes(call, request, scratch, &missing)) return FastRun::not_fast;
  if (missing && !request.result) return FastRun::not_fast;
  if (!call.overlap_allowed &&
      outputs_overlap(scratch.begins, scratch.sizes, call.n_in, call.n_out))
    return FastRun::not_fast;

  Frame frame;
  fill_frame(call, request, frame);
  DLTensor *const *out = request.out;
  FreshOutputs fresh;
  if (request.result) {
    auto **all = static_cast<DLTensor **>(alloca((call.n_out + 1) * sizeof(DLTensor *)));
    fresh = make_outputs(call, request, scratch, all);
    out = all;
  }
  if (call.direct_in) {
    frame.shown.inputs = request.in;
    frame.shown.seeds = request.in + call.n_inputs;
    frame.shown.owners = request.owners;
  } else {
    const uint32_t m = call.n_inputs + call.n_seeds;
    auto **in = static_cast<const DLTensor **>(alloca((m + 1) * sizeof(DLTensor *)));
    std::memcpy(in, call.input_template.data(), call.n_inputs * sizeof *in);
    std::memset(in + call.n_inputs, 0, call.n_seeds * sizeof *in);
    const Position *position = call.in.data();
    for (uint32_t i = 0; i < call.n_in; i++)
      in[position[i].index + (position[i].role == Position::Role::seed ? call.n_inputs : 0)] =
          request.in[i];
    frame.shown.inputs = in;
    frame.shown.seeds = in + call.n_inputs;
    if (request.owners) {
      auto **owners = static_cast<const tesseract_owner **>(alloca((m + 1) * sizeof(void *)));
      std::memset(owners, 0, m * sizeof *owners);
      for (uint32_t i = 0; i < call.n_in; i++)
        owners[position[i].index + (position[i].role == Position::Role::seed ? call.n_inputs : 0)] =
            request.owners[i];
      frame.shown.owners = owners;
    }
  }
  if (call.direct_out) {
    frame.shown.outputs = out;
  } else {
    auto **mapped = static_cast<DLTensor **>(alloca((call.n_outputs + 1) * sizeof(DLTensor *)));
    std::memset(mapped, 0, call.n_outputs * sizeof *mapped);
    for (uint32_t i = 0; i < call.n_out; i++) mapped[call.out[i].index] = out[i];
    frame.shown.outputs = mapped;
  }

  if (!request.result) {
    *status = invoke(call, frame, slot);
  } else {
    ExtraSink sink(*fresh.result);
    frame.sink = &sink;
    if (call.all_outputs) frame.shown.flags |= TESSERACT_FRAME_ALL;
    *status = invoke(call, frame, slot);
    if (*status == TESSERACT_OK) {
      describe_destinations(request, *fresh.result);
      *request.result = fresh.result.release();
    }
  }
  if (*status != TESSERACT_OK) [[unlikely]] {
    Failure failure = component_failure(frame, *status);
    *status = report(error, call.component->place(call.endpoint), failure);
  } else if (frame.error) [[unlikely]] {
    delete frame.error;  // recorded, then thought better of
  }
  return FastRun::done;
}

int32_t invoke(const tesseract_call &call, Frame &frame, const ThreadSlot &slot) {
  if (call.lock && !call.lock->enter(slot, call.reentrant)) [[unlikely]]
    return frame_error(&frame.shown, TESSERACT_ERROR_INVALID_ARGUMENT, {},
                       "called again by a thread that is inside it, and it is not reentrant");
  int32_t status;
  {
    const DefaultFloatingPoint environment(call.default_floating_point);
    status = call_component(frame,
                            [&] { return call.function(call.instance, call.plan, &frame.shown); });
  }
  if (call.lock) call.lock->leave();
  return status;
}

int32_t run_call(const tesseract_call &call, const RunRequest &request, tesseract_error **error) {
  try {
    const RunningCall running;
    call.component->count_call(running.slot());
    if (request.cancel && request.cancel->requested.load(std::memory_order_relaxed)) [[unlikely]]
      throw Failure(TESSERACT_ERROR_CANCELLED, "cancelled before it began");
    int32_t status = TESSERACT_OK;
    if (call.fast && run_fast(call, request, running.slot(), &status, error) == FastRun::done)
        [[likely]]
      return status;
    run_general(call, request, running.slot());
    return TESSERACT_OK;
  } catch (Failure &failure) {
    return report(error, call.component->place(call.endpoint), failure);
  } catch (const std::bad_alloc &) {
    return report_out_of_memory(error);
  } catch (const std::exception &exception) {
    return report_internal(error, call.component->place(call.endpoint), exception.what());
  }
}

}  // namespace host

namespace {

int32_t refuse(tesseract_error **error, const tesseract_call *call, const char *name) {
  if (!host::fresh(error)) return TESSERACT_ERROR_INVALID_ARGUMENT;
  host::Failure failure(TESSERACT_ERROR_INVALID_ARGUMENT, std::string(name) + " must not be null");
  return host::report(error, call ? call->component->place(call->endpoint) : host::Place{},
                      failure);
}

}  // namespace

int32_t tesseract_call_run(const tesseract_call *call, const DLTensor *const *in,
                           DLTensor *const *out, const tesseract_call_options *options,
                           tesseract_result **result, tesseract_error **error) {
  if (!call) [[unlikely]]
    return refuse(error, call, "call");
  if (!in && call->n_in) [[unlikely]]
    return refuse(error, call, "in");
  if (!out && call->n_out && !result) [[unlikely]]
    return refuse(error, call, "out");
  if (!host::fresh(error)) [[unlikely]]
    return TESSERACT_ERROR_INVALID_ARGUMENT;
  host::RunRequest request;
  request.in = in;
  request.out = out;
  request.result = result;
  request.no_copy = call->no_copy;
  if (options) {
    // The usual case without the reader of newer structs: this very version, no flags unknown.
    tesseract_call_options copy{};
    if (options->size == sizeof copy && (options->flags & ~TESSERACT_NO_COPY) == 0) [[likely]] {
      copy = *options;
    } else {
      const int32_t status = host::guarded(error, call->component->place(call->endpoint), [&] {
        copy = host::read_request(options, TESSERACT_NO_COPY, "the call's options");
        return TESSERACT_OK;
      });
      if (status != TESSERACT_OK) return status;
    }
    request.no_copy |= (copy.flags & TESSERACT_NO_COPY) != 0;
    request.stream = copy.stream;
    request.cancel = copy.cancel;
    request.owners = copy.owners;
  }
  return host::run_call(*call, request, error);
}
