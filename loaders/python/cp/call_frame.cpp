#include "call_frame.h"

#include <cstring>

#include "../../../python/ending/ending.h"
#include "../engine/leaf.h"
#include "device_inputs.h"
#include "dtype.h"
#include "errors.h"

namespace tesseract::python {
namespace {

PyArrayObject_fields *fields_of(PyObject *array) {
  return reinterpret_cast<PyArrayObject_fields *>(array);
}

PyArray_Descr *descr_of(const Slot &slot) {
  return reinterpret_cast<PyArray_Descr *>(slot.descriptor.get());
}

bool aligned(const Slot &slot, const char *data) {
  return (reinterpret_cast<uintptr_t>(data) & (slot.alignment - 1)) == 0;
}

}  // namespace

bool CallFrame::reuses = true;

Slot make_slot(DLDataType dtype, int32_t ndim, const std::string &path) {
  Slot slot;
  slot.dtype = dtype;
  slot.ndim = ndim;
  slot.descriptor = descriptor(dtype, path);
  const auto *descr = reinterpret_cast<PyArray_Descr *>(slot.descriptor.get());
  slot.item = static_cast<size_t>(PyDataType_ELSIZE(descr));
  slot.alignment = static_cast<size_t>(PyDataType_ALIGNMENT(descr));
  // A scalar that is one value after the object's head, and no singleton.
  slot.reusable = ndim == 0 && engine::is_number(descr) && descr->type_num != NPY_BOOL;
  return slot;
}

CallFrame::CallFrame(const std::vector<Slot> &slots)
    : slots_(slots),
      exporter_(make_exporter()),
      objects_(new PyObject *[slots.size()]()),
      flags_(new int[slots.size()]()) {}

CallFrame::~CallFrame() {
  stop_if_asked_to_end();
  kept = Ref();
  vector = Ref();
  for (size_t i = 0; i < slots_.size(); i++) Py_XDECREF(objects_[i]);
}

PyObject *CallFrame::make_array(const Slot &slot, const DLTensor &tensor, char *data) {
  Py_INCREF(slot.descriptor.get());
  PyObject *array =
      own(PyArray_NewFromDescr(&PyArray_Type, descr_of(slot), slot.ndim,
                               reinterpret_cast<const npy_intp *>(tensor.shape), nullptr, data,
                               aligned(slot, data) ? NPY_ARRAY_ALIGNED : 0, nullptr))
          .release();
  fields_of(array)->base = Py_NewRef(exporter_.get());
  return array;
}

// Points the array that an earlier call left at this memory; false if it has another shape or
// layout.
bool CallFrame::point(size_t i, const DLTensor &tensor, char *data) const {
  const Slot &slot = slots_[i];
  PyArrayObject_fields *array = fields_of(objects_[i]);
  npy_intp step = static_cast<npy_intp>(slot.item);
  for (int32_t k = slot.ndim - 1; k >= 0; k--) {
    if (array->dimensions[k] != tensor.shape[k] || array->strides[k] != step) return false;
    step *= tensor.shape[k];
  }
  if (step == 0 || aligned(slot, data) != ((flags_[i] & NPY_ARRAY_ALIGNED) != 0)) return false;
  array->data = data;
  return true;
}

// The object, and what refers to it.
void CallFrame::forget(size_t i) {
  kept = Ref();
  vector = Ref();
  Py_CLEAR(objects_[i]);
}

void CallFrame::show(size_t i, const DLTensor &tensor, bool copies) {
  const Slot &slot = slots_[i];
  char *data = data_of(tensor);
  PyObject *&object = objects_[i];
  if (slot.ndim == 0) {
    if (object) {  // only those that can be used again are still there
      std::memcpy(scalar_value(object), data, slot.item);
    } else {
      object = own(PyArray_Scalar(data, descr_of(slot), nullptr)).release();
    }
    return;
  }
  if (copies) {
    forget(i);
    object = copy_of(tensor, slot.descriptor.get()).release();
    return;
  }
  if (object) {
    if (point(i, tensor, data)) return;
    forget(i);
  }
  object = make_array(slot, tensor, data);
  flags_[i] = fields_of(object)->flags;
}

void CallFrame::show_on_device(size_t i, const DLTensor &tensor, const arrays::Access &access) {
  PyObject *&object = objects_[i];
  if (object) {
    arrays::point(object, tensor, access);
  } else {
    object = arrays::make_view(tensor, access).release();
  }
}

void CallFrame::revoke() {
  for (size_t i = 0; i < slots_.size(); i++) {
    if (slots_[i].on_device && objects_[i]) arrays::revoke(objects_[i]);
  }
}

// Nothing else refers to the object, which is as it was made.
bool CallFrame::can_be_used_again(size_t i) const {
  const Slot &slot = slots_[i];
  if (!reuses) return false;
  if (slot.on_device) return arrays::is_unknown(objects_[i]);
  if (slot.ndim == 0) return slot.reusable;
  const PyArrayObject_fields *array = fields_of(objects_[i]);
  return Py_IS_TYPE(objects_[i], &PyArray_Type) && array->base == exporter_.get() &&
         array->flags == flags_[i] && array->nd == slot.ndim && array->descr == descr_of(slot) &&
         !array->weakreflist && !array->_buffer_info;
}

bool CallFrame::is_untouched(size_t n_inputs) const {
  for (size_t i = 0; i < slots_.size(); i++) {
    if (!objects_[i] || Py_REFCNT(objects_[i]) != (i < n_inputs || vector ? 2 : 1)) return false;
    if (!can_be_used_again(i)) return false;
  }
  return true;
}

void CallFrame::release(std::vector<Held> &held) {
  for (size_t i = 0; i < slots_.size(); i++) {
    PyObject *&object = objects_[i];
    if (!object) continue;
    if (slots_[i].on_device && is_held_on_device(object)) {
      held.push_back({i, {Ref(std::exchange(object, nullptr)), nullptr}});
      continue;
    }
    if (Py_REFCNT(object) == 1) {
      if (!can_be_used_again(i)) Py_CLEAR(object);
      continue;
    }
    if (slots_[i].ndim == 0 || fields_of(object)->base != exporter_.get()) {
      Py_CLEAR(object);  // a copy is the module's to keep
      continue;
    }
    // This frame's exporter serves other arrays too, and goes on.
    Ref own_exporter = make_exporter();
    auto *exporter = reinterpret_cast<Exporter *>(own_exporter.get());
    Py_DECREF(std::exchange(fields_of(object)->base, own_exporter.release()));
    held.push_back({i, {Ref(std::exchange(object, nullptr)), exporter}});
  }
}

std::unique_ptr<CallFrame> FramePool::take() {
  if (idle_.empty()) return std::make_unique<CallFrame>(slots_);
  std::unique_ptr<CallFrame> frame = std::move(idle_.back());
  idle_.pop_back();
  return frame;
}

void FramePool::give(std::unique_ptr<CallFrame> frame) {
  if (idle_.size() < kMost) idle_.push_back(std::move(frame));
}

}  // namespace tesseract::python
