// The Python type of an endpoint: a function that calls it by the prepared calls it remembers.
#pragma once

#include "python.h"

namespace tesseract::binding {

// Endpoint(general, finish, stream=0): a callable of the endpoint's arguments, on arrays of devices
// on that stream, or on the one that they are ready on.  Where a remembered call
// serves them it is run, else `general(endpoint, *arguments)`, which may `remember` the call it
// makes, gives the result.  `finish(call, values, json, others)` makes one of parts that the call's
// form doesn't know.
void add_endpoint_type(PyObject *module);

}  // namespace tesseract::binding
