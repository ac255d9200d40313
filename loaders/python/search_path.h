// Where the parts written for one Python lie: the loader library and the Python package.
#pragma once

#include <string>
#include <vector>

namespace tesseract::python {

struct Parts {
  std::string loader;   // file tesseract_python_cpXY.so
  std::string package;  // folder tesseract_host, which holds __init__.py and loader/
};

// Finds both for an interpreter of this tag ("cp312"), which `who` names in messages.  `installed`
// is the folder of the package tesseract_host of the interpreter's environment, "" without.  Throws
// Failure, which lists what was looked for and where.
Parts find_parts(const std::string &tag, const std::string &who, const std::string &installed);

}  // namespace tesseract::python
