// Opening a component as the command line says.
#pragma once

#include <string>
#include <tesseract_host/tesseract.hpp>

namespace tool {

struct Source {
  std::string text;
  std::string options;  // a JSON object, or empty
  bool listing = false;
  bool verbose = false;  // debug messages too
};

// What the component logs or prints goes to standard error.
tesseract::Component open(const Source &source);

}  // namespace tool
