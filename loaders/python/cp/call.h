// The endpoints of a component.
#pragma once

#include <tesseract_host/plugin.h>

namespace tesseract::python {

// apply, jvp, vjp and jacobian; abstract_eval.  Both are tesseract_endpoint.
int32_t run_call(void *instance, void *plan, tesseract_frame *frame);
int32_t run_abstract(void *instance, void *plan, tesseract_frame *frame);

}  // namespace tesseract::python
