// A quicker way to make instances of plain output classes, for modules that return one.
//
// A class's own vectorcall slot is set, so that `OutputSchema(y=array)` comes here.  A call with
// keywords that gives every field a value which pydantic would take as it is makes the instance
// that pydantic would have made; every other call goes on to the class's ordinary way.
#pragma once

#include "../engine/node.h"
#include "reference.h"

namespace tesseract::python {

// Does so for the user's class of a model of a result, and those in it, where the class has nothing
// of its own to say.  Does nothing before CPython 3.12, where classes have no such slot of use, and
// for classes that have it in use.  GIL held.  Throws PythonError.
void quicken(const engine::Node &node);

// An instance of a class as above that nothing else refers to, without its values but for views of
// no array (spare_view.h), hidden from the collector; null, and the instance dropped, for any
// other.  GIL held; no exception is left set.
Ref recycle(Ref instance);

// Has the next call of its class use what `recycle` returned.  Returns the place where it lies
// until then, for the caller to take it from afterwards, as it would keep its class alive; null
// where there is none, and then the instance stays where it is.
Ref *offer(Ref &spare);

// False: `recycle` only drops.
extern bool recycles;

}  // namespace tesseract::python
