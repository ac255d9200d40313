#include "search_path.h"

#include <algorithm>
#include <cstdlib>

#include "failure.h"
#include "paths.h"

namespace tesseract::python {
namespace {

// The package of a wheel keeps its libraries in this folder of its own.
constexpr const char *kLibraries = "/lib/tesseract_host";

bool is_package(const std::string &folder) {
  return is_file(folder + "/__init__.py") && is_folder(folder + "/loader");
}

// The package whose wheel this library came in; "" where it came otherwise.
std::string surrounding_package() {
  const std::string &folder = own_folder();
  if (!folder.ends_with(kLibraries)) return "";
  const std::string package = folder.substr(0, folder.size() - std::string(kLibraries).size());
  return is_package(package) ? package : "";
}

std::string joined(const std::vector<std::string> &lines) {
  std::string text;
  for (const std::string &line : lines) text += "\n  " + line;
  return text;
}

std::string first_file(const std::vector<std::string> &candidates) {
  for (const std::string &candidate : candidates) {
    if (is_file(candidate)) return candidate;
  }
  return "";
}

std::string first_package(const std::vector<std::string> &candidates) {
  for (const std::string &candidate : candidates) {
    if (is_package(candidate)) return candidate;
  }
  return "";
}

}  // namespace

Parts find_parts(const std::string &tag, const std::string &who, const std::string &installed) {
  const std::string file = "tesseract_python_" + tag + ".so";
  std::vector<std::string> loaders, packages;
  const auto look = [&](const std::string &loader, const std::string &package) {
    if (std::find(loaders.begin(), loaders.end(), loader) == loaders.end())
      loaders.push_back(loader);
    if (std::find(packages.begin(), packages.end(), package) == packages.end())
      packages.push_back(package);
  };
  for (const std::string &folder : split_paths(std::getenv("TESSERACT_HOST_LOADER_PATH")))
    look(folder + "/" + file, folder + "/tesseract_host");
  for (const std::string &package : {installed, surrounding_package()})
    if (!package.empty()) look(package + kLibraries + "/" + file, package);
  look(own_folder() + "/" + file, own_folder() + "/python/tesseract_host");

  const Parts parts{first_file(loaders), first_package(packages)};
  if (parts.loader.empty()) {
    throw Failure{TESSERACT_ERROR_NOT_FOUND,
                  "no loader " + file + " for " + who +
                      ": install tesseract-host into its environment, or build one with -Dpythons "
                      "and name its folder in TESSERACT_HOST_LOADER_PATH; looked for" +
                      joined(loaders)};
  }
  if (parts.package.empty()) {
    throw Failure{TESSERACT_ERROR_NOT_FOUND,
                  "no Python package tesseract_host for " + who +
                      ": install it into the environment, "
                      "or name the folder that holds it in TESSERACT_HOST_LOADER_PATH; looked for" +
                      joined(packages)};
  }
  return parts;
}

}  // namespace tesseract::python
