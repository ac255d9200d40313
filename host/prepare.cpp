// From a signature to the program of its runs.

#include <algorithm>
#include <map>
#include <span>

#include "call.h"
#include "derive.h"
#include "device/driver.h"
#include "dtype.h"
#include "floating_point.h"
#include "frame.h"
#include "overlap.h"
#include "resolved_signature.h"
#include "run.h"
#include "signature.h"
#include "text.h"

namespace host {
namespace {

// Lengths by name: the description's names, and one name for each free axis of each leaf.
class Variables {
 public:
  // The lengths of a concrete leaf.  `rank`: where the leaf has any.  `loose`: every axis by
  // itself.
  std::vector<Length> lengths(const GivenLeaf &given, bool input, int32_t rank, bool loose) {
    const std::string key = (input ? "i " : "o ") + given.path;
    std::vector<Length> lengths;
    const bool own = loose || !given.leaf || given.leaf->any_rank;
    const size_t n = own ? static_cast<size_t>(rank) : given.leaf->dims.size();
    for (size_t k = 0; k < n; k++) {
      const Dim dim = own ? Dim{} : given.leaf->dims[k];
      if (dim.length >= 0)
        lengths.push_back({dim.length, -1});
      else if (dim.name >= 0)
        lengths.push_back({-1, variable("n " + std::to_string(dim.name))});
      else
        lengths.push_back({-1, variable(key + " " + std::to_string(k))});
    }
    return lengths;
  }

  uint32_t count() const { return static_cast<uint32_t>(numbers_.size()); }

 private:
  int32_t variable(const std::string &key) {
    return numbers_.emplace(key, static_cast<int32_t>(numbers_.size())).first->second;
  }

  std::map<std::string, int32_t> numbers_;
};

constexpr DLDataType says_itself = {0, 0, 0};

void check_given(const DLTensor &tensor, const GivenLeaf &given) {
  if (tensor.ndim < 0 || tensor.ndim > 64)
    throw Failure(TESSERACT_ERROR_SCHEMA,
                  quote(given.path) + " has the impossible rank " + std::to_string(tensor.ndim),
                  given.path);
  if (dtype_size(tensor.dtype) == 0)
    throw Failure(TESSERACT_ERROR_SCHEMA,
                  quote(given.path) + " has the unknown dtype " + dtype_name(tensor.dtype),
                  given.path);
}

class CallBuilder {
 public:
  CallBuilder(tesseract_component *component, GivenSignature given)
      : component_(*component), given_(std::move(given)), call_(new tesseract_call) {
    call_->component = component;
    component->references.fetch_add(1, std::memory_order_relaxed);
  }

  CallReference build() {
    const tesseract_plugin_table &plugin = *component_.plugin;
    tesseract_call &call = *call_;
    call.endpoint = given_.endpoint;
    call.instance = component_.instance;
    call.function = component_.offered(given_.endpoint);
    call.no_copy = given_.no_copy;
    call.all_outputs = given_.all_outputs && (given_.endpoint == TESSERACT_ENDPOINT_APPLY ||
                                              given_.endpoint == TESSERACT_ENDPOINT_ABSTRACT_EVAL);
    call.overlap_allowed = component_.description.overlap;
    const bool derived = !call.function;
    by_signature_ = derived || component_.has_prepare();
    loose_ = component_.description.component_checks;
    add_positions();
    settle_devices();
    call.n_variables = variables_.count();
    bind_constants();
    find_open_outputs();
    number_positions();
    make_classes(*call_);
    resolve();
    if (derived) {
      derive_call(call, given_);
    } else {
      call.lock = component_.lock;
      call.reentrant = component_.description.reentrant;
      call.default_floating_point = component_.description.default_floating_point;
      if (component_.owner) {  // which sees to all this there
        call.function = invoke_on_own_thread;
        call.default_floating_point = false;
      }
      if (component_.has_prepare()) prepare_plan(plugin);
    }
    choose_path();
    fill_frame();
    name_outputs();
    component_.prepared.fetch_add(1, std::memory_order_relaxed);
    return std::move(call_);
  }

