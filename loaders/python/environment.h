// Which Python a component runs in, when none runs in the process yet.
#pragma once

#include <string>

namespace tesseract::python {

// An interpreter's path and, as a sentence part for messages, why it was chosen.
struct Choice {
  std::string executable;
  std::string reason;
};

// By the first rule that applies: the option "python" (empty: not given), TESSERACT_HOST_PYTHON,
// VIRTUAL_ENV, CONDA_PREFIX, the environment in whose site-packages this library lies, python3 on
// PATH.  A rule names an executable, an environment's folder, or a name on PATH.  A rule that
// applies but leads nowhere is an error, never skipped.  Throws Failure.
Choice choose_interpreter(const std::string &option);

// The interpreter of the option "python" alone.  Throws Failure.
Choice resolve_interpreter(const std::string &value, const std::string &reason);

}  // namespace tesseract::python
