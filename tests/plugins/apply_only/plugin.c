/* Has no derivative at all. */
#include "../square/model.h"

EXPORT_COMPONENT(.apply = square_apply)
