// The general way of a run: every tensor is examined, explained where it is wrong, and repaired
// where the contract says so (layout, offset, alignment, dtype), in memory of the run's own.

#include <algorithm>
#include <vector>

#include "device/context.h"
#include "device/memory.h"
#include "device/scope.h"
#include "dtype.h"
#include "result.h"
#include "run.h"
#include "text.h"

namespace host {
namespace {

class GeneralRun final : public OutputSink {
 public:
  GeneralRun(const tesseract_call &call, const RunRequest &request)
      : call_(call),
        request_(request),
        abstract_(call.endpoint == TESSERACT_ENDPOINT_ABSTRACT_EVAL),
        variables_(call.n_variables, -1),
        in_(call.n_in),
        out_(call.n_out) {}

  void run(const ThreadSlot &slot) {
    if (abstract_ && !request_.result)
      throw Failure(TESSERACT_ERROR_INVALID_ARGUMENT, "abstract_eval needs a result");
    if (request_.result) result_ = std::make_unique<tesseract_result>(call_);
    for (uint32_t i = 0; i < call_.n_in; i++) examine_input(i);
    for (uint32_t i = 0; i < call_.n_out; i++) examine_output(i);
    if (!call_.overlap_allowed) check_overlap();
    call(slot);
    finish();
  }

 private:
  // A tensor as the component sees it.
  struct View {
    DLTensor tensor{};
    std::vector<int64_t> lengths, strides;
    OwnedTensor copy;  // where the caller's memory would not do
    Range range;       // of the caller's memory
  };
  struct Output : View {
    const DLTensor *destination = nullptr;
    bool settled = false;  // shape known, memory there
  };

  static std::string named(const Position &position) {
    if (!position.wrt.empty())
      return "the Jacobian of " + quote(position.path) + " by " + quote(position.wrt);
    switch (position.role) {
      case Position::Role::input:
        return "input " + quote(position.path);
      case Position::Role::seed:
        return "seed " + quote(position.path);
      default:
        return "output " + quote(position.path);
    }
  }

  [[noreturn]] static void fail(int32_t status, const Position &position, const std::string &why) {
    throw Failure(status, named(position) + ": " + why, position.path);
  }

  [[noreturn]] static void mismatch(const Position &position, const std::string &why) {
    fail(TESSERACT_ERROR_SCHEMA, position, why);
  }

  // ---- What is wrong with a tensor

  void check_type(const Position &position, const DLTensor &tensor) const {
    const DLDataType &wanted = position.given;
    if (!same_dtype(tensor.dtype, wanted))
      mismatch(position, "expected " + dtype_name(wanted) + ", found " + dtype_name(tensor.dtype));
    if (tensor.ndim != position.rank())
      mismatch(position, "expected rank " + std::to_string(position.rank()) + ", found " +
                             std::to_string(tensor.ndim));
    check_place(position, tensor);
    if (tensor.ndim > 0 && !tensor.shape)
      fail(TESSERACT_ERROR_INVALID_ARGUMENT, position, "its shape is null");
    for (int32_t k = 0; k < tensor.ndim; k++)
      if (tensor.shape[k] < 0)
        mismatch(position,
                 "its shape " + shape_text(tensor.ndim, tensor.shape) + " has a negative length");
  }

  void check_place(const Position &position, const DLTensor &tensor) const {
    if (abstract_) return;
    const DLDevice found = device_of(tensor, position.path);
    if (!same_device(found, position.declared_device))
      fail(TESSERACT_ERROR_DEVICE, position,
           "it is on " + device_text(found) + ", and the call was prepared for " +
               device_text(position.declared_device));
  }

  // Where the component's options ask for it: whether the address is where the tensor says.
  void check_address(const Position &position, const DLTensor &tensor) const {
    if (is_host(position.declared_device) || !call_.component->check_pointers) return;
    if (!cuda::is_on(first_element(tensor), position.declared_device.device_id))
      fail(
          TESSERACT_ERROR_DEVICE, position,
          "its address is said to be on " + device_text(position.declared_device) + ", and is not");
  }

