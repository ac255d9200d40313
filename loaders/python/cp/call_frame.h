// The objects of one prepared call, kept from call to call.
//
// A module sees each tensor as a NumPy array over the caller's memory, or as a NumPy scalar.  Where
// nothing but the frame refers to such an object after a call, and nobody has changed it, the next
// call points it at its own memory instead of making another.
#pragma once

#include <tesseract_host/plugin.h>

#include <memory>
#include <vector>

#include "../../../python/arrays/device_array.h"
#include "escape.h"
#include "python.h"
#include "reference.h"
#include "views.h"

namespace tesseract::python {

// What one tensor is in all calls of a plan.
struct Slot {
  DLDataType dtype{};
  int32_t ndim = 0;
  Ref descriptor;  // PyArray_Descr
  size_t item = 0;
  size_t alignment = 1;
  bool reusable = false;   // a scalar that can be given another value
  bool on_device = false;  // an array there, of whatever rank and layout
};

// Belongs to one call at a time.  GIL held in all functions.
class CallFrame {
 public:
  // Borrows the slots, which outlive it.  Throws PythonError.
  explicit CallFrame(const std::vector<Slot> &slots);
  CallFrame(const CallFrame &) = delete;
  CallFrame &operator=(const CallFrame &) = delete;
  ~CallFrame();

  // Makes the object of a slot: over the tensor's memory, or with `copies` over memory of its own.
  // The tensor is compact, and of the slot's dtype and rank.  Throws PythonError.
  void show(size_t i, const DLTensor &tensor, bool copies);

  // The same of a tensor on a device, compact or not.
  void show_on_device(size_t i, const DLTensor &tensor, const arrays::Access &access);

  // After the call: the arrays on devices can't be used from here on.
  void revoke();

  // What `show` made, borrowed.
  PyObject *object(size_t i) const { return objects_[i]; }

  // After the call, with everything else dropped that refers to the objects: forgets those that
  // can't be used again.  The arrays over the caller's memory that something else holds are moved
  // to `held`, as views with an exporter of their own, with their slots; so are those on devices,
  // without an exporter.  Throws PythonError.
  struct Held {
    size_t slot;
    View view;
  };
  void release(std::vector<Held> &held);

  // True where nothing but the frame, `kept` once for each of the first `n_inputs`, and `vector`,
  // if there is one, once for each other, refers to the objects, and all can be used again: then
  // `release` need not be called.
  bool is_untouched(size_t n_inputs) const;

  // The inputs of the last call, of these objects; dropped where one of them must be made anew.
  Ref kept;

  // The dict of the tangents or cotangents that the last call left as it was, like `kept`.
  Ref vector;

  // An instance of the class of the result, for the next call; see constructor.h.
  Ref spare;

  // The sets of paths of a derivative that the last call left as they were.
  static constexpr size_t kSets = 2;
  Ref sets[kSets];

  // False: every call makes its objects anew.
  static bool reuses;

 private:
  void forget(size_t i);
  PyObject *make_array(const Slot &slot, const DLTensor &tensor, char *data);
  bool point(size_t i, const DLTensor &tensor, char *data) const;
  bool can_be_used_again(size_t i) const;

  const std::vector<Slot> &slots_;
  Ref exporter_;  // of the arrays over the caller's memory
  std::unique_ptr<PyObject *[]> objects_;
  std::unique_ptr<int[]> flags_;  // of the arrays as they were made
};

// A few frames of a plan, for calls that run at once or inside each other.
class FramePool {
 public:
  explicit FramePool(const std::vector<Slot> &slots) : slots_(slots) {}
  std::unique_ptr<CallFrame> take();
  void give(std::unique_ptr<CallFrame> frame);
  void clear() { idle_.clear(); }

 private:
  static constexpr size_t kMost = 4;
  const std::vector<Slot> &slots_;
  std::vector<std::unique_ptr<CallFrame>> idle_;
};

// What a tensor of this dtype and rank is.  Throws CallFailure (naming the leaf) or PythonError.
Slot make_slot(DLDataType dtype, int32_t ndim, const std::string &path);

// The value of a NumPy scalar of a type of plain numbers.
inline char *scalar_value(PyObject *scalar) {
  return reinterpret_cast<char *>(scalar) + sizeof(PyObject);
}

}  // namespace tesseract::python
