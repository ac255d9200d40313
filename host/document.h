// The JSON document of a call, held against the input table.
#pragma once

#include <map>
#include <set>
#include <string>

#include "description.h"

namespace host {

struct Document {
  std::map<uint32_t, OwnedTensor> arrays;  // by index into the table's arrays
  std::string text;                        // what is left: leaves that are no arrays
};

// What is wrong with a value of a leaf that is no array, beginning with ": "; or nothing.
std::string value_misfit(const ValueLeaf &leaf, const Json &value);

// For a component without prepare: decodes array leaves, checks the others, fills in defaults,
// refuses what no leaf has.  `tensors`: table indices of the leaves given as tensors.
Document read_document(std::string_view text, const LeafTable &table,
                       const std::set<uint32_t> &tensors);

// For a component with prepare, which reads the document itself: refuses a path that is given both
// here and as a tensor.  Returns the text, "{}" for an empty one.
std::string check_document(std::string_view text, const std::set<std::string> &tensor_paths);

// For what a component gives: checks it against the table of outputs; throws Failure (component).
void check_output_document(std::string_view text, const LeafTable &table);

}  // namespace host