  // Returns the number of elements.
  static uint64_t check_size(const Position &position, const DLTensor &tensor) {
    uint64_t count = 0, bytes = 0;
    if (!count_bytes(tensor.ndim, tensor.shape, dtype_size(tensor.dtype), &count, &bytes))
      mismatch(position, "its shape " + shape_text(tensor.ndim, tensor.shape) + " overflows");
    return count;
  }

  void check_memory(const Position &position, const DLTensor &tensor, Range *range) const {
    const uint64_t count = check_size(position, tensor);
    if (!address_range(tensor, dtype_size(tensor.dtype), range))
      mismatch(position, "its strides or its address overflow");
    if (count > 0 && !tensor.data)
      fail(TESSERACT_ERROR_INVALID_ARGUMENT, position, "its data are null");
    if (count > 0) check_address(position, tensor);
  }

  // Holds the lengths against the signature's; binds what is not known yet.
  void check_lengths(const Position &position, const DLTensor &tensor, bool bind) {
    for (int32_t k = 0; k < tensor.ndim; k++) {
      const Length &length = position.lengths[static_cast<size_t>(k)];
      int64_t expected = length.fixed;
      if (length.variable >= 0) {
        int64_t &bound = variables_[static_cast<size_t>(length.variable)];
        if (bound < 0 && bind) bound = tensor.shape[k];
        expected = bound;
      }
      if (expected >= 0 && expected != tensor.shape[k])
        mismatch(position, "expected the shape " + expected_shape(position) + ", found " +
                               shape_text(tensor.ndim, tensor.shape));
    }
  }

  std::string expected_shape(const Position &position) const {
    const std::vector<int64_t> shape = known_shape(position);
    return shape_text(static_cast<int32_t>(shape.size()), shape.data());
  }

  std::vector<int64_t> known_shape(const Position &position) const {
    std::vector<int64_t> shape;
    for (const Length &length : position.lengths)
      shape.push_back(length.variable < 0 ? length.fixed
                                          : variables_[static_cast<size_t>(length.variable)]);
    return shape;
  }

  // Why the component can't take the tensor as it lies, or null.
  static const char *unfit(const Position &position, const DLTensor &tensor) {
    if (!has_layout(tensor, position.layout)) {
      if (position.layout == Layout::any) return "its strides run backwards or over each other";
      return position.layout == Layout::column_major ? "it is not compact column-major"
                                                     : "it is not compact row-major";
    }
    const auto address = reinterpret_cast<uintptr_t>(first_element(tensor));
    if (address & (position.alignment - 1)) return "it is not aligned";
    return nullptr;
  }

  void forbid_copy(const Position &position, const std::string &reason) const {
    if (!request_.no_copy) return;
    const std::string types = position.converts() ? " from " + dtype_name(position.given) + " to " +
                                                        dtype_name(position.declared)
                                                  : "";
    fail(TESSERACT_ERROR_SCHEMA, position, reason + types + ", and copies are forbidden");
  }

  // ---- Views

  // The caller's tensor with offset and strides as a component may expect them.
  void show(const Position &position, const DLTensor &given, View &view) {
    DLTensor &tensor = view.tensor;
    tensor = given;
    tensor.device = position.declared_device;
    tensor.data = tensor.data ? first_element(given) : given.data;
    tensor.byte_offset = 0;
    if (position.layout == Layout::row_major && !given.strides) return;
    view.strides.resize(static_cast<size_t>(given.ndim));
    const bool any = position.layout == Layout::any || position.layout == Layout::unchecked;
    if (any && given.strides)
      std::copy_n(given.strides, given.ndim, view.strides.begin());
    else
      compact_strides(given.ndim, given.shape, any ? Layout::row_major : position.layout,
                      view.strides.data());
    tensor.strides = given.ndim ? view.strides.data() : nullptr;
  }

  // Copies on a device are made in the order of the call's stream, and freed with the run: a graph
  // that has them would use freed memory.
  void check_replaceable(const Position &position, const char *why) const {
    if (is_host(position.declared_device)) return;
    require_stream(request_.stream);
    const std::string reason = why;
    if (!same_device(position.declared_device, call_.device))
      fail(TESSERACT_ERROR_DEVICE, position,
           reason + ", and can't be copied: it is on " + device_text(position.declared_device) +
               ", and the call's stream is of " + device_text(call_.device));
    const cuda::CurrentContext context(position.declared_device.device_id);
    if (cuda::is_captured(request_.stream))
      fail(TESSERACT_ERROR_DEVICE, position,
           reason + ", and can't be copied: the call's stream is being captured into a graph");
  }

