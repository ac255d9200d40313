// The toy loader in the loader path, beside files that are no loaders.
#pragma once

#include <cstdlib>

#include "../plugins/toy_loader/counts.h"
#include "support.h"

namespace test {

// Set up before the host looks for loaders: one of it as a global variable.
class Toys {
 public:
  Toys() {
    folder_.copy("toy_loader", "tesseract_loader_toy.so");
    folder_.write("tesseract_loader_text.so", "not a library\n");
    folder_.copy("no_entry", "tesseract_loader_no_entry.so");
    folder_.copy("square", "tesseract_loader_square.so");
    const char *before = std::getenv("TESSERACT_HOST_LOADER_PATH");
    const std::string path = "/no/such/folder:" + folder_.path() + (before ? ":" : "");
    setenv("TESSERACT_HOST_LOADER_PATH", (path + (before ? before : "")).c_str(), 1);
  }
  static const toy_counts *counts(const Component &toy) {
    return static_cast<const toy_counts *>(
        tesseract_component_extension(toy.get(), TOY_COUNTS_ID, TESSERACT_NTS));
  }

 private:
  Folder folder_;
};

inline int64_t read_count(const int64_t &counter) {
  return __atomic_load_n(&counter, __ATOMIC_SEQ_CST);
}

}  // namespace test
