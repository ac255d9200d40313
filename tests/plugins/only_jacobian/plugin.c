/* Has a Jacobian only: the host derives both products. */
#include "../square/model.h"

EXPORT_COMPONENT(.apply = square_apply, .jacobian = square_jacobian)
