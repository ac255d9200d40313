// The loop over the elements of a batch: vmapped calls of a component that knows no batch axis.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "prepared.h"

namespace tesseract::jax {

class Batch {
 public:
  // Reads the sizes of the levels from the arrays, which have the ranks of the spec; throws Failure
  // where they differ.
  Batch(const Spec &spec, const Arrays &arrays, std::string_view place);
  Batch(const Batch &) = delete;
  Batch &operator=(const Batch &) = delete;

  // Runs `body` on each element's arrays, the last level fastest; a Failure it throws is told the
  // element.
  void each(const std::function<void(const Arrays &)> &body);

 private:
  // An array of which one element is looked at.
  struct Part {
    DLTensor tensor;
    std::vector<int64_t> steps;  // bytes from one element of a level to the next

    void move(int64_t bytes) {
      if (bytes) tensor.data = static_cast<char *>(tensor.data) + bytes;
    }
  };

  void add(const DLTensor &tensor, const std::vector<bool> &has);
  void measure(const DLTensor &tensor, const std::vector<bool> &has);
  void loop(size_t level, const std::function<void(const Arrays &)> &body);
  std::string element() const;

  std::string_view place_;
  size_t levels_;
  std::vector<int64_t> sizes_, index_;  // of levels; a size of -1 isn't known yet
  std::vector<Part> parts_;
  std::vector<DLTensor *> pointers_;
  Arrays arrays_;
};

}  // namespace tesseract::jax
