#include "interpreter.h"

#include <sys/stat.h>

#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "child_process.h"
#include "failure.h"

namespace tesseract::python {
namespace {

constexpr double kLongestQuery = 60.0;  // seconds; a cold network file system needs many

// Runs isolated (-I), so that the folder and variables of the host program have no say.  The search
// for packages adds what -I leaves out and the embedded interpreter will see.
constexpr const char *kQuery = R"(
import json, os, site, sys, sysconfig
from importlib.machinery import PathFinder
from importlib.util import find_spec

extra = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
in_environment = sys.prefix != sys.base_prefix
user = [] if in_environment or os.environ.get("PYTHONNOUSERSITE") else [site.getusersitepackages()]

def spec(name):
    return PathFinder.find_spec(name, extra) or find_spec(name) or PathFinder.find_spec(name, user)

def library():
    value = sysconfig.get_config_var
    base = sys.base_prefix
    folders = [value("LIBDIR"), value("LIBPL"), os.path.join(base, "lib")]
    if value("LIBDIR") and value("MULTIARCH"):
        folders.append(os.path.join(value("LIBDIR"), value("MULTIARCH")))
    names = [value("INSTSONAME"), value("LDLIBRARY")]
    for folder in folders:
        for name in names:
            if folder and name and ".so" in name:
                path = os.path.join(folder, name)
                if os.path.isfile(path):
                    return path
    return ""

def package():
    found = spec("tesseract_host")
    if found is None or not found.origin or not found.origin.endswith("__init__.py"):
        return ""
    return os.path.dirname(found.origin)

free_threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
print(json.dumps({
    "implementation": sys.implementation.name,
    "executable": sys.executable,
    "version": "%d.%d.%d" % sys.version_info[:3],
    "tag": "cp%d%d" % sys.version_info[:2] + ("t" if free_threaded else ""),
    "prefix": sys.prefix,
    "library": library(),
    "package": package(),
    "has_numpy": spec("numpy") is not None,
    "has_pydantic": spec("pydantic") is not None,
}))
)";

std::string last_line(const std::string &text) {
  const size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return "";
  const size_t begin = text.find_last_of('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1,
                     end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

[[noreturn]] void refuse(const std::string &executable, const std::string &reason,
                         const std::string &problem) {
  throw Failure{TESSERACT_ERROR_NOT_FOUND, executable + " (" + reason + ") " + problem};
}

Interpreter parse(const std::string &executable, const std::string &reason,
                  const std::string &text) {
  using Json = nlohmann::json;
  const Json answer = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!answer.is_object()) refuse(executable, reason, "did not answer like a Python interpreter");
  try {
    const std::string implementation = answer.at("implementation").get<std::string>();
    if (implementation != "cpython") {
      refuse(executable, reason, "is " + implementation + "; only CPython can be embedded");
    }
    Interpreter result;
    result.executable = answer.at("executable").get<std::string>();
    result.version = answer.at("version").get<std::string>();
    result.tag = answer.at("tag").get<std::string>();
    result.prefix = answer.at("prefix").get<std::string>();
    result.library = answer.at("library").get<std::string>();
    result.package = answer.at("package").get<std::string>();
    result.has_numpy = answer.at("has_numpy").get<bool>();
    result.has_pydantic = answer.at("has_pydantic").get<bool>();
    if (result.executable.empty()) result.executable = executable;
    return result;
  } catch (const Json::exception &) {
    refuse(executable, reason, "did not answer like a Python interpreter");
  }
}

Interpreter ask(const std::string &executable, const std::string &reason) {
  const ChildOutput child = run_child({executable, "-I", "-c", kQuery}, kLongestQuery);
  if (child.timed_out) refuse(executable, reason, "did not answer within a minute");
  const std::string answer = last_line(child.output);
  if (child.exit_code != 0 || answer.empty()) {
    const std::string why = last_line(child.errors);
    refuse(executable, reason, "can't be asked for its version" + (why.empty() ? why : ": " + why));
  }
  return parse(executable, reason, answer);
}

}  // namespace

Interpreter query_interpreter(const std::string &executable, const std::string &reason) {
  using Key = std::pair<std::string, int64_t>;
  static auto &mutex = *new std::mutex;
  static auto &known = *new std::map<Key, Interpreter>;

  struct stat status{};
  if (stat(executable.c_str(), &status) != 0) refuse(executable, reason, "does not exist");
  const Key key{executable, int64_t{status.st_mtim.tv_sec} * 1000000000 + status.st_mtim.tv_nsec};
  {
    const std::lock_guard lock(mutex);
    if (const auto found = known.find(key); found != known.end()) return found->second;
  }
  Interpreter answer = ask(executable, reason);
  // What lacks a package may have it at the next try.
  if (!answer.has_numpy || !answer.has_pydantic) return answer;
  const std::lock_guard lock(mutex);
  return known.emplace(key, std::move(answer)).first->second;
}

}  // namespace tesseract::python
