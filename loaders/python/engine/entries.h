// Walks of dicts while user code may run.
#pragma once

#include "errors.h"

namespace tesseract::python::engine {

// A new dict with `change(value)` under each key, a miss where that misses, and for any key that
// is not plain text or where the dict changes meanwhile.
template <typename Change>
Ref each_entry(PyObject *dict, Change change) {
  if (!PyDict_CheckExact(dict)) return {};
  Ref result(PyDict_New());
  if (!result) return missed();
  const Py_ssize_t size = PyDict_GET_SIZE(dict);
  Py_ssize_t position = 0;
  PyObject *key = nullptr, *value = nullptr;
  while (PyDict_Next(dict, &position, &key, &value)) {
    if (!PyUnicode_CheckExact(key)) return {};
    if (!PyUnicode_IS_ASCII(key) && !PyUnicode_AsUTF8(key)) return missed();
    const Ref held_key(Py_NewRef(key)), held(Py_NewRef(value));
    const Ref changed = change(held.get());
    if (!changed) return {};
    if (PyDict_GET_SIZE(dict) != size) return {};
    if (PyDict_SetItem(result.get(), held_key.get(), changed.get()) < 0) return missed();
  }
  return PyDict_GET_SIZE(result.get()) == size ? std::move(result) : Ref();
}

}  // namespace tesseract::python::engine
