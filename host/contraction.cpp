#include "contraction.h"

#include <complex>
#include <cstring>

#include "dtype.h"
#include "element.h"
#include "error.h"
#include "floating_point.h"
#include "tensor.h"

namespace host {
namespace {

uint64_t elements(const DLTensor &tensor) {
  uint64_t count = 0, bytes = 0;
  count_bytes(tensor.ndim, tensor.shape, 1, &count, &bytes);
  return count;
}

std::complex<double> as_complex(const Wide &wide) {
  switch (wide.kind) {
    case Wide::Kind::integer:
      return static_cast<double>(wide.integer);
    case Wide::Kind::natural:
      return static_cast<double>(wide.natural);
    default:
      return wide.value;
  }
}

// Reads any dtype; the common ones without going through Wide.
std::complex<double> value_at(const DLTensor &tensor, uint64_t i) {
  const auto *data = static_cast<const char *>(tensor.data);
  if (tensor.dtype.code == kDLFloat && tensor.dtype.bits == 64) {
    double value;
    std::memcpy(&value, data + i * sizeof value, sizeof value);
    return value;
  }
  if (tensor.dtype.code == kDLFloat && tensor.dtype.bits == 32) {
    float value;
    std::memcpy(&value, data + i * sizeof value, sizeof value);
    return value;
  }
  return as_complex(read_element(tensor.dtype, data + i * dtype_size(tensor.dtype)));
}

void add_term(const Block &term, bool forward, std::vector<std::complex<double>> &sums) {
  const uint64_t seeds = elements(*term.seed), n = sums.size();
  for (uint64_t s = 0; s < seeds; s++) {
    const std::complex<double> seed = value_at(*term.seed, s);
    for (uint64_t k = 0; k < n; k++)
      sums[k] += seed * value_at(*term.jacobian, forward ? k * seeds + s : s * n + k);
  }
}

}  // namespace

void contract(const std::vector<Block> &terms, bool forward, const DLTensor &out) {
  const DefaultFloatingPoint environment(true);
  std::vector<std::complex<double>> sums(elements(out));
  for (const Block &term : terms) add_term(term, forward, sums);
  const uint64_t item = dtype_size(out.dtype);
  auto *data = static_cast<char *>(out.data);
  for (size_t k = 0; k < sums.size(); k++) {
    const bool complex = dtype_complex(out.dtype);
    const Wide sum = {complex ? Wide::Kind::complex : Wide::Kind::real, 0, 0,
                      complex ? sums[k] : std::complex<double>(sums[k].real())};
    if (!write_element(out.dtype, data + k * item, sum))
      throw Failure(TESSERACT_ERROR_COMPONENT,
                    "a derivative does not fit " + dtype_name(out.dtype));
  }
}

}  // namespace host
