// The one function that the bootstrap looks for.
#include "../runtime.h"
#include "instance.h"
#include "start.h"

namespace tesseract::python {
namespace {

constexpr PythonRuntime runtime = {start, prefix, executable, open, shutdown};

}  // namespace
}  // namespace tesseract::python

extern "C" TESSERACT_EXPORT const PythonRuntime *tesseract_python_runtime_1();

extern "C" const PythonRuntime *tesseract_python_runtime_1() {
  return &tesseract::python::runtime;
}
