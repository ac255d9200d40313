#include "call.h"

#include "cancel.h"
#include "dtype.h"
#include "errors.h"
#include "escape.h"
#include "instance.h"
#include "results.h"
#include "thread_state.h"
#include "views.h"

namespace tesseract::python {
namespace {

// One array given to the module.
struct Argument {
  View view;
  const DLTensor *tensor;
  const tesseract_owner *owner;  // null: the memory is only the call's
  const std::string *path;
  bool copied;  // its memory is its own

  bool borrows() const { return !copied && !owner; }
};

// The tensors of a frame as arrays, and what to do about those that outlive it.
//
// The first successful call of each endpoint gets copies of memory that only the call owns.  A
// module that keeps one is known from then on and always gets copies.  One that begins to keep
// inputs later has the array moved to a copy; where that fails, something would read freed memory
// at the next call, so there is none.
class Arguments {
 public:
  Arguments(Instance &instance, const Plan &plan, tesseract_frame *frame)
      : instance_(instance), frame_(frame) {
    if (frame->n_inputs + frame->n_seeds != plan.paths.size()) {
      throw CallFailure{TESSERACT_ERROR_INTERNAL, "", "the frame does not fit its plan"};
    }
    copies_ = instance.keeps_inputs || !instance.called[static_cast<size_t>(frame->endpoint)];
    arguments_.reserve(plan.paths.size());
    inputs_ = add_all(frame->inputs, frame->n_inputs, 0, plan.paths);
    seeds_ = add_all(frame->seeds, frame->n_seeds, frame->n_inputs, plan.paths);
  }

  PyObject *inputs() const { return inputs_.get(); }
  PyObject *seeds() const { return seeds_.get(); }

  // After the call, with its results dropped.  Returns TESSERACT_OK, or the status of an error that
  // it recorded.
  int32_t settle(bool succeeded) {
    inputs_ = Ref();
    seeds_ = Ref();
    if (succeeded) instance_.called[static_cast<size_t>(frame_->endpoint)] = true;
    for (Argument &argument : arguments_) {
      if (argument.owner && !argument.copied && is_held(argument.view)) {
        keep_owner(*argument.view.exporter, *argument.owner);
      }
    }
    // Copies may be kept by a module that is known to keep them.
    if (instance_.keeps_inputs && !instance_.strict && copies_) return TESSERACT_OK;
    if (!any_held()) return TESSERACT_OK;
    for (const bool thorough : {false, true}) {
      collect_garbage(thorough);
      if (!any_held()) return TESSERACT_OK;
    }
    return settle_held();
  }

 private:
  Ref add_all(const DLTensor *const *tensors, uint64_t count, uint64_t offset,
              const std::vector<std::string> &paths) {
    Ref tuple = own(PyTuple_New(static_cast<Py_ssize_t>(count)));
    for (uint64_t i = 0; i < count; i++) {
      PyObject *item = tensors[i] ? add(*tensors[i], offset + i, paths) : Py_None;
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), Py_NewRef(item));
    }
    return tuple;
  }

  PyObject *add(const DLTensor &tensor, uint64_t position, const std::vector<std::string> &paths) {
    const tesseract_owner *owner = frame_->owners ? frame_->owners[position] : nullptr;
    const std::string &path = paths[position];
    const uint64_t bytes = bytes_of(tensor);
    const bool copied = bytes == 0 || (copies_ && !owner);
    View view = copied ? copy(tensor, path) : borrow(tensor, path);
    if (copied && bytes) frame_->host->copied(frame_, TESSERACT_COPY_OWNED, bytes);
    arguments_.push_back({std::move(view), &tensor, owner, &path, copied});
    return arguments_.back().view.array.get();
  }

  // The caller's memory with an owner is no matter: it lives as long as the array.
  static bool matters(const Argument &argument) {
    return (argument.borrows() || argument.copied) && is_held(argument.view);
  }

  bool any_held() const {
    for (const Argument &argument : arguments_) {
      if (matters(argument)) return true;
    }
    return false;
  }

  static bool moved(Argument &argument) {
    try {
      return move_to_own_memory(argument.view);
    } catch (const PythonError &) {
      PyErr_Clear();
    } catch (const std::bad_alloc &) {
    }
    return false;
  }