 private:
  // ---- Positions

  void add_positions() {
    const bool jvp = given_.endpoint == TESSERACT_ENDPOINT_JVP;
    const bool vjp = given_.endpoint == TESSERACT_ENDPOINT_VJP;
    const bool jacobian = given_.endpoint == TESSERACT_ENDPOINT_JACOBIAN;
    for (const GivenLeaf &leaf : given_.inputs)
      call_->in.push_back(taken(leaf, true, Position::Role::input));
    if (jvp)
      for (const GivenLeaf &leaf : given_.wrt)
        call_->in.push_back(taken(leaf, true, Position::Role::seed));
    if (vjp)
      for (const GivenLeaf &leaf : given_.of)
        call_->in.push_back(taken(leaf, false, Position::Role::seed));
    if (vjp) {
      for (const GivenLeaf &leaf : given_.wrt) call_->out.push_back(wanted(leaf, true));
    } else if (jacobian) {
      for (const GivenLeaf &of : given_.of)
        for (const GivenLeaf &wrt : given_.wrt) call_->out.push_back(wanted_jacobian(of, wrt));
      for (const GivenLeaf &of : given_.of) rows_.push_back(wanted(of, false));
      for (const GivenLeaf &wrt : given_.wrt) columns_.push_back(wanted(wrt, true));
    } else {
      for (const GivenLeaf &leaf : given_.of) call_->out.push_back(wanted(leaf, false));
    }
  }

  // A tensor that comes in: an input, a tangent of one, or a cotangent of an output.
  Position taken(const GivenLeaf &given, bool input, Position::Role role) {
    Position position;
    position.role = role;
    position.path = given.path;
    const ArrayLeaf *leaf = given.leaf;
    const bool checked = leaf && !loose_;
    const GivenLeaf &spec = role == Position::Role::seed && input ? as_input(given) : given;
    if (given.tensor) check_given(*given.tensor, given);
    int32_t rank = given.tensor ? given.tensor->ndim : spec.tensor ? spec.tensor->ndim : -1;
    if (leaf && !leaf->any_rank) {
      const auto declared = static_cast<int32_t>(leaf->dims.size());
      if (rank < 0) rank = declared;
      if (checked && rank != declared)
        fail(given,
             "expected rank " + std::to_string(declared) + ", found " + std::to_string(rank));
    }
    if (rank < 0) fail(given, "the signature must give its rank by a tensor");
    position.given = given.tensor  ? given.tensor->dtype
                     : spec.tensor ? spec.tensor->dtype
                                   : says_itself;
    position.declared = leaf && leaf->dtype && !loose_ ? *leaf->dtype : position.given;
    if (position.given.lanes == 0 && leaf && leaf->dtype) {
      position.given = *leaf->dtype;
      position.declared = *leaf->dtype;
    }
    if (position.given.lanes == 0) fail(given, "the signature must give its dtype by a tensor");
    if (!dtype_castable(position.given, position.declared))
      fail(given,
           "expected " + dtype_name(position.declared) + ", found " + dtype_name(position.given));
    const DLDataType &described = leaf && leaf->dtype ? *leaf->dtype : position.given;
    position.converted = loose_ && !same_dtype(position.given, described);
    if ((position.converts() || position.converted) && given_.no_copy)
      fail(given, "expected " + dtype_name(described) + ", found " + dtype_name(position.given) +
                      ", and copies are forbidden");
    if (given.tensor) place(position, given);
    position.lengths = variables_.lengths(given, input, rank, loose_);
    position.layout = loose_ || !leaf ? Layout::unchecked : leaf->layout;
    // What a component that checks by itself can't take is data that the processor can't.
    position.alignment = checked ? leaf->alignment : 1;
    return position;
  }

  // The input that a tangent belongs to, whose tensor says dtype and rank where nothing else does.
  const GivenLeaf &as_input(const GivenLeaf &given) const {
    for (const GivenLeaf &input : given_.inputs)
      if (input.path == given.path) return input;
    return given;
  }

