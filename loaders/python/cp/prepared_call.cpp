#include "prepared_call.h"

#include <algorithm>

#include "../../../python/arrays/layout.h"
#include "../engine/errors.h"
#include "../engine/thread_log.h"
#include "cancel.h"
#include "constructor.h"
#include "errors.h"
#include "parts.h"
#include "results.h"
#include "settle.h"

namespace tesseract::python {
namespace {

bool is_plain(const DLTensor *tensor, const Slot &slot) {
  if (!tensor || tensor->ndim != slot.ndim || tensor->dtype.code != slot.dtype.code ||
      tensor->dtype.bits != slot.dtype.bits || tensor->dtype.lanes != 1) {
    return false;
  }
  const bool has_data = tensor->data || bytes_of(*tensor) == 0;
  if (slot.on_device) return arrays::is_on_device(*tensor) && has_data;
  return is_on_host(*tensor) && has_data && is_compact(*tensor);
}

bool has_lengths(const DLTensor &tensor, const DLTensor &other) {
  if (tensor.ndim != other.ndim) return false;
  for (int32_t k = 0; k < tensor.ndim; k++) {
    if (tensor.shape[k] != other.shape[k]) return false;
  }
  return true;
}

}  // namespace

bool PreparedCall::run(int32_t &status) {
  if (!can_show()) return false;
  bool called = false;
  objects_ = plan_.frames_->take();
  const RunningCall running(frame_);
  const engine::LogScope warnings(plan_.log_.get());
  status = guarded(frame_, [&]() -> int32_t {
    show();
    if (!build()) return TESSERACT_OK;
    called = true;
    return call();
  });
  if (status != TESSERACT_OK) transfers_.abandon();
  if (status != TESSERACT_OK || !keep()) {
    inputs_ = Ref();
    objects_->vector = Ref();
  }
  const bool done = called || status != TESSERACT_OK;
  const int32_t settled = guarded(frame_, [&] { return settle(); });
  if (!done && settled == TESSERACT_OK) return false;
  if (called) end_streams();
  if (status == TESSERACT_OK) status = settled;
  return true;
}

// True where the arrays can be shown to the module as they lie.
bool PreparedCall::can_show() const {
  const auto &slots = plan_.slots_;
  const size_t n = plan_.n_inputs_;
  if (frame_->n_inputs != n || frame_->n_inputs + frame_->n_seeds != slots.size()) return false;
  for (size_t i = 0; i < slots.size(); i++) {
    if (!is_plain(i < n ? frame_->inputs[i] : frame_->seeds[i - n], slots[i])) return false;
  }
  if (!plan_.inputs_->fits(frame_->inputs)) return false;
  if (!plan_.derivative_) return true;
  for (size_t i = 0; i < plan_.derivative_->seeds.size(); i++) {
    const Derivative::Seed &seed = plan_.derivative_->seeds[i];
    const DLTensor &tensor = *frame_->seeds[i];
    if (!suits(seed.leaf, slots[n + i]) || !seed.leaf.has_lengths(tensor.shape)) return false;
    if (seed.like >= 0 && !has_lengths(tensor, *frame_->inputs[seed.like])) return false;
  }
  return true;
}

void PreparedCall::show() {
  copies_ = instance_.keeps_inputs;
  const size_t n = plan_.n_inputs_;
  for (size_t i = 0; i < plan_.slots_.size(); i++) {
    const DLTensor &tensor = *(i < n ? frame_->inputs[i] : frame_->seeds[i - n]);
    if (plan_.slots_[i].on_device) {
      objects_->show_on_device(i, tensor, access_);
      continue;
    }
    const bool owned = frame_->owners && frame_->owners[i];
    const uint64_t bytes = copies_ && !owned && tensor.ndim > 0 ? bytes_of(tensor) : 0;
    objects_->show(i, tensor, bytes > 0);
    if (bytes) frame_->host->copied(frame_, TESSERACT_COPY_OWNED, bytes);
  }
}

// False for a miss.
bool PreparedCall::build() {
  if (objects_->kept) {
    plan_.inputs_->set_hidden(objects_->kept.get(), false);
    inputs_ = std::move(objects_->kept);
    return true;
  }
  inputs_ = plan_.inputs_->build(*objects_, context_);
  if (!inputs_ && PyErr_Occurred()) throw PythonError{};
  return static_cast<bool>(inputs_);
}

int32_t PreparedCall::call() {
  Ref function(Py_XNewRef(PyDict_GetItemWithError(plan_.namespace_.get(), plan_.function_.get())));
  if (!function) {
    if (!PyErr_Occurred()) PyErr_SetObject(PyExc_NotImplementedError, plan_.function_.get());
    throw PythonError{};
  }
  Ref *const place = objects_->spare ? offer(objects_->spare) : nullptr;
  Ref returned = call_function(function.get());
  if (place && *place) objects_->spare = std::move(*place);
  if (!returned) fail();
  write(returned);
  if (returned && !objects_->spare) objects_->spare = recycle(std::move(returned));
  return TESSERACT_OK;
}

Ref PreparedCall::call_function(PyObject *function) {
  if (plan_.derivative_) return call_derivative(function);
  PyObject *arguments[] = {nullptr, inputs_.get()};
  return Ref(
      PyObject_Vectorcall(function, arguments + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
}

Ref PreparedCall::make_vector() const {
  Ref made = own(PyDict_New());
  for (size_t i = 0; i < plan_.derivative_->seeds.size(); i++) {
    check(PyDict_SetItem(made.get(), plan_.derivative_->seeds[i].path.get(),
                         objects_->object(plan_.n_inputs_ + i)));
  }
  return made;
}

// True where the module has left the vector as it was, and Python's collector knows nothing of it.
bool PreparedCall::is_untouched_vector() const {
  PyObject *dict = objects_->vector.get();
  const auto &seeds = plan_.derivative_->seeds;
  if (Py_REFCNT(dict) != 1 || PyDict_GET_SIZE(dict) != static_cast<Py_ssize_t>(seeds.size()) ||
      PyObject_GC_IsTracked(dict)) {
    return false;
  }
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t position = 0;
  for (size_t i = 0; i < seeds.size(); i++) {
    if (!PyDict_Next(dict, &position, &key, &value) || key != seeds[i].path.get() ||
        value != objects_->object(plan_.n_inputs_ + i)) {
      return false;
    }
  }
  return true;
}

Ref PreparedCall::call_derivative(PyObject *function) {
  const Derivative &derivative = *plan_.derivative_;
  Ref sets[CallFrame::kSets];
  PyObject *arguments[5] = {nullptr, inputs_.get()};
  for (size_t i = 0; i < derivative.sets.size(); i++) {
    sets[i] = std::move(objects_->sets[i]);
    if (!sets[i]) sets[i] = own(PySet_New(derivative.sets[i].get()));
    arguments[2 + i] = sets[i].get();
  }
  if (derivative.takes_vector) {
    if (!objects_->vector) objects_->vector = make_vector();
    arguments[2 + derivative.sets.size()] = objects_->vector.get();
  }
  Ref returned(PyObject_Vectorcall(function, arguments + 1, 0 | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                   derivative.keywords.get()));
  for (size_t i = 0; CallFrame::reuses && returned && i < derivative.sets.size(); i++) {
    if (is_own_copy(sets[i].get(), derivative.copies[i].get())) {
      objects_->sets[i] = std::move(sets[i]);
    }
  }
  return returned;
}

// The exception that is set, as the failure of the endpoint.
void PreparedCall::fail() {
  if (!PyErr_ExceptionMatches(PyExc_Exception)) throw PythonError{};
  const Ref error = take_exception();
  const Ref failure = own(PyObject_CallOneArg(plan_.failure_.get(), error.get()));
  PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(failure.get())), failure.get());
  throw PythonError{};
}

void PreparedCall::write(Ref &returned) {
  if (plan_.derivative_ ? write_derivatives(returned) : write_outputs(returned)) return;
  if (PyErr_Occurred()) throw PythonError{};
  const Ref answer = own(PyObject_CallOneArg(plan_.finish_.get(), returned.get()));
  returned = Ref();
  write_results(answer.get(), frame_, transfers_);
}

// False for a miss, before anything was written.
bool PreparedCall::write_outputs(Ref &returned) {
  if (plan_.outputs_) {
    return plan_.outputs_->write(returned, plan_.encode_.get(), context_, frame_, transfers_);
  }
  if (!plan_.output_node_) return false;
  const bool is_dict = PyDict_CheckExact(returned.get());
  const engine::Source source = is_dict ? engine::Source::kGiven : engine::Source::kDumped;
  const Ref tree = engine::plain(*plan_.output_node_, returned.get(), source, context_);
  if (!tree) return false;
  const Ref answer = own(PyObject_CallOneArg(plan_.extract_.get(), tree.get()));
  write_results(answer.get(), frame_, transfers_);
  return true;
}

// The arrays of a dict of results, or of one row of a Jacobian; false for a miss.
bool PreparedCall::check_row(PyObject *row, const engine::Leaf *leaves, Ref *arrays) {
  const std::vector<Ref> &columns = plan_.derivative_->columns;
  for (size_t c = 0; c < columns.size(); c++) {
    Ref found(Py_XNewRef(PyDict_GetItemWithError(row, columns[c].get())));
    if (found && is_exactly(leaves[c], found.get())) {
      arrays[c] = std::move(found);
    } else if (found) {
      arrays[c] = engine::accept_leaf(leaves[c], found.get(), context_);
    }
    if (!arrays[c]) {
      engine::forget_exception();
      return false;
    }
  }
  return true;
}

// As Outputs::write, for dicts of exactly the keys that were asked for.
bool PreparedCall::write_derivatives(Ref &returned) {
  const Derivative &derivative = *plan_.derivative_;
  const size_t columns = derivative.columns.size();
  const bool is_nested = !derivative.rows.empty();
  const size_t rows = is_nested ? derivative.rows.size() : 1;
  if (!PyDict_CheckExact(returned.get())) return false;
  if (is_nested && PyDict_GET_SIZE(returned.get()) != static_cast<Py_ssize_t>(rows)) return false;
  constexpr size_t kFew = 8;
  Ref few[kFew];
  const size_t count = rows * columns;
  const std::unique_ptr<Ref[]> many(count > kFew ? new Ref[count] : nullptr);
  Ref *const arrays = many ? many.get() : few;
  for (size_t r = 0; r < rows; r++) {
    PyObject *row = is_nested ? PyDict_GetItemWithError(returned.get(), derivative.rows[r].get())
                              : returned.get();
    if (!row || !PyDict_CheckExact(row) ||
        PyDict_GET_SIZE(row) != static_cast<Py_ssize_t>(columns)) {
      engine::forget_exception();
      return false;
    }
    const Ref held(Py_NewRef(row));
    if (!check_row(row, &derivative.leaves[r * columns], arrays + r * columns)) return false;
  }
  const auto may_be = [](const Ref &array) { return may_be_taken(array.get()); };
  if (std::any_of(arrays, arrays + count, may_be)) returned = Ref();
  for (size_t i = 0; i < count; i++) {
    if (!frame_->outputs[i]) continue;
    if (!returned && may_be(arrays[i]) &&
        was_taken(arrays[i], derivative.dtypes[i], frame_, i, transfers_)) {
      arrays[i] = Ref();
      continue;
    }
    PyObject *array = arrays[i].get();
    if (is_exactly(derivative.leaves[i], array) &&
        wrote_exactly(array, derivative.dtypes[i], *frame_->outputs[i])) {
      continue;
    }
    write_result(array, frame_, i, transfers_);
  }
  transfers_.finish();
  return true;
}

// Leaves the inputs, as nobody has touched them, to the next call.
bool PreparedCall::keep() {
  const Layout &layout = *plan_.inputs_;
  if (!CallFrame::reuses || !inputs_ || !layout.can_be_kept()) return false;
  if (objects_->vector && !is_untouched_vector()) return false;
  if (!objects_->is_untouched(plan_.n_inputs_)) return false;
  if (!layout.is_untouched(inputs_.get(), *objects_)) return false;
  layout.set_hidden(inputs_.get(), true);
  objects_->kept = std::move(inputs_);
  return true;
}

// What is left of the arrays; the frame goes back to the others.
int32_t PreparedCall::settle() {
  if (frame_->stream) objects_->revoke();
  if (objects_->kept) {
    plan_.frames_->give(std::move(objects_));
    return TESSERACT_OK;
  }
  std::vector<CallFrame::Held> held;
  objects_->release(held);
  plan_.frames_->give(std::move(objects_));
  if (held.empty()) return TESSERACT_OK;
  std::vector<Argument> arguments;
  const size_t n = plan_.n_inputs_;
  for (CallFrame::Held &each : held) {
    const size_t i = each.slot;
    const DLTensor *tensor = i < n ? frame_->inputs[i] : frame_->seeds[i - n];
    const tesseract_owner *owner = frame_->owners ? frame_->owners[i] : nullptr;
    const bool on_device = plan_.slots_[i].on_device;
    arguments.push_back(
        {std::move(each.view), tensor, owner, &(*plan_.paths_)[i], false, on_device});
  }
  return tesseract::python::settle(instance_, frame_, arguments, copies_);
}

// What the module printed without ending the line.
void PreparedCall::end_streams() {
  if (!plan_.state_->unfinished) return;
  const Ref done(PyObject_CallNoArgs(plan_.stream_end_.get()));
  PyErr_Clear();
}

}  // namespace tesseract::python
