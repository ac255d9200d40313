// Running the program `embed` in an environment of the test's making.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "folder.h"

namespace loader_test {

struct Outcome {
  int code = -1;       // exit code; -1 when a signal ended it
  std::string output;  // standard output and standard error
};

inline std::string quoted(const std::string &word) {
  std::string text = "'";
  for (const char c : word) {
    if (c == '\'') {
      text += "'\\''";
    } else {
      text += c;
    }
  }
  return text + "'";
}

// Runs a shell command; nothing here may take a minute.
inline Outcome run_command(const std::string &command) {
  Outcome run;
  FILE *pipe = popen(("timeout 60 " + command + " 2>&1").c_str(), "r");
  if (!pipe) return run;
  char buffer[4096];
  while (const size_t count = fread(buffer, 1, sizeof buffer, pipe)) {
    run.output.append(buffer, count);
  }
  const int status = pclose(pipe);
  if (WIFEXITED(status)) run.code = WEXITSTATUS(status);
  return run;
}

using Variables = std::map<std::string, std::string>;

// What the tests run with, less what chooses an interpreter.
inline Variables clean_variables() {
  return {{"TESSERACT_HOST_PYTHON", ""}, {"VIRTUAL_ENV", ""}, {"CONDA_PREFIX", ""}};
}

inline Outcome embed(const std::vector<std::string> &words, const Variables &variables = {}) {
  std::string command = "env";
  for (const auto &[name, value] : variables) command += " " + quoted(name + "=" + value);
  command += " " + quoted(std::getenv("EMBED_PROGRAM"));
  for (const std::string &word : words) command += " " + quoted(word);
  return run_command(command);
}

// The interpreter the tests run with.
inline std::string tested_python() {
  return std::getenv("TESSERACT_HOST_PYTHON");
}

inline std::string ask_python(const std::string &expression) {
  const Outcome run = run_command(quoted(tested_python()) + " -c " +
                                  quoted("import sys, sysconfig, os; print(" + expression + ")"));
  return run.output.substr(0, run.output.find('\n'));
}

inline std::string library_of_tested_python() {
  return ask_python(
      "os.path.join(sysconfig.get_config_var('LIBDIR'), sysconfig.get_config_var('INSTSONAME'))");
}

// A virtual environment of the tested interpreter, with or without its packages.
struct Environment : Folder {
  std::filesystem::path packages;  // its site-packages

  explicit Environment(bool with_packages) {
    namespace fs = std::filesystem;
    const fs::path base = ask_python("os.path.realpath(sys.executable)");
    const std::string minor = ask_python("'python%d.%d' % sys.version_info[:2]");
    packages = path / "lib" / minor / "site-packages";
    fs::create_directories(packages);
    fs::create_directories(path / "bin");
    fs::create_symlink(base, path / "bin" / "python3");
    std::ofstream(path / "pyvenv.cfg") << "home = " << base.parent_path().string() << "\n"
                                       << "include-system-site-packages = false\n";
    if (!with_packages) return;
    std::ofstream(packages / "tested.pth") << ask_python("sysconfig.get_path('purelib')") << "\n";
  }
  std::string python() const { return (path / "bin" / "python3").string(); }
  std::string folder() const { return path.string(); }
};

}  // namespace loader_test