  // A tensor that goes out: an output, or a gradient by an input.
  Position wanted(const GivenLeaf &given, bool input) {
    Position position;
    position.role = Position::Role::output;
    position.path = given.path;
    const ArrayLeaf &leaf = *given.leaf;
    position.optional = !input && !leaf.required;
    position.open = position.optional;
    set_output_dtype(position, given, leaf);
    position.open |= position.declared.lanes == 0;
    const GivenLeaf &spec = input ? as_input(given) : given;
    if (leaf.any_rank && input && spec.tensor && !loose_) {
      position.lengths = variables_.lengths(given, input, spec.tensor->ndim, false);
    } else if (leaf.any_rank || loose_) {
      open_output(position, leaf.any_rank ? -1 : static_cast<int32_t>(leaf.dims.size()));
    } else {
      position.lengths = variables_.lengths(given, input, 0, false);
    }
    position.layout = loose_ ? Layout::unchecked : leaf.layout;
    position.alignment = loose_ ? 1 : leaf.alignment;
    check_destination(position, given);
    return position;
  }

  Position wanted_jacobian(const GivenLeaf &of, const GivenLeaf &wrt) {
    Position position;
    position.role = Position::Role::output;
    position.path = of.path;
    position.wrt = wrt.path;
    if (of.tensor || wrt.tensor)
      throw Failure(TESSERACT_ERROR_INVALID_ARGUMENT,
                    quote(of.tensor ? of.path : wrt.path) +
                        " has a tensor, but a Jacobian takes no destinations",
                    of.tensor ? of.path : wrt.path);
    set_output_dtype(position, of, *of.leaf);
    position.open = position.declared.lanes == 0;
    if (loose_) {
      // The contract keeps the dtype that the module returns.
      position.declared = position.given = says_itself;
      open_output(position, -1);
      return position;
    }
    const GivenLeaf &input = as_input(wrt);
    if (of.leaf->any_rank || (wrt.leaf->any_rank && !input.tensor)) {
      open_output(position, -1);
      return position;
    }
    position.lengths = variables_.lengths(of, false, 0, false);
    const std::vector<Length> columns =
        variables_.lengths(wrt, true, input.tensor ? input.tensor->ndim : 0, false);
    position.lengths.insert(position.lengths.end(), columns.begin(), columns.end());
    position.alignment = of.leaf->alignment;
    return position;
  }

  void set_output_dtype(Position &position, const GivenLeaf &given, const ArrayLeaf &leaf) {
    position.declared = leaf.dtype ? *leaf.dtype : says_itself;
    if (!leaf.dtype && !given.tensor && as_input(given).tensor &&
        given_.endpoint == TESSERACT_ENDPOINT_VJP)
      position.declared = as_input(given).tensor->dtype;
    position.given = position.declared;
  }

  void open_output(Position &position, int32_t rank) {
    position.open = true;
    position.any_rank = rank < 0;
    for (int32_t k = 0; k < rank; k++) position.lengths.push_back({-1, -1});
  }

  void check_destination(Position &position, const GivenLeaf &given) {
    if (!given.tensor) return;
    check_given(*given.tensor, given);
    place(position, given);
    if (position.declared.lanes == 0)
      position.given = given.tensor->dtype;
    else if (!same_dtype(given.tensor->dtype, position.declared))
      fail(given, "the destination must be " + dtype_name(position.declared) + ", it is " +
                      dtype_name(given.tensor->dtype));
    if (!position.any_rank && given.tensor->ndim != position.rank())
      fail(given, "the destination must have rank " + std::to_string(position.rank()) +
                      ", it has " + std::to_string(given.tensor->ndim));
  }

  [[noreturn]] static void fail(const GivenLeaf &given, const std::string &why) {
    throw Failure(TESSERACT_ERROR_SCHEMA, quote(given.path) + ": " + why, given.path);
  }

  // ---- Devices

  static void place(Position &position, const GivenLeaf &given) {
    position.given_device = device_of(*given.tensor, given.path);
    position.placed = true;
  }

