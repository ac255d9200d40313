/* Well-behaved, concurrent: y = a * x * x with both products and no Jacobian. */
#include "model.h"

EXPORT_COMPONENT(.apply = square_apply, .jvp = square_jvp, .vjp = square_vjp)
