// Where the modules of the tests are, and folders for the time of a test.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace loader_test {

// The file or folder of a module of the tests; absolute paths are left alone.
inline std::string module_path(const std::string &name) {
  return name.starts_with("/") ? name : std::string(TEST_MODULES) + "/" + name;
}

// A folder that is removed with this object.
struct Folder {
  std::filesystem::path path;

  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "loader-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

}  // namespace loader_test
