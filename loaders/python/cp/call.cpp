#include "call.h"

#include "../../../python/arrays/layout.h"
#include "cancel.h"
#include "device_inputs.h"
#include "dtype.h"
#include "errors.h"
#include "instance.h"
#include "prepared.h"
#include "results.h"
#include "settle.h"
#include "thread_state.h"

namespace tesseract::python {
namespace {

// The tensors of a frame as arrays.
class Arguments {
 public:
  Arguments(Instance &instance, const Plan &plan, tesseract_frame *frame,
            const arrays::Access &access)
      : instance_(instance), frame_(frame), access_(access) {
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

  // After the call.  Returns TESSERACT_OK, or the status of an error that it recorded.
  int32_t compare() const {
    return instance_.debug_views ? tesseract::python::compare(frame_, arguments_) : TESSERACT_OK;
  }

  // After the call, with its results dropped.  Returns TESSERACT_OK, or the status of an error that
  // it recorded.
  int32_t settle(bool succeeded) {
    inputs_ = Ref();
    seeds_ = Ref();
    if (succeeded) instance_.called[static_cast<size_t>(frame_->endpoint)] = true;
    const int32_t status = tesseract::python::settle(instance_, frame_, arguments_, copies_);
    if (instance_.debug_views) keep_poisoned();
    return status;
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

  // Until the next call's: a late read finds the poison.
  void keep_poisoned() {
    std::vector<Ref> poisoned;
    for (Argument &argument : arguments_) {
      if (argument.on_device) poisoned.push_back(std::move(argument.view.array));
    }
    std::swap(instance_.poisoned, poisoned);
  }

  PyObject *add_on_device(const DLTensor &tensor, const tesseract_owner *owner,
                          const std::string &path) {
    const bool copied = instance_.debug_views;
    Ref array =
        copied ? copy_on_device(frame_, tensor, access_, path) : arrays::make_view(tensor, access_);
    const uint64_t sum = copied ? checksum_on_device(frame_, tensor, path) : 0;
    arguments_.push_back({{std::move(array), nullptr}, &tensor, owner, &path, copied, true, sum});
    return arguments_.back().view.array.get();
  }

  PyObject *add(const DLTensor &tensor, uint64_t position, const std::vector<std::string> &paths) {
    const tesseract_owner *owner = frame_->owners ? frame_->owners[position] : nullptr;
    const std::string &path = paths[position];
    if (arrays::is_on_device(tensor)) return add_on_device(tensor, owner, path);
    const uint64_t bytes = bytes_of(tensor);
    const bool copied = bytes == 0 || (copies_ && !owner);
    View view = copied ? copy(tensor, path) : borrow(tensor, path);
    if (copied && bytes) frame_->host->copied(frame_, TESSERACT_COPY_OWNED, bytes);
    const uint64_t sum = instance_.debug_views && !copied ? checksum(tensor) : 0;
    arguments_.push_back({std::move(view), &tensor, owner, &path, copied, false, sum});
    return arguments_.back().view.array.get();
  }

  Instance &instance_;
  tesseract_frame *frame_;
  const arrays::Access &access_;
  bool copies_ = false;
  std::vector<Argument> arguments_;
  Ref inputs_, seeds_;
};

int32_t report_lost(const Instance &instance, tesseract_frame *frame) {
  return report(frame, {TESSERACT_ERROR_UNAVAILABLE, instance.lost_leaf,
                        "this component kept memory of its caller's beyond an earlier call, and "
                        "can't be called again: open it anew"});
}

int32_t run_with(Instance &instance, Plan &plan, tesseract_frame *frame,
                 const arrays::Access &access) {
  int32_t done = TESSERACT_OK;
  // The first call of an endpoint runs on copies, that of a plan through everything that can be
  // wrong with a signature.
  if (plan.prepared && plan.proven && instance.called[static_cast<size_t>(frame->endpoint)] &&
      !(instance.keeps_inputs && instance.strict) && !instance.debug_views &&
      plan.prepared->run(instance, frame, access, done)) {
    return done;
  }
  return guarded(frame, [&]() -> int32_t {
    Arguments arguments(instance, plan, frame, access);
    Transfers transfers(instance, frame);
    const int32_t status = guarded(frame, [&]() -> int32_t {
      const RunningCall running(frame);
      PyObject *given[] = {nullptr, arguments.inputs(), arguments.seeds()};
      const Ref answer = own(
          PyObject_Vectorcall(plan.run, given + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
      write_results(answer.get(), frame, transfers);
      return TESSERACT_OK;
    });
    transfers.abandon();
    if (status == TESSERACT_OK) plan.proven = true;
    const int32_t compared = arguments.compare();
    const int32_t settled = arguments.settle(status == TESSERACT_OK);
    if (compared != TESSERACT_OK) return compared;
    return status != TESSERACT_OK ? status : settled;
  });
}

[[gnu::noinline]] int32_t run_on_device(Instance &instance, Plan &plan, tesseract_frame *frame) {
  return guarded(frame, [&]() -> int32_t {
    DeviceCall call(instance, frame);
    const int32_t status = run_with(instance, plan, frame, call.access());
    call.leave();
    return status;
  });
}

const arrays::Access no_access;

int32_t run_endpoint(Instance &instance, Plan &plan, tesseract_frame *frame) {
  if (!instance.lost_leaf.empty()) return report_lost(instance, frame);
  if (frame->stream) [[unlikely]]
    return run_on_device(instance, plan, frame);
  return run_with(instance, plan, frame, no_access);
}

int32_t evaluate_abstractly(const Instance &instance, const Plan &plan, tesseract_frame *frame) {
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
    Transfers none(instance, frame);
    write_shapes(answer.get(), frame, none);
    return TESSERACT_OK;
  });
}

}  // namespace

int32_t run_call(void *self, void *prepared, tesseract_frame *frame) {
  auto &instance = *static_cast<Instance *>(self);
  auto &plan = *static_cast<Plan *>(prepared);
  const Entry entry;
  if (!entry) return report_gone(frame);
  if (!instance.adopted) [[likely]]
    return run_endpoint(instance, plan, frame);
  return in_turn(*instance.adopted, frame, [&]() -> int32_t {
    if (!frame->stream || !instance.adopted->run()) return run_endpoint(instance, plan, frame);
    return on_this_thread(frame, [&] { return run_endpoint(instance, plan, frame); });
  });
}

int32_t run_abstract(void *self, void *prepared, tesseract_frame *frame) {
  const auto &instance = *static_cast<const Instance *>(self);
  const auto &plan = *static_cast<const Plan *>(prepared);
  const Entry entry;
  if (!entry) return report_gone(frame);
  if (!instance.adopted) return evaluate_abstractly(instance, plan, frame);
  return in_turn(*instance.adopted, frame,
                 [&] { return evaluate_abstractly(instance, plan, frame); });
}

}  // namespace tesseract::python