  void log(int32_t level, const std::string &text) {
    const Pause pause;
    instance_.log->write(level, text.data(), text.size());
  }

  int32_t settle_held() {
    instance_.keeps_inputs = true;
    const std::string *kept = nullptr;
    for (Argument &argument : arguments_) {
      if (!matters(argument)) continue;
      kept = argument.path;
      if (argument.copied) continue;
      if (!moved(argument)) return lose(*argument.path);
      const uint64_t bytes = bytes_of(*argument.tensor);
      frame_->host->copied(frame_, TESSERACT_COPY_OWNED, bytes);
      log(TESSERACT_LOG_WARNING, "input " + *argument.path +
                                     " is kept beyond the call: it was moved to a copy, and all "
                                     "inputs are copied from now on");
    }
    if (!instance_.strict || !kept) return TESSERACT_OK;
    return report(frame_, {TESSERACT_ERROR_COMPONENT, *kept,
                           "the module keeps this input beyond the call, which \"strict\" forbids: "
                           "keep a copy of it"});
  }

  int32_t lose(const std::string &path) {
    instance_.lost_leaf = path;
    return report(frame_,
                  {TESSERACT_ERROR_COMPONENT, path,
                   "the module keeps memory of this input beyond the call, in a form that can't be "
                   "given a copy (a memoryview, an array of another library): this component can't "
                   "be called again; keep a copy of the input instead"});
  }

  Instance &instance_;
  tesseract_frame *frame_;
  bool copies_ = false;
  std::vector<Argument> arguments_;
  Ref inputs_, seeds_;
};

int32_t report_lost(const Instance &instance, tesseract_frame *frame) {
  return report(frame, {TESSERACT_ERROR_UNAVAILABLE, instance.lost_leaf,
                        "this component kept memory of its caller's beyond an earlier call, and "
                        "can't be called again: open it anew"});
}

}  // namespace

int32_t run_call(void *self, void *prepared, tesseract_frame *frame) {
  auto &instance = *static_cast<Instance *>(self);
  const auto &plan = *static_cast<const Plan *>(prepared);
  const Entry entry;
  if (!entry) return report_gone(frame);
  if (!instance.lost_leaf.empty()) return report_lost(instance, frame);
  return guarded(frame, [&]() -> int32_t {
    Arguments arguments(instance, plan, frame);
    const int32_t status = guarded(frame, [&]() -> int32_t {
      const RunningCall running(frame);
      PyObject *given[] = {nullptr, arguments.inputs(), arguments.seeds()};
      const Ref answer = own(
          PyObject_Vectorcall(plan.run, given + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
      write_results(answer.get(), frame);
      return TESSERACT_OK;
    });
    const int32_t settled = arguments.settle(status == TESSERACT_OK);
    return status != TESSERACT_OK ? status : settled;
  });
}

int32_t run_abstract(void *, void *prepared, tesseract_frame *frame) {
  const auto &plan = *static_cast<const Plan *>(prepared);
  const Entry entry;
  if (!entry) return report_gone(frame);
  return guarded(frame, [&]() -> int32_t {
    const Ref shapes = own(PyTuple_New(static_cast<Py_ssize_t>(frame->n_inputs)));
    for (uint64_t i = 0; i < frame->n_inputs; i++) {
      const DLTensor &tensor = *frame->inputs[i];
      Ref lengths = own(PyTuple_New(tensor.ndim));
      for (int32_t k = 0; k < tensor.ndim; k++) {
        PyTuple_SET_ITEM(lengths.get(), k, own(PyLong_FromLongLong(tensor.shape[k])).release());
      }
      const std::string name = dtype_name(tensor.dtype);
      PyObject *pair = own(Py_BuildValue("(Os)", lengths.get(), name.c_str())).release();
      PyTuple_SET_ITEM(shapes.get(), static_cast<Py_ssize_t>(i), pair);
    }
    const RunningCall running(frame);
    const Ref answer = own(PyObject_CallOneArg(plan.abstract, shapes.get()));
    write_shapes(answer.get(), frame);
    return TESSERACT_OK;
  });
}

}  // namespace tesseract::python
