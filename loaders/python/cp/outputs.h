// The outputs of a prepared call: what a module returned, checked and written where the caller
// wants it, in one walk.
#pragma once

#include <tesseract_host/plugin.h>

#include <memory>
#include <vector>

#include "../engine/node.h"
#include "reference.h"
#include "transfers.h"

namespace tesseract::python {

class Outputs {
 public:
  // `wanted` is a list of tuples of field names, one for each output by position.  The node
  // outlives the object.  Null for schemas and outputs that are left to the general extraction:
  // containers, the user's functions, values wanted as tensors.  Throws PythonError.
  static std::unique_ptr<Outputs> compile(const engine::Node &node, PyObject *wanted);

  // Checks all that was returned, then writes it.  False for a miss, before anything was written;
  // an exception is then set only for what engine/node.h says.  `encode` makes JSON text of a dict.
  // `returned` is dropped where that may spare a copy.  Throws HostFailure, CallFailure or
  // PythonError.
  bool write(Ref &returned, PyObject *encode, engine::Context &context, tesseract_frame *frame,
             Transfers &transfers) const;

 private:
  static constexpr size_t kNowhere = SIZE_MAX;

  struct Item {
    const engine::Node *node = nullptr;
    PyObject *name = nullptr;    // of the field, borrowed from the node above
    size_t position = kNowhere;  // of an array in the frame's outputs
    bool is_array = false;
    const engine::Leaf *leaf = nullptr;  // of an array
    DLDataType dtype{};                  // of it; no lanes where it isn't settled
    std::vector<Item> inner;             // of a model
  };

  struct Compiler;
  struct Walk;

  Item root_;
  size_t arrays_ = 0;
  bool has_json_ = false;
};

}  // namespace tesseract::python