  // What the signature doesn't place is where the others are.
  void place_the_rest(std::vector<Position> &positions) const {
    for (Position &position : positions)
      if (!position.placed) position.given_device = call_->device;
  }

  // Decides whether device tensors are shown as they are, or go through the host.
  void settle_devices() {
    tesseract_call &call = *call_;
    if (call.endpoint == TESSERACT_ENDPOINT_ABSTRACT_EVAL) return;
    const bool direct = component_.description.cuda && call.function && !given_.staged;
    const bool several = direct && component_.description.multi_device;
    const Position *first = nullptr;
    for (const std::vector<Position> *positions : {&call.in, &call.out})
      for (const Position &position : *positions)
        if (!is_host(position.given_device)) check_device(position, first, several);
    if (!first) return;
    call.device = first->given_device;
    if (!direct) {
      if (given_.no_copy)
        throw Failure(TESSERACT_ERROR_DEVICE,
                      quote(first->path) + " is on " + device_text(first->given_device) + ", and " +
                          why_staged(component_, call.endpoint) + ": copies are forbidden",
                      first->path);
      call.staging = std::make_unique<Ways>();
      if (component_.description.cuda && !given_.staged) place_the_rest(call.out);
      return;
    }
    call.on_device = true;
    call.synchronises = !component_.description.stream_ordered;
    for (std::vector<Position> *positions : {&call.in, &call.out}) {
      place_the_rest(*positions);
      for (Position &position : *positions) position.declared_device = position.given_device;
    }
    for (const Position &position : call.in)
      if (!is_host(position.given_device) && position.converts())
        throw Failure(TESSERACT_ERROR_SCHEMA,
                      quote(position.path) + ": expected " + dtype_name(position.declared) +
                          ", found " + dtype_name(position.given) +
                          ", and arrays on a device are not converted",
                      position.path);
  }

  // Sets the first tensor on a device; the others must be on the same, unless there may be several.
  void check_device(const Position &position, const Position *&first, bool several) const {
    const int32_t id = position.given_device.device_id;
    const std::string place = quote(position.path) + " is on " + device_text(position.given_device);
    try {
      cuda::driver();
    } catch (const Failure &failure) {
      throw Failure(failure.status, place + ", but " + failure.message, position.path);
    }
    if (id < 0 || id >= cuda::device_count())
      throw Failure(
          TESSERACT_ERROR_DEVICE,
          place + ", but there are " + std::to_string(cuda::device_count()) + ", counted from 0",
          position.path);
    if (!first) first = &position;
    if (id == first->given_device.device_id || several) return;
    throw Failure(
        TESSERACT_ERROR_DEVICE,
        quote(position.path) + " is on " + device_text(position.given_device) + " and " +
            quote(first->path) + " on " + device_text(first->given_device) +
            ": all tensors of a call must be on one device" +
            (component_.description.multi_device ? " where they go through the host" : ""),
        position.path);
  }

  // ---- Lengths

  // Constants take part like tensors: what they bind is fixed.
  void bind_constants() {
    bound_.assign(call_->n_variables, -1);
    for (auto &[index, tensor] : given_.constants) {
      const ArrayLeaf &leaf = component_.description.inputs.arrays[index];
      const GivenLeaf given = {leaf.path, &leaf, index, nullptr};
      const DLTensor &value = tensor->dl_tensor;
      if (!leaf.any_rank && value.ndim != static_cast<int32_t>(leaf.dims.size()))
        fail(given, "expected rank " + std::to_string(leaf.dims.size()) + ", found " +
                        std::to_string(value.ndim));
      const std::vector<Length> lengths = variables_.lengths(given, true, value.ndim, false);
      bound_.resize(variables_.count(), -1);
      for (size_t k = 0; k < lengths.size(); k++) bind(given, value, lengths[k], k);
      call_->constants.push_back({index, std::move(tensor)});
    }
    call_->n_variables = variables_.count();
    const auto fix = [this](std::vector<Position> &positions) {
      for (Position &position : positions)
        for (Length &length : position.lengths)
          if (length.variable >= 0 && bound_[static_cast<size_t>(length.variable)] >= 0)
            length = {bound_[static_cast<size_t>(length.variable)], -1};
    };
    fix(call_->in);
    fix(call_->out);
    fix(rows_);
    fix(columns_);
  }

