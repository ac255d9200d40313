// The fast way of a run: compare, build the frame, call.  It decides nothing: whatever does not
// compare equal goes to the general run, which finds the reason or repairs it.

#include "run.h"

#include <alloca.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "cancel.h"
#include "device/memory.h"
#include "device/scope.h"
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

// The lengths of a class at this run, and what follows from them.
struct ClassShape {
  const int64_t *lengths;
  const int64_t *strides;
  uint64_t bytes;
};

// What a run works out, on its stack.
struct Scratch {
  int64_t *words;      // lengths and strides of classes
  int64_t *variables;  // lengths bound so far
  Extents extents;     // of positions in, then out
};

// Works out lengths and strides of a class whose first tensor is `first`; false if they overflow
// or contradict what is bound.
inline bool establish(const TensorClass &c, const DLTensor *first, const Scratch &scratch,
                      ClassShape &shape) {
  int64_t *lengths = scratch.words + c.scratch, *strides = lengths + c.rank;
  const LengthRule *rules = c.rules.data();
  for (int32_t k = 0; k < c.rank; k++) {
    int64_t length = rules[k].fixed;
    if (rules[k].kind == LengthRule::Kind::use) {
      length = scratch.variables[rules[k].variable];
    } else if (rules[k].kind == LengthRule::Kind::bind) {
      length = first->shape[k];
      if (length < 0) return false;
      scratch.variables[rules[k].variable] = length;
    }
    lengths[k] = length;
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

constexpr uint64_t host_device = std::bit_cast<uint64_t>(kHost);

// What each tensor of a class must be, in registers.  Rank -1: any, read from memory, as is the
// device then.
template <int Rank>
class Expectation {
 public:
  Expectation(const TensorClass &c, const Extents &extents)
      : word_(c.word),
        device_(Rank >= 0 ? host_device : std::bit_cast<uint64_t>(c.device)),
        align_mask_(c.align_mask),
        extents_(extents),
        rank_(c.rank) {}

  // True if all of the tensor but its lengths and strides is as it should be, and those can be
  // read.  One predictable branch a word is cheaper here than collecting differences.
  bool plain(const DLTensor *tensor) const {
    if (!tensor) return false;
    const auto address = reinterpret_cast<uint64_t>(tensor->data);
    if (address == 0 || (address & align_mask_)) return false;
    if (load_word(tensor, offsetof(DLTensor, device)) != device()) return false;
    if (load_word(tensor, offsetof(DLTensor, ndim)) != word_) return false;
    return tensor->byte_offset == 0 && (Rank == 0 || tensor->shape);
  }

  void set(const ClassShape &shape) {
    shape_ = shape;
    for (int k = 0; k < Rank; k++) {
      lengths_[k] = shape.lengths[k];
      strides_[k] = shape.strides[k];
    }
  }

  // Compares a tensor and notes where it lies.
  bool check(const DLTensor *tensor, uint32_t position) const {
    if (!plain(tensor) || !equal(tensor->shape, lengths())) return false;
    if (tensor->strides && !equal(tensor->strides, strides())) return false;
    const auto begin = reinterpret_cast<int64_t>(tensor->data);
    extents_.begins[position] = begin;
    extents_.ends[position] = begin + static_cast<int64_t>(shape_.bytes);
    return true;
  }

 private:
  int32_t rank() const {
    if constexpr (Rank >= 0)
      return Rank;
    else
      return rank_;
  }
  uint64_t device() const {
    if constexpr (Rank >= 0)
      return host_device;
    else
      return device_;
  }
  const int64_t *lengths() const {
    if constexpr (Rank >= 0)
      return lengths_;
    else
      return shape_.lengths;
  }
  const int64_t *strides() const {
    if constexpr (Rank >= 0)
      return strides_;
    else
      return shape_.strides;
  }

  bool equal(const int64_t *found, const int64_t *expected) const {
    for (int32_t k = 0; k < rank(); k++)
      if (found[k] != expected[k]) return false;
    return true;
  }

  uint64_t word_, device_, align_mask_;
  Extents extents_;
  int32_t rank_;
  ClassShape shape_{};
  static constexpr int stored = std::max(Rank, 1);
  int64_t lengths_[stored], strides_[stored];
};

template <int Rank>
bool check_class(const TensorClass &c, const DLTensor *const *in, DLTensor *const *out,
                 uint32_t n_in, const Scratch &scratch, bool *missing) {
  Expectation<Rank> expected(c, scratch.extents);
  ClassShape shape = {c.fixed_lengths.data(), c.fixed_lengths.data() + c.rank, c.fixed_bytes};
  if (!c.fixed) {
    const DLTensor *first = c.in.empty() ? nullptr : in[c.in.front()];
    if (!c.in.empty() && !expected.plain(first)) return false;
    if (!establish(c, first, scratch, shape)) return false;
  }
  expected.set(shape);
  for (const uint32_t i : c.in)
    if (!expected.check(in[i], i)) return false;
  for (const uint32_t o : c.out) {
    if (out[o]) [[likely]] {
      if (!expected.check(out[o], n_in + o)) return false;
      continue;
    }
    scratch.extents.begins[n_in + o] = scratch.extents.ends[n_in + o] = 0;
    *missing = true;
  }
  return true;
}

// As many null destinations as a fast run can have.
DLTensor *const no_outputs[most_fast_tensors] = {};

bool check_classes(const tesseract_call &call, const RunRequest &request, const Scratch &scratch,
                   bool *missing) {
  const DLTensor *const *const in = request.in;
  DLTensor *const *const out = request.out ? request.out : no_outputs;
  for (const TensorClass &c : call.classes) {
    bool fine = false;
    switch (is_host(c.device) ? c.rank : -1) {
      case 0:
        fine = check_class<0>(c, in, out, call.n_in, scratch, missing);
        break;
      case 1:
        fine = check_class<1>(c, in, out, call.n_in, scratch, missing);
        break;
      case 2:
        fine = check_class<2>(c, in, out, call.n_in, scratch, missing);
        break;
      case 3:
        fine = check_class<3>(c, in, out, call.n_in, scratch, missing);
        break;
      default:
        fine = check_class<-1>(c, in, out, call.n_in, scratch, missing);
        break;
    }
    if (!fine) return false;
  }
  return true;
}

// Takes what a component gives beside tensors in a run whose tensors are all there.
class ExtraSink final : public OutputSink {
 public:
  ExtraSink(const tesseract_call &call, tesseract_result &result) : call_(call), result_(result) {}

  int32_t allocate(tesseract_frame *frame, uint64_t index, const DLDataType *dtype, int32_t ndim,
                   const int64_t *shape, DLTensor **tensor) override {
    return settled_output(frame, index, dtype, ndim, shape, tensor);
  }

  int32_t add(tesseract_frame *frame, std::string_view path, const DLDataType *dtype, int32_t ndim,
              const int64_t *shape, DLTensor **tensor) override {
    return add_entry(result_, frame, path, dtype, ndim, shape, tensor);
  }

  int32_t json(tesseract_frame *frame, std::string_view text) override {
    return set_json(result_, frame, text);
  }

  bool adopt(uint64_t index, DLManagedTensorVersioned *given) override {
    const uint32_t i = call_.find_out(index);
    tesseract_result::Entry &entry = result_.entries[i];
    const DLDevice &device = call_.out[i].declared_device;
    if (entry.destination || !is_result_memory(given->dl_tensor, device)) return false;
    const DLTensor &made = given->dl_tensor, &wanted = entry.tensor->dl_tensor;
    if (!same_dtype(made.dtype, wanted.dtype) || made.ndim != wanted.ndim ||
        !std::equal(made.shape, made.shape + made.ndim, wanted.shape) ||
        !has_layout(made, call_.out[i].layout))
      return false;
    replaced_.push_back(std::move(entry.tensor));
    entry.tensor.reset(given);
    return true;
  }

 private:
  const tesseract_call &call_;
  tesseract_result &result_;
  std::vector<OwnedTensor> replaced_;  // which the component may still look at
};

// Memory on the stack of the run, handed out piece by piece.
class Stack {
 public:
  explicit Stack(void *begin) : next_(static_cast<int64_t *>(begin)) {}

  template <typename T>
  T *take(uint32_t count) {
    static_assert(std::is_pointer_v<T> || std::is_same_v<T, int64_t>, "of a word's size");
    auto *piece = reinterpret_cast<T *>(next_);
    next_ += count;
    return piece;
  }

 private:
  int64_t *next_;
};

// Gives outputs without destination fresh memory in `result`; `out` gets all of them.
void make_outputs(const tesseract_call &call, const RunRequest &request, const Scratch &scratch,
                  tesseract_result &result, DLTensor **out) {
  for (const TensorClass &c : call.classes) {
    const int64_t *lengths = c.fixed ? c.fixed_lengths.data() : scratch.words + c.scratch;
    for (const uint32_t i : c.out) {
      tesseract_result::Entry &entry = result.entries[i];
      out[i] = request.out ? request.out[i] : nullptr;
      entry.destination = out[i] != nullptr;
      if (entry.destination) continue;
      entry.tensor = make_tensor_on(c.device, call.out[i].given, c.rank, lengths);
      out[i] = &entry.tensor->dl_tensor;
    }
  }
}

// Where a tensor in stands in the component's arrays, inputs before seeds.
inline uint32_t place_of(const tesseract_call &call, const Position &position) {
  return position.index + (position.role == Position::Role::seed ? call.n_inputs : 0);
}

inline void show_inputs(const tesseract_call &call, const RunRequest &request, Stack &stack,
                        tesseract_frame &frame) {
  if (call.direct_in) {
    frame.inputs = request.in;
    frame.seeds = request.in + call.n_inputs;
    frame.owners = request.owners;
    return;
  }
  const uint32_t n = call.n_inputs + call.n_seeds;
  auto **in = stack.take<const DLTensor *>(n);
  std::copy_n(call.input_template.data(), call.n_inputs, in);
  std::fill_n(in + call.n_inputs, call.n_seeds, nullptr);
  for (uint32_t i = 0; i < call.n_in; i++) in[place_of(call, call.in[i])] = request.in[i];
  frame.inputs = in;
  frame.seeds = in + call.n_inputs;
  if (!request.owners) return;
  auto **owners = stack.take<const tesseract_owner *>(n);
  std::fill_n(owners, n, nullptr);
  for (uint32_t i = 0; i < call.n_in; i++) owners[place_of(call, call.in[i])] = request.owners[i];
  frame.owners = owners;
}

inline void show_outputs(const tesseract_call &call, DLTensor *const *out, Stack &stack,
                         tesseract_frame &frame) {
  if (call.direct_out) {
    frame.outputs = out;
    return;
  }
  auto **mapped = stack.take<DLTensor *>(call.n_outputs);
  std::fill_n(mapped, call.n_outputs, nullptr);
  for (uint32_t i = 0; i < call.n_out; i++) mapped[call.out[i].index] = out[i];
  frame.outputs = mapped;
}

// The rest of a run that makes a result.
[[gnu::noinline]] int32_t run_for_result(const tesseract_call &call, const RunRequest &request,
                                         const Scratch &scratch, Stack &stack, Frame &frame,
                                         const ThreadSlot &slot) {
  auto result = std::make_unique<tesseract_result>(call);
  auto **out = stack.take<DLTensor *>(call.n_out);
  make_outputs(call, request, scratch, *result, out);
  show_outputs(call, out, stack, frame.shown);
  ExtraSink sink(call, *result);
  frame.sink = &sink;
  if (call.all_outputs) frame.shown.flags |= TESSERACT_FRAME_ALL;
  const int32_t status = invoke(call, frame, slot);
  if (status != TESSERACT_OK) return status;
  for (uint32_t i = 0; i < call.n_out; i++)
    if (result->entries[i].destination)
      result->entries[i].tensor = describe_destination(*request.out[i]);
  check_complete(*result, *call.component);
  *request.result = result.release();
  return TESSERACT_OK;
}

// After a call that failed, or that recorded an error and then thought better of it.
[[gnu::noinline, gnu::cold]] int32_t conclude(const tesseract_call &call, Frame &frame,
                                              int32_t status, tesseract_error **error) {
  if (status == TESSERACT_OK) {
    delete frame.error;
    return status;
  }
  Failure failure = component_failure(frame, status);
  return report(error, call.component->place(call.endpoint), failure);
}

// False, with nothing done, if the general run must have a look.
bool run_fast(const tesseract_call &call, const RunRequest &request, const ThreadSlot &slot,
              int32_t *status, tesseract_error **error) {
  Stack stack(alloca(call.stack_words * sizeof(int64_t)));
  const uint32_t padded = padded_count(call.n_in + call.n_out);
  Scratch scratch;
  scratch.extents.begins = stack.take<int64_t>(padded);
  scratch.extents.ends = stack.take<int64_t>(padded);
  scratch.words = stack.take<int64_t>(call.scratch_words);
  scratch.variables = stack.take<int64_t>(call.n_variables);
  bool missing = false;
  if (!check_classes(call, request, scratch, &missing)) return false;
  if (missing && !request.result) return false;
  if (!call.overlap_allowed && outputs_overlap(scratch.extents, call.n_in, call.n_out))
    return false;

  Frame frame;
  fill_frame(call, request, frame);
  show_inputs(call, request, stack, frame.shown);
  if (request.result) {
    *status = run_for_result(call, request, scratch, stack, frame, slot);
  } else {
    show_outputs(call, request.out, stack, frame.shown);
    *status = invoke(call, frame, slot);
  }
  if (*status != TESSERACT_OK || frame.error) [[unlikely]]
    *status = conclude(call, frame, *status, error);
  return true;
}

// Compact tensors that are written unusually (an offset, odd strides of axes of length 1, pinned
// host memory, managed memory) in the usual way; the same pointer for all others.
const DLTensor *usual(const Position &position, const DLTensor *given, DLTensor *rewritten) {
  if (!given || given->ndim != position.rank() || (given->ndim && !given->shape)) return given;
  const DLDeviceType kind = given->device.device_type;
  const bool pinned = kind == kDLCUDAHost, managed = kind == kDLCUDAManaged;
  const bool odd = given->strides && has_layout(*given, Layout::row_major);
  if (!pinned && !managed && !odd && !given->byte_offset) return given;
  uint64_t address = 0;
  if (__builtin_add_overflow(reinterpret_cast<uint64_t>(given->data), given->byte_offset,
                             &address) ||
      address > INT64_MAX)
    return given;
  *rewritten = *given;
  if (pinned) rewritten->device = kHost;
  if (managed) rewritten->device.device_type = kDLCUDA;
  if (odd) rewritten->strides = nullptr;
  if (given->data) rewritten->data = first_element(*given);
  rewritten->byte_offset = 0;
  return rewritten;
}

// The fast run once more, on tensors rewritten in the usual way.
bool run_rewritten(const tesseract_call &call, const RunRequest &request, const ThreadSlot &slot,
                   int32_t *status, tesseract_error **error) {
  const uint32_t n = call.n_in + call.n_out;
  auto *rewritten = static_cast<DLTensor *>(alloca(n * sizeof(DLTensor)));
  auto **in = static_cast<const DLTensor **>(alloca((n + 1) * sizeof(void *)));
  auto **out = const_cast<DLTensor **>(in + call.n_in);
  bool changed = false;
  for (uint32_t i = 0; i < call.n_in; i++) {
    in[i] = usual(call.in[i], request.in[i], &rewritten[i]);
    changed |= in[i] != request.in[i];
  }
  for (uint32_t i = 0; i < call.n_out; i++) {
    const DLTensor *given = request.out ? request.out[i] : nullptr;
    out[i] = const_cast<DLTensor *>(usual(call.out[i], given, &rewritten[call.n_in + i]));
    changed |= out[i] != given;
  }
  if (!changed) return false;
  RunRequest again = request;
  again.in = in;
  again.out = out;
  return run_fast(call, again, slot, status, error);
}

}  // namespace

namespace {

int32_t call_function(const tesseract_call &call, Frame &frame) {
  const DefaultFloatingPoint environment(call.default_floating_point);
  return call_component(frame,
                        [&] { return call.function(call.instance, call.plan, &frame.shown); });
}

inline int32_t call_alone(const tesseract_call &call, Frame &frame, const ThreadSlot &slot) {
  if (call.lock && !call.lock->enter(slot, call.reentrant)) [[unlikely]]
    return frame_error(&frame.shown, TESSERACT_ERROR_INVALID_ARGUMENT, {}, entered_again_text);
  const int32_t status = call_function(call, frame);
  if (call.lock) call.lock->leave();
  return status;
}

// Waits, where that is needed, before the lock is taken.
[[gnu::noinline]] int32_t call_on_device(const tesseract_call &call, Frame &frame,
                                         const ThreadSlot &slot) {
  require_stream(frame.shown.stream);
  const auto body = [&] {
    ready_stream(call, frame);
    return call_alone(call, frame, slot);
  };
  // A component with a thread of its own gets its context there.
  const bool here = call.function != invoke_on_own_thread || call.synchronises ||
                    frame.shown.stream == cuda::kPerThread;
  return here ? with_context(frame, body) : body();
}

}  // namespace

int32_t invoke(const tesseract_call &call, Frame &frame, const ThreadSlot &slot) {
  if (call.on_device) [[unlikely]]
    return call_on_device(call, frame, slot);
  return call_alone(call, frame, slot);
}

int32_t run_in_place(const tesseract_call &call, const Ways &ways, const RunRequest &request,
                     const ThreadSlot &slot, tesseract_error **error) {
  int32_t status = TESSERACT_OK;
  if (ways.fast) {
    if (run_fast(call, request, slot, &status, error)) [[likely]]
      return status;
    if (run_rewritten(call, request, slot, &status, error)) return status;
  }
  if (ways.unchecked && run_unchecked(call, request, slot, &status, error)) return status;
  run_general(call, request, slot);
  return TESSERACT_OK;
}

int32_t run_call(const tesseract_call &call, const RunRequest &request, tesseract_error **error) {
  try {
    const RunningCall running;
    call.component->count_call(running.slot());
    if (request.cancel && request.cancel->requested.load(std::memory_order_relaxed)) [[unlikely]]
      throw Failure(TESSERACT_ERROR_CANCELLED, "cancelled before it began");
    if (call.staging) [[unlikely]]
      return run_staged(call, request, running.slot(), error);
    return run_in_place(call, {call.fast, call.unchecked}, request, running.slot(), error);
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

using host::call_flags;

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
  if (!out && call->n_out && !result && call->endpoint != TESSERACT_ENDPOINT_ABSTRACT_EVAL)
      [[unlikely]]
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
    if (options->size == sizeof copy && (options->flags & ~call_flags) == 0) [[likely]] {
      copy = *options;
    } else {
      const int32_t status = host::guarded(error, call->component->place(call->endpoint), [&] {
        copy = host::read_request(options, call_flags, "the call's options");
        return TESSERACT_OK;
      });
      if (status != TESSERACT_OK) return status;
    }
    request.no_copy |= (copy.flags & TESSERACT_NO_COPY) != 0;
    request.context_current = (copy.flags & TESSERACT_CONTEXT_CURRENT) != 0;
    request.stream = copy.stream;
    request.cancel = copy.cancel;
    request.owners = copy.owners;
  }
  return host::run_call(*call, request, error);
}