  // The memory that replaces the caller's, of the dtype that the component takes.
  void replace(const Position &position, const DLTensor &given, View &view, const char *reason) {
    check_replaceable(position, reason);
    const Layout layout =
        position.layout == Layout::column_major ? Layout::column_major : Layout::row_major;
    view.copy = make_tensor_on(position.declared_device,
                               position.declared.lanes ? position.declared : given.dtype,
                               given.ndim, given.shape, layout);
    view.tensor = view.copy->dl_tensor;
  }

  // Between a tensor of the caller's and the one that replaces it; false as copy_elements.
  bool copy(const Position &position, const DLTensor &from, const DLTensor &to,
            int64_t *misfit) const {
    if (is_host(position.declared_device)) return copy_elements(from, to, misfit);
    const cuda::CurrentContext context(position.declared_device.device_id);
    copy_in_order(from, to, request_.stream, false);
    return true;
  }

  void count(const Position &position, const DLTensor &given, const View &view) const {
    uint64_t count = 0, bytes = 0;
    count_bytes(given.ndim, given.shape, dtype_size(view.tensor.dtype), &count, &bytes);
    call_.component->count_copy(
        position.converts() || position.converted ? TESSERACT_COPY_DTYPE : TESSERACT_COPY_LAYOUT,
        bytes);
  }

  void examine_input(uint32_t i) {
    const Position &position = call_.in[i];
    const DLTensor *given = request_.in[i];
    View &view = in_[i];
    if (!given) fail(TESSERACT_ERROR_INVALID_ARGUMENT, position, "its tensor is null");
    check_type(position, *given);
    if (abstract_) {
      check_size(position, *given);
      check_lengths(position, *given, true);
      view.tensor = *given;
      view.tensor.data = nullptr;
      view.tensor.dtype = position.declared;
      return;
    }
    check_memory(position, *given, &view.range);
    check_lengths(position, *given, true);
    const char *reason =
        position.converts() ? "its dtype must be converted" : unfit(position, *given);
    if (!reason) {
      show(position, *given, view);
      if (!position.converted) return;
      forbid_copy(position, "its dtype must be converted");
      return count(position, *given, view);
    }
    forbid_copy(position, reason);
    replace(position, *given, view, reason);
    int64_t misfit = 0;
    if (!copy(position, *given, view.tensor, &misfit))
      mismatch(position, "element " + std::to_string(misfit) + " does not fit " +
                             dtype_name(position.declared));
    count(position, *given, view);
  }

  void examine_output(uint32_t i) {
    const Position &position = call_.out[i];
    Output &output = out_[i];
    output.destination = request_.out && !abstract_ ? request_.out[i] : nullptr;
    if (!output.destination && !request_.result)
      fail(TESSERACT_ERROR_INVALID_ARGUMENT, position,
           "its destination is null, and no result was asked for");
    output.lengths = known_shape(position);
    const bool known = !position.optional && !position.any_rank && position.declared.lanes != 0 &&
                       std::all_of(output.lengths.begin(), output.lengths.end(),
                                   [](int64_t length) { return length >= 0; });
    if (known) {
      settle(i, position.declared, static_cast<int32_t>(output.lengths.size()),
             output.lengths.data());
      return;
    }
    if (output.destination) check_destination_memory(position, output);
    // The component says: it sees what is known.
    output.tensor.device = position.declared_device;
    output.tensor.dtype = position.declared;
    output.tensor.ndim = position.any_rank ? -1 : position.rank();
    output.tensor.shape = output.lengths.empty() ? nullptr : output.lengths.data();
  }

  void check_destination_memory(const Position &position, Output &output) const {
    const DLTensor &given = *output.destination;
    check_place(position, given);
    if (given.ndim < 0 || given.ndim > 64 || (given.ndim > 0 && !given.shape))
      fail(TESSERACT_ERROR_INVALID_ARGUMENT, position, "the destination's shape is null");
    if (dtype_size(given.dtype) == 0)
      mismatch(position, "the destination has the unknown dtype " + dtype_name(given.dtype));
    check_memory(position, given, &output.range);
    if (!separate_elements(given))
      mismatch(position, "elements of the destination overlap each other");
  }