  void bind(const GivenLeaf &given, const DLTensor &value, const Length &length, size_t axis) {
    int64_t expected = length.fixed;
    if (length.variable >= 0) {
      int64_t &bound = bound_[static_cast<size_t>(length.variable)];
      if (bound < 0) bound = value.shape[axis];
      expected = bound;
    }
    if (expected != value.shape[axis])
      fail(given, "axis " + std::to_string(axis) + " must have length " + std::to_string(expected) +
                      ", the shape is " + shape_text(value.ndim, value.shape));
  }

  // An output is open if nothing that comes in binds one of its lengths.
  void find_open_outputs() {
    std::vector<bool> known(call_->n_variables, false);
    for (const Position &position : call_->in)
      for (const Length &length : position.lengths)
        if (length.variable >= 0) known[static_cast<size_t>(length.variable)] = true;
    for (Position &position : call_->out)
      for (const Length &length : position.lengths)
        if (length.variable >= 0 && !known[static_cast<size_t>(length.variable)])
          position.open = true;
  }

  // ---- The component's view

  void number_positions() {
    tesseract_call &call = *call_;
    call.n_in = static_cast<uint32_t>(call.in.size());
    call.n_out = static_cast<uint32_t>(call.out.size());
    const auto inputs = static_cast<uint32_t>(given_.inputs.size());
    if (by_signature_) {
      call.n_inputs = inputs;
      call.n_seeds = call.n_in - inputs;
      call.n_outputs = call.n_out;
      for (uint32_t i = 0; i < call.n_in; i++) call.in[i].index = i < inputs ? i : i - inputs;
      for (uint32_t i = 0; i < call.n_out; i++) call.out[i].index = i;
    } else {
      number_by_table(inputs);
    }
    call.input_template.assign(call.n_inputs, nullptr);
    if (!by_signature_)
      for (const Constant &constant : call.constants)
        call.input_template[constant.index] = &constant.tensor->dl_tensor;
    call.direct_in = call.n_in == call.n_inputs + call.n_seeds;
    for (uint32_t i = 0; i < call.n_in; i++)
      call.direct_in &= call.in[i].index == (i < inputs ? i : i - inputs);
    call.direct_out = call.n_out == call.n_outputs;
    for (uint32_t i = 0; i < call.n_out; i++) call.direct_out &= call.out[i].index == i;
  }

  void number_by_table(uint32_t inputs) {
    tesseract_call &call = *call_;
    const auto n_inputs = static_cast<uint32_t>(component_.description.inputs.arrays.size());
    const auto n_outputs = static_cast<uint32_t>(component_.description.outputs.arrays.size());
    const bool vjp = given_.endpoint == TESSERACT_ENDPOINT_VJP;
    const bool jvp = given_.endpoint == TESSERACT_ENDPOINT_JVP;
    const bool jacobian = given_.endpoint == TESSERACT_ENDPOINT_JACOBIAN;
    call.n_inputs = n_inputs;
    call.n_seeds = vjp ? n_outputs : jvp ? n_inputs : 0;
    call.n_outputs = vjp ? n_inputs : jacobian ? n_outputs * n_inputs : n_outputs;
    for (uint32_t i = 0; i < inputs; i++) call.in[i].index = given_.inputs[i].table_index;
    const std::vector<GivenLeaf> &seeds = vjp ? given_.of : given_.wrt;
    for (uint32_t i = inputs; i < call.n_in; i++) call.in[i].index = seeds[i - inputs].table_index;
    for (uint32_t i = 0; i < call.n_out; i++) {
      if (vjp)
        call.out[i].index = given_.wrt[i].table_index;
      else if (!jacobian)
        call.out[i].index = given_.of[i].table_index;
      else
        call.out[i].index = given_.of[i / given_.wrt.size()].table_index * n_inputs +
                            given_.wrt[i % given_.wrt.size()].table_index;
    }
  }

