// The differentiable leaves that a derivative call names, resolved once for each set of names.
#pragma once

#include <vector>

#include "node.h"

namespace tesseract::python::engine {

struct Step {
  enum class Kind : uint8_t { kName, kIndex, kKey } kind;
  Ref name;              // of kName and kKey
  Py_ssize_t index = 0;  // of kIndex
};

struct PathLeaf {
  Ref path;
  Ref owner;  // the CHECK object of `leaf`
  const Leaf *leaf = nullptr;
  std::vector<Step> steps;  // empty for outputs
  bool must_exist = false;  // in the inputs given
};

// A Python object, immutable.
struct PathSet {
  PyObject_HEAD std::vector<PathLeaf> ins;
  std::vector<PathLeaf> outs;
  PyObject *in_paths;  // tuples of the paths, each once
  PyObject *out_paths;
};

// Creates the type; once.  Throws PythonError.
void create_path_set_type();

// From two tuples of (path, CHECK, steps, must_exist), where steps are pairs of "name", "index" or
// "key" and its value.  Throws PythonError.
Ref make_path_set(PyObject *ins, PyObject *outs);

// The paths in an object of that type, borrowed from it; null for any other.
const PathSet *path_set_of(PyObject *object);

// The leaf of a path, null for none.
const PathLeaf *find(const std::vector<PathLeaf> &leaves, PyObject *path);

// What lies at the leaf's steps in the inputs, or null for a miss.
Ref at(const PathLeaf &leaf, PyObject *inputs);

}  // namespace tesseract::python::engine
