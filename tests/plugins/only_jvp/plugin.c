/* Has the forward product only: the host derives the Jacobian column by column. */
#include "../square/model.h"

EXPORT_COMPONENT(.apply = square_apply, .jvp = square_jvp)
