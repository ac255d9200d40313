// A caller's signature, its paths and JSON document held against the leaf tables.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "component.h"
#include "description.h"

namespace host {

// One entry of a caller's list.
struct GivenLeaf {
  std::string path;        // in its canonical form
  const ArrayLeaf *leaf;   // null where a tensor stands at a leaf that is no array
  uint32_t table_index;    // of the leaf
  const DLTensor *tensor;  // the caller's; may be null
};

struct GivenSignature {
  int32_t endpoint = 0;
  bool no_copy = false;
  bool staged = false;       // whatever the component says of devices
  bool all_outputs = false;  // apply: everything was asked for
  std::vector<GivenLeaf> inputs, of, wrt;
  // Of a component without prepare: what the JSON and the defaults give for array leaves.
  std::map<uint32_t, OwnedTensor> constants;  // by table index
  std::string document;                       // the caller's JSON, whole
  std::string json;  // an object; without prepare only of leaves that are no arrays
};

// Throws Failure.
GivenSignature read_signature(const tesseract_component &component,
                              const tesseract_signature &signature);

}  // namespace host
