// Pieces of objects that may serve again.
#pragma once

#include <cstring>

#include "python.h"

namespace tesseract::python {

// What lies in a slot of an instance, borrowed.
inline PyObject *&part(PyObject *instance, Py_ssize_t offset) {
  return *reinterpret_cast<PyObject **>(reinterpret_cast<char *>(instance) + offset);
}

inline bool has_weak_references(PyObject *object) {
  const Py_ssize_t offset = Py_TYPE(object)->tp_weaklistoffset;
  return offset != 0 && part(object, offset);
}

// True for a set that only one place refers to, whose table is that of `like`, entry for entry: the
// same objects.  Sets copied from the same set are such.
inline bool is_own_copy(PyObject *set, PyObject *like) {
  if (!set || !PySet_CheckExact(set) || Py_REFCNT(set) != 1 || has_weak_references(set)) {
    return false;
  }
  const auto *one = reinterpret_cast<const PySetObject *>(set);
  const auto *other = reinterpret_cast<const PySetObject *>(like);
  return one->mask == other->mask && one->fill == other->fill && one->used == other->used &&
         std::memcmp(one->table, other->table,
                     (static_cast<size_t>(one->mask) + 1) * sizeof(setentry)) == 0;
}

// True for a set that only one place refers to, of exactly these many strings, which `name(i)`
// gives. No code of the module's compares them.
template <typename Name>
bool is_own_set(PyObject *set, Py_ssize_t count, Name name) {
  if (!set || !PySet_CheckExact(set) || Py_REFCNT(set) != 1 || has_weak_references(set) ||
      PySet_GET_SIZE(set) != count) {
    return false;
  }
  for (Py_ssize_t i = 0; i < count; i++) {
    if (PySet_Contains(set, name(i)) != 1) return false;
  }
  return true;
}

}  // namespace tesseract::python