  // Gives an output memory, now that its shape is known.
  void settle(uint32_t i, const DLDataType &dtype, int32_t ndim, const int64_t *shape) {
    const Position &position = call_.out[i];
    Output &output = out_[i];
    if (!output.destination) {
      tesseract_result::Entry &entry = result_->entries[i];
      entry.tensor =
          abstract_ ? make_shape(dtype, ndim, shape)
                    : make_tensor_on(position.declared_device, dtype, ndim, shape, position.layout);
      output.tensor = entry.tensor->dl_tensor;
    } else {
      check_destination_memory(position, output);
      const DLTensor &given = *output.destination;
      if (!same_dtype(given.dtype, dtype))
        mismatch(position, "the destination must be " + dtype_name(dtype) + ", it is " +
                               dtype_name(given.dtype));
      if (given.ndim != ndim || !std::equal(shape, shape + ndim, given.shape))
        mismatch(position, "the destination must have the shape " + shape_text(ndim, shape) +
                               ", it has " + shape_text(given.ndim, given.shape));
      const char *reason = unfit(position, given);
      if (reason) {
        forbid_copy(position, reason);
        replace(position, given, output, reason);
      } else {
        show(position, given, output);
      }
    }
    output.settled = true;
  }

  // ---- Overlap

  void check_overlap() const {
    for (uint32_t o = 0; o < call_.n_out; o++) {
      if (!out_[o].destination) continue;
      for (uint32_t i = 0; i < call_.n_in; i++)
        if (out_[o].range.overlaps(in_[i].range))
          fail(TESSERACT_ERROR_INVALID_ARGUMENT, call_.out[o],
               "the destination overlaps " + named(call_.in[i]));
      for (uint32_t p = 0; p < o; p++)
        if (out_[p].destination && out_[o].range.overlaps(out_[p].range))
          fail(TESSERACT_ERROR_INVALID_ARGUMENT, call_.out[o],
               "the destination overlaps that of " + named(call_.out[p]));
    }
  }

  // ---- The call

  size_t place(const Position &position) const {
    return position.index + (position.role == Position::Role::seed ? call_.n_inputs : 0);
  }

  void call(const ThreadSlot &slot) {
    std::vector<const DLTensor *> in(call_.input_template);
    in.resize(call_.n_inputs + call_.n_seeds);
    std::vector<DLTensor *> out(call_.n_outputs);
    std::vector<const tesseract_owner *> owners;
    if (request_.owners) owners.resize(in.size());
    for (uint32_t i = 0; i < call_.n_in; i++) {
      in[place(call_.in[i])] = &in_[i].tensor;
      // A copy is nobody's but the run's, so it can't be kept.
      if (request_.owners && !in_[i].copy) owners[place(call_.in[i])] = request_.owners[i];
    }
    for (uint32_t i = 0; i < call_.n_out; i++) out[call_.out[i].index] = &out_[i].tensor;

    Frame frame;
    fill_frame(call_, request_, frame);
    frame.sink = this;
    tesseract_frame &shown = frame.shown;
    if (call_.all_outputs && request_.result) shown.flags |= TESSERACT_FRAME_ALL;
    shown.inputs = in.data();
    shown.seeds = in.data() + call_.n_inputs;
    shown.outputs = out.data();
    shown.owners = request_.owners ? owners.data() : nullptr;
    const int32_t status = invoke(call_, frame, slot);
    if (status != TESSERACT_OK) throw component_failure(frame, status);
    delete frame.error;
  }

