// Places in a JSON document by path: names and keys are members of objects, indices items of lists.
#pragma once

#include "json.h"
#include "path.h"

namespace host {

// What is at a concrete path, or null.
const Json *find(const Json &root, const Path &path);

// The place of a concrete path, made where it is missing; what stands in its way is replaced, and
// lists are filled up by nulls.
Json &place(Json &root, const Path &path);

}  // namespace host
