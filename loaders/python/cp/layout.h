// The inputs of a prepared call: the tree of a signature, laid over the checks of a schema.
//
// What can be settled beforehand is: which containers and models there are, which values of the
// JSON document the module gets, which fields have their default.  A call only makes the objects
// and puts the arrays in.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "../engine/node.h"
#include "call_frame.h"
#include "reference.h"

namespace tesseract::python {

// The tensors of a slot are what the leaf wants, if their lengths are too: shown as they are, they
// are what its check would return.
bool suits(const engine::Leaf &leaf, const Slot &slot);

class Layout {
 public:
  // `tree` is that of a merging.Template, with objects of `slot_type` for tensors; node and slots
  // outlive the layout.  Null where the inputs don't fit the schema, or in a way that isn't known
  // here.  Throws PythonError.
  static std::unique_ptr<Layout> compile(const engine::Node &node, PyObject *tree,
                                         PyObject *slot_type, const std::vector<Slot> &slots);

  // False: the tensors have lengths that the schema does not want, or broadcasts; or a class has
  // been changed.  Leaves no exception set, unless one that is no Exception.
  bool fits(const DLTensor *const *tensors) const;

  // True if the module gets the object of this slot itself.
  bool shows(size_t slot) const;

  // The object for the module, of what the frame shows.  Null for a miss, as in engine/node.h;
  // where the user's functions run, they run in a miss only if they are why.  Throws PythonError.
  Ref build(const CallFrame &frame, engine::Context &context) const;

  // True if what `build` made may serve another call: no function of the user's has seen it, and
  // all of it is arrays, scalars and containers of them.
  bool can_be_kept() const { return can_be_kept_; }

  // True where the module has left what `build` made as it was, and holds no part of it; the arrays
  // are the frame's to judge.
  bool is_untouched(PyObject *inputs, const CallFrame &frame) const;

  // Hides what is kept from Python's collector, and whoever asks it for its objects, or shows it.
  void set_hidden(PyObject *inputs, bool hidden) const;

 private:
  enum class Kind : uint8_t {
    kSlot,      // the object of slot number `slot`, if it fits `node`
    kConstant,  // `value` itself
    kDefault,   // of `field`
    kList,      // of inner
    kTuple,     // of inner
    kDict,      // of inner, with the keys `value`
    kModel,     // of inner, with the names `value` given
    kAfter,     // inner[0], given to the function of `node`
    kChecked,   // `value`, a tree with slots, accepted by `node`
  };

  struct Item {
    Kind kind = Kind::kConstant;
    size_t slot = 0;
    const engine::Node *node = nullptr;
    const engine::Field *field = nullptr;
    Ref value;
    Ref copy;  // of the set of a model
    std::vector<Item> inner;
    bool holds_containers = false;  // among the inner
  };

  struct Compiler;
  struct Builder;
  struct Keeper;

  void find_checked(const Item &item);
  static bool can_keep(Item &item);

  Item root_;
  struct Length {
    size_t slot;
    size_t axis;
    int64_t length;
  };
  std::vector<size_t> shown_;                       // slots whose objects the module gets
  std::vector<Length> lengths_;                     // that they must have
  std::vector<const engine::ModelClass *> models_;  // of all that are made; each may be there twice
  bool can_be_kept_ = false;
  std::vector<const Item *> checked_;  // what may miss, where the user's functions run
  Ref slot_type_;
};

}  // namespace tesseract::python
