// Running a program and reading what it says.
#pragma once

#include <string>
#include <vector>

namespace tesseract::python {

struct ChildOutput {
  int exit_code = -1;  // of a program that ended by itself; else -1
  bool timed_out = false;
  std::string output;  // what it wrote to its standard output
  std::string errors;  // and to its standard error; both cut off at 1 MiB
};

// Runs arguments[0], a path, without a shell and with no standard input, for at most `seconds`;
// then it is killed.  Safe in programs with threads and with any signal disposition.  Throws
// Failure when it can't be started.
ChildOutput run_child(const std::vector<std::string> &arguments, double seconds);

}  // namespace tesseract::python