  // The fast run does for all positions what needs no more than comparing.
  void choose_path() {
    const auto plain = [](const Position &position) {
      return position.layout == Layout::row_major && !position.converts() && !position.open;
    };
    const uint32_t n = call_->n_in + call_->n_out;
    // Extents, scratch, the component's arrays with owners, and the outputs of a result.
    call_->stack_words = 2 * padded_count(n) + call_->scratch_words + call_->n_variables +
                         2 * (call_->n_inputs + call_->n_seeds) + call_->n_outputs + call_->n_out +
                         1;
    call_->fast = call_->endpoint != TESSERACT_ENDPOINT_ABSTRACT_EVAL && n <= most_fast_tensors &&
                  call_->n_inputs + call_->n_seeds <= 1024 && call_->n_outputs <= 1024 &&
                  call_->scratch_words <= 1024 && call_->n_variables <= 1024 &&
                  std::all_of(call_->in.begin(), call_->in.end(), plain) &&
                  std::all_of(call_->out.begin(), call_->out.end(), plain);
    call_->unchecked = loose_ && can_run_unchecked(*call_);
    if (call_->on_device && component_.check_pointers) call_->fast = call_->unchecked = false;
    if (!call_->staging) return;
    *call_->staging = {call_->fast, call_->unchecked};
    call_->fast = call_->unchecked = false;
  }

  void name_outputs() {
    auto names = std::make_shared<OutputNames>();
    for (const Position &position : call_->out) names->push_back({position.path, position.wrt});
    call_->names = std::move(names);
  }

  void fill_frame() {
    tesseract_frame &frame = call_->frame;
    frame.size = sizeof frame;
    frame.endpoint = call_->endpoint;
    frame.host = &host_table;
    frame.log = &component_.log;
    frame.signature = call_->seen ? &call_->seen->signature : &call_->resolved.signature;
    frame.n_inputs = call_->n_inputs;
    frame.n_seeds = call_->n_seeds;
    frame.n_outputs = call_->n_outputs;
  }

  // ---- What is handed out

  void resolve() {
    resolve_signature(call_->resolved, given_, positions(), false);
    const bool converts = std::any_of(call_->in.begin(), call_->in.end(),
                                      [](const Position &position) { return position.converts(); });
    if (!converts && !call_->staging) return;
    call_->seen = std::make_unique<ResolvedSignature>();
    resolve_signature(*call_->seen, given_, positions(), true);
  }

  SignaturePositions positions() const {
    const std::span<const Position> in(call_->in), out(call_->out);
    const size_t inputs = given_.inputs.size();
    switch (given_.endpoint) {
      case TESSERACT_ENDPOINT_JACOBIAN:
        return {in, rows_, columns_};
      case TESSERACT_ENDPOINT_JVP:
        return {in.first(inputs), out, in.subspan(inputs)};
      case TESSERACT_ENDPOINT_VJP:
        return {in.first(inputs), in.subspan(inputs), out};
      default:
        return {in, out, {}};
    }
  }

  void prepare_plan(const tesseract_plugin_table &plugin) {
    LooseFrame frame(component_);
    int32_t status = TESSERACT_OK;
    run_alone(component_, [&] {
      status = frame.run([&] {
        return plugin.prepare(component_.instance,
                              call_->seen ? &call_->seen->signature : &call_->resolved.signature,
                              &call_->plan, frame.shown());
      });
    });
    frame.check(status, "prepare");
  }

  tesseract_component &component_;
  GivenSignature given_;
  Variables variables_;
  CallReference call_;
  std::vector<int64_t> bound_;  // lengths that constants bind, -1 else
  bool by_signature_ = false;
  bool loose_ = false;
  std::vector<Position> rows_, columns_;  // of a Jacobian: its outputs and inputs
};

}  // namespace

CallReference prepare_call(tesseract_component *component, const tesseract_signature &signature) {
  // Numbers in texts are read as everywhere, whatever the caller traps.
  const DefaultFloatingPoint environment(true);
  return CallBuilder(component, read_signature(*component, signature)).build();
}

}  // namespace host
