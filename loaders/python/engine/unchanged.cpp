// Classes that modules change after they were compiled.
#include "errors.h"
#include "node.h"
#include "schema.h"

namespace tesseract::python::engine {
namespace {

// What pydantic asks a class for when it dumps an instance of it.
constexpr const char *kLookedAt[] = {"__pydantic_serializer__", "model_dump", "__getattribute__"};

Ref looked_up(PyObject *type, const char *name) {
  Ref found(PyObject_GetAttrString(type, name));
  if (!found) PyErr_Clear();
  return found;
}

// None where there are none, as for a class that pydantic no longer makes plain instances of.
Ref current_offsets(PyObject *type) {
  try {
    return slot_offsets(type);
  } catch (const PythonError &) {
    return missed();
  }
}

}  // namespace

void Unchanged::note(PyObject *type, bool dumps) {
  type_ = Ref(Py_NewRef(type));
  dumps_ = dumps;
  offsets_ = slot_offsets(type);
  for (size_t i = 0; dumps && i < kLooked; i++) found_[i] = looked_up(type, kLookedAt[i]);
  version_ = current();
}

bool Unchanged::look_again() const {
  const Ref offsets = current_offsets(type_.get());
  if (!offsets || PyObject_RichCompareBool(offsets.get(), offsets_.get(), Py_EQ) != 1) {
    forget_exception();
    return false;
  }
  for (size_t i = 0; dumps_ && i < kLooked; i++) {
    if (looked_up(type_.get(), kLookedAt[i]).get() != found_[i].get()) return false;
  }
  version_ = current();
  return true;
}

int Unchanged::traverse(visitproc visit, void *arg) const {
  Py_VISIT(type_.get());
  for (const Ref &found : found_) Py_VISIT(found.get());
  return 0;
}

}  // namespace tesseract::python::engine
