/* Has the reverse product only: the host derives the Jacobian row by row. */
#include "../square/model.h"

EXPORT_COMPONENT(.apply = square_apply, .vjp = square_vjp)
