#include "environment.h"

#include <cstdlib>

#include "failure.h"
#include "paths.h"

namespace tesseract::python {
namespace {

std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

std::string find_on_path(const std::string &name) {
  for (const std::string &folder : split_paths(std::getenv("PATH"))) {
    const std::string candidate = folder + "/" + name;
    if (is_executable(candidate)) return candidate;
  }
  return "";
}

// The interpreter of an environment's folder; "" where it has none.
std::string executable_of(const std::string &environment) {
  for (const char *name : {"/bin/python3", "/bin/python"}) {
    if (is_executable(environment + name)) return environment + name;
  }
  return "";
}

// The interpreter of the environment that contains this library, as a wheel installs it:
// <environment>/lib/pythonX.Y/site-packages/….  "" where it lies elsewhere.
std::string surrounding_interpreter() {
  const std::string &folder = own_folder();
  const size_t packages = folder.rfind("/site-packages/");
  if (packages == std::string::npos) return "";
  const std::string minor = folder.substr(0, packages);  // <environment>/lib/pythonX.Y
  const std::string name = file_name(minor);
  if (!name.starts_with("python")) return "";
  const std::string environment = parent(parent(minor));
  if (is_executable(environment + "/bin/" + name)) return environment + "/bin/" + name;
  return executable_of(environment);
}

}  // namespace

Choice resolve_interpreter(const std::string &value, const std::string &reason) {
  std::string executable = value;
  if (value.find('/') == std::string::npos) {
    executable = find_on_path(value);
    if (executable.empty()) {
      throw Failure{TESSERACT_ERROR_NOT_FOUND,
                    "no Python interpreter: " + value + " (" + reason + ") is not on PATH"};
    }
  } else if (is_folder(value)) {
    executable = executable_of(value);
    if (executable.empty()) {
      throw Failure{TESSERACT_ERROR_NOT_FOUND, "no Python interpreter: the folder " + value + " (" +
                                                   reason + ") has no bin/python3"};
    }
  } else if (!is_executable(value)) {
    throw Failure{TESSERACT_ERROR_NOT_FOUND,
                  "no Python interpreter: " + value + " (" + reason +
                      ") is neither an executable file nor an environment's folder"};
  }
  return {executable, reason};
}

Choice choose_interpreter(const std::string &option) {
  if (!option.empty()) return resolve_interpreter(option, "chosen by the option \"python\"");
  for (const char *name : {"TESSERACT_HOST_PYTHON", "VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const std::string value = variable(name);
    if (!value.empty()) return resolve_interpreter(value, std::string("chosen by ") + name);
  }
  const std::string surrounding = surrounding_interpreter();
  if (!surrounding.empty()) return {surrounding, "whose environment holds tesseract-host"};
  const std::string found = find_on_path("python3");
  if (found.empty()) {
    throw Failure{TESSERACT_ERROR_NOT_FOUND,
                  "no Python interpreter: no python3 on PATH; set TESSERACT_HOST_PYTHON or the "
                  "option \"python\" to the interpreter of an environment with numpy and pydantic"};
  }
  return {found, "the first python3 on PATH"};
}

}  // namespace tesseract::python
