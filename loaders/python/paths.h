// Small questions about files, and where this library lies.
#pragma once

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace tesseract::python {

inline bool is_file(const std::string &path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

inline bool is_folder(const std::string &path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

inline bool is_executable(const std::string &path) {
  return is_file(path) && access(path.c_str(), X_OK) == 0;
}

// The part before the last slash; "." without one.
inline std::string parent(const std::string &path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

inline std::string file_name(const std::string &path) {
  return path.substr(path.rfind('/') + 1);
}

// The non-empty parts of a list separated by colons.
inline std::vector<std::string> split_paths(const char *list) {
  std::vector<std::string> parts;
  std::string_view rest = list ? list : "";
  while (!rest.empty()) {
    const size_t end = rest.find(':');
    if (end != 0) parts.emplace_back(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  return parts;
}

// Absolute and without links; the path itself where it can't be resolved.
inline std::string resolved(const std::string &path) {
  char *real = realpath(path.c_str(), nullptr);
  std::string result = real ? real : path;
  std::free(real);
  return result;
}

// The file that holds the function or object at this address; "" where unknown.
inline std::string file_of(const void *address) {
  Dl_info info{};
  return dladdr(address, &info) && info.dli_fname ? info.dli_fname : "";
}

// The folder of this shared library.
inline const std::string &own_folder() {
  static const char mark = 0;
  static const auto &folder = *new std::string(parent(resolved(file_of(&mark))));
  return folder;
}

}  // namespace tesseract::python
