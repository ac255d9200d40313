// A call prepared from a spec, and how it is run.
#pragma once

#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "execute.h"
#include "failure.h"
#include "spec.h"

namespace tesseract::jax {

// The arrays of one run.
struct Arrays {
  const DLTensor *const *in;
  int64_t n_in;
  DLTensor *const *out;
  int64_t n_out;
  uint64_t stream;
  uint32_t flags;  // as in tesseract_call_options
};

class Prepared {
 public:
  // Resolves the signature; throws Failure.  `name` is the component's, for messages.
  Prepared(tesseract_component *component, std::string name, std::string_view endpoint,
           std::string_view spec, DLDevice device);
  ~Prepared();
  Prepared(const Prepared &) = delete;
  Prepared &operator=(const Prepared &) = delete;

  // [any] A status, and a text on failure.
  int32_t run(const Arrays &arrays, char **message) const;

  // How many there are.
  static uint64_t count();

 private:
  bool fits(const Arrays &arrays) const;
  [[noreturn]] void refuse(const Arrays &arrays) const;
  int32_t run_plain(const Arrays &arrays, char **message) const;
  int32_t run_otherwise(const Arrays &arrays, char **message) const;

  static tesseract_call_options options_of(const Arrays &arrays);

  // Throws Failure.
  void run_once(const Arrays &arrays) const;
  void run_batch(const Arrays &arrays) const;
  void compare(const tesseract_result *result) const;

  Call call_;
  std::vector<uint64_t> words_;  // rank and dtype of operands, then results, batch axes included
  bool plain_ = true;            // no batch, and nothing to compare
  int64_t n_in_ = 0, n_out_ = 0;
  Spec spec_;
  std::string place_;  // "name: endpoint: "
  mutable std::atomic<bool> told_{false};
};

// Who hears of differences; null: nobody.
using Warn = void (*)(const char *text, uint64_t length);
void on_difference(Warn warn);

}  // namespace tesseract::jax
