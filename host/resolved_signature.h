// Signatures as resolved, in the form that is handed out.
#pragma once

#include <span>

#include "call.h"
#include "signature.h"

namespace host {

// The positions that the leaves of each list have.
struct SignaturePositions {
  std::span<const Position> inputs, of, wrt;
};

// Writes every list out, with a tensor for each leaf.  `declared`: with the dtypes that the
// component sees, not those that the caller gives.
void resolve_signature(ResolvedSignature &resolved, const GivenSignature &given,
                       const SignaturePositions &positions, bool declared);

}  // namespace host
