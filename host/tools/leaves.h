// Inputs and results as JSON documents, and the leaves in them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tesseract_host/tesseract.hpp>
#include <vector>

#include "../array_json.h"
#include "../path.h"

namespace tool {

// The text of a file, or of standard input for "-".
std::string read_file(const std::string &name);

// A leaf of a component's description.
struct LeafPattern {
  host::Path path;
  std::optional<DLDataType> dtype;  // none: any
  bool array;
  bool differentiable;
};

// `side` is "inputs" or "outputs".
std::vector<LeafPattern> leaf_patterns(const host::Json &description, const char *side);

// An array of its own.
struct Array {
  std::string path;
  host::OwnedTensor tensor;
  bool differentiable;
};

// Inputs with every array leaf taken out of their JSON document.
struct Inputs {
  std::vector<Array> arrays;
  std::string json;

  // As an argument of calls; borrows from this object.
  std::vector<tesseract::Leaf> leaves() const;
};

Inputs split_inputs(const host::Json &description, const std::string &document);

// What a component says of itself.
host::Json description_of(const tesseract::Component &component);

// What a call returned as one document, arrays encoded.
host::Json result_document(const tesseract::Result &result);

}  // namespace tool
