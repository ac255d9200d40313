// A signature whose calls need no Python beside the module's function.
//
// What the module can see is as by the general route, tesseract_host.loader.Plan.run: whatever is
// not provably the same goes there, before the module's function is called; results that are not as
// expected go to Plan.finish, which takes what the function has returned.
#pragma once

#include <tesseract_host/plugin.h>

#include <memory>
#include <string>
#include <vector>

#include "../engine/node.h"
#include "../engine/state.h"
#include "call_frame.h"
#include "instance.h"
#include "layout.h"
#include "outputs.h"

namespace tesseract::python {

// How a derivative's function is called and what it must return.
struct Derivative {
  struct Seed {
    Ref path;
    engine::Leaf leaf;
    Py_ssize_t like = -1;  // the input whose lengths it must have
  };
  Ref keywords;             // names of the arguments
  std::vector<Ref> sets;    // of paths; each call gets its own
  std::vector<Ref> copies;  // of them
  bool takes_vector = false;
  std::vector<Seed> seeds;
  std::vector<Ref> rows;             // outputs of a Jacobian, each a dict of its own
  std::vector<Ref> columns;          // keys of the result, or of each row
  std::vector<engine::Leaf> leaves;  // of the results, by position
  std::vector<DLDataType> dtypes;    // of those; no lanes where one isn't settled
};

class Prepared {
 public:
  // Reads tesseract_host.loader.plan.Compiled; null for None, or where the inputs have no layout.
  // The paths outlive the object.  Throws PythonError or CallFailure.
  static std::unique_ptr<Prepared> read(PyObject *compiled, const tesseract_signature *signature,
                                        const std::vector<std::string> &paths);

  // False: nothing was called, and the general route has to do it.  Throws nothing.
  // `access` is how arrays on devices are taken.
  bool run(Instance &instance, tesseract_frame *frame, const arrays::Access &access,
           int32_t &status) const;

 private:
  friend class PreparedCall;

  const std::vector<std::string> *paths_ = nullptr;
  std::vector<Slot> slots_;  // of inputs, then seeds
  size_t n_inputs_ = 0;
  mutable std::unique_ptr<FramePool> frames_;
  Ref schema_, output_schema_;  // what the layouts refer to
  std::unique_ptr<Layout> inputs_;
  const engine::Node *output_node_ = nullptr;  // null: Plan.finish does it all
  std::unique_ptr<Outputs> outputs_;           // null: Plan's extractor sorts them
  std::unique_ptr<Derivative> derivative_;
  Ref namespace_, function_;  // of the module, which may bind the name anew
  Ref finish_, failure_, context_, encode_, extract_;
  Ref state_object_, stream_end_, log_;
  const engine::State *state_ = nullptr;
};

}  // namespace tesseract::python