  void finish() {
    for (uint32_t i = 0; i < call_.n_out; i++) {
      const Position &position = call_.out[i];
      Output &output = out_[i];
      if (!output.settled) {
        if (position.optional && !output.destination) continue;
        fail(position.optional ? TESSERACT_ERROR_SCHEMA : TESSERACT_ERROR_COMPONENT, position,
             position.optional ? "there is none, but a destination was given"
                               : "the component did not allocate it");
      }
      if (output.copy) {
        int64_t misfit = 0;
        copy(position, output.tensor, *output.destination, &misfit);
        count(position, *output.destination, output);
      }
      if (output.destination && result_) {
        result_->entries[i].destination = true;
        result_->entries[i].tensor = describe_destination(*output.destination);
      }
    }
    if (!request_.result) return;
    check_complete(*result_, *call_.component);
    *request_.result = result_.release();
  }

  // ---- What the component asks for

  int32_t allocate(tesseract_frame *frame, uint64_t index, const DLDataType *dtype, int32_t ndim,
                   const int64_t *shape, DLTensor **tensor) override {
    const uint32_t i = call_.find_out(index);
    const Position &position = call_.out[i];
    Output &output = out_[i];
    if (output.settled) return settled_output(frame, index, dtype, ndim, shape, tensor);
    const DLDataType made = dtype ? *dtype : position.declared;
    check_made(position, made, ndim, shape);
    bind_lengths(position, shape);
    settle(i, made, ndim, shape);
    check_overlap();
    if (tensor) *tensor = &output.tensor;
    return TESSERACT_OK;
  }

  bool adopt(uint64_t index, DLManagedTensorVersioned *given) override {
    const uint32_t i = call_.find_out(index);
    const Position &position = call_.out[i];
    Output &output = out_[i];
    const DLTensor &made = given->dl_tensor;
    if (abstract_ || output.destination || !result_ ||
        !is_result_memory(made, position.declared_device))
      return false;
    check_made(position, made.dtype, made.ndim, made.shape);
    if (!has_layout(made, position.layout)) return false;
    bind_lengths(position, made.shape);
    result_->entries[i].tensor.reset(given);
    output.tensor = made;
    output.settled = true;
    return true;
  }

  // A name that only outputs have is bound by the first that is made.
  void bind_lengths(const Position &position, const int64_t *shape) {
    for (size_t k = 0; !position.any_rank && k < position.lengths.size(); k++) {
      const int32_t variable = position.lengths[k].variable;
      if (variable >= 0 && shape[k] >= 0) variables_[static_cast<size_t>(variable)] = shape[k];
    }
  }

  // What the component makes must be what it describes.
  void check_made(const Position &position, const DLDataType &made, int32_t ndim,
                  const int64_t *shape) const {
    if (dtype_size(made) == 0 || (position.declared.lanes && !same_dtype(made, position.declared)))
      fail(TESSERACT_ERROR_COMPONENT, position,
           "the component made " + dtype_name(made) + ", it describes " +
               (position.declared.lanes ? dtype_name(position.declared) : "any known dtype"));
    if (!position.any_rank && ndim != position.rank())
      fail(TESSERACT_ERROR_COMPONENT, position,
           "the component made the shape " + shape_text(ndim, shape) + ", it describes rank " +
               std::to_string(position.rank()));
    if (position.any_rank) return;
    const std::vector<int64_t> known = known_shape(position);
    for (int32_t k = 0; k < ndim; k++)
      if (known[static_cast<size_t>(k)] >= 0 && shape[k] != known[static_cast<size_t>(k)])
        fail(TESSERACT_ERROR_COMPONENT, position,
             "the component made the shape " + shape_text(ndim, shape) + ", expected " +
                 shape_text(ndim, known.data()));
  }

  int32_t add(tesseract_frame *frame, std::string_view path, const DLDataType *dtype, int32_t ndim,
              const int64_t *shape, DLTensor **tensor) override {
    return add_entry(*result_, frame, path, dtype, ndim, shape, tensor);
  }

  int32_t json(tesseract_frame *frame, std::string_view text) override {
    return result_ ? set_json(*result_, frame, text) : TESSERACT_OK;
  }

  const tesseract_call &call_;
  const RunRequest &request_;
  const bool abstract_;
  std::vector<int64_t> variables_;
  std::vector<View> in_;
  std::vector<Output> out_;
  std::unique_ptr<tesseract_result> result_;
};

}  // namespace

void run_general(const tesseract_call &call, const RunRequest &request, const ThreadSlot &slot) {
  GeneralRun(call, request).run(slot);
}

}  // namespace host
