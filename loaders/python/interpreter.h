// What there is to know about a Python interpreter before it is loaded.
#pragma once

#include <string>

namespace tesseract::python {

struct Interpreter {
  std::string executable;  // its sys.executable
  std::string version;     // "3.12.1"
  std::string tag;         // "cp312", "cp313t" when free-threaded: names the loader built for it
  std::string prefix;      // sys.prefix: identifies the environment
  std::string library;     // its shared libpython; "" where it has none
  std::string package;     // folder of its installed package tesseract_host; "" without
  bool has_numpy = false;  // can be imported there
  bool has_pydantic = false;
};

// Asks the interpreter at this path, by running it once (about 40 ms); answers are remembered by
// path and modification time.  `reason` says in a sentence why it was chosen, for the errors.
// [any].  Throws Failure.
Interpreter query_interpreter(const std::string &executable, const std::string &reason);

}  // namespace tesseract::python
