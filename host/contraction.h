// Products of Jacobians with tangents and cotangents.
#pragma once

#include <dlpack/dlpack.h>

#include <vector>

namespace host {

// One term: a Jacobian of shape (*output, *input) and the seed it is multiplied with.
struct Block {
  const DLTensor *jacobian;
  const DLTensor *seed;
};

// out = sum of J·t (`forward`, t of the input's shape) or cᵀ·J (c of the output's shape).  All
// compact row-major; sums are in double precision.  Throws Failure if a sum does not fit.
void contract(const std::vector<Block> &terms, bool forward, const DLTensor &out);

}  // namespace host
