// Arguments of a call that a prepared call serves: as Python values, without looking at paths.
#pragma once

#include <dlpack/dlpack.h>

#include <memory>
#include <vector>

#include "python.h"
#include "tensors.h"

namespace tesseract::binding {

// Type, rank and place of a tensor in, as prepared.
struct Position {
  DLDataType dtype;
  int32_t ndim;
  DLDevice device;
};

// What a value must be for the call to serve it.  Made by Python as a tuple:
//
//   ("dict", keys, patterns)          a dict of these keys, all of them texts
//   ("list", type, patterns)          a list or tuple of that length
//   ("array", position)               NumPy's array of the position's dtype and rank
//   ("foreign", type, position)       one of that type that Foreign reads
//   ("number", type, position)        a float, int or bool, written as the position's dtype
//   ("other", type, position, make)   anything of that type, of which `make` makes the array
//   ("value", value)                  an equal value of the same type; for those that don't change
//   ("set", set)                      an equal set
class Pattern {
 public:
  // What a value is compared with, and where its tensors go.
  struct Match {
    const std::vector<Position> &positions;
    bool allows_copies;
    Tensors &tensors;
    Readings &readings;
  };

  // Throws PythonError.
  static std::unique_ptr<Pattern> read(PyObject *description);

  // Whether the value is so; sets its tensors.  No exception is set where it is not.  Throws
  // PythonError for what is no Exception, an interrupt, alone.
  bool matches(PyObject *value, const Match &match) const;

  // The same of arguments, by a pattern of a tuple.
  bool matches_arguments(PyObject *const *values, size_t count, const Match &match) const;

  // For the garbage collector: types and functions of the user's may refer to the component.
  int traverse(visitproc visit, void *arg) const;

 private:
  enum class Kind { dict, list, array, foreign, number, other, value, set };

  bool matches_dict(PyObject *value, const Match &match) const;
  bool matches_list(PyObject *value, const Match &match) const;
  bool matches_array(Ref array, const Match &match) const;
  bool matches_foreign(PyObject *value, const Match &match) const;
  bool matches_number(PyObject *value, const Match &match) const;
  bool equals(PyObject *value) const;

  Kind kind_ = Kind::value;
  size_t position_ = 0;
  Ref object_;  // type, value or set
  Ref make_;
  std::vector<Ref> keys_;
  std::vector<std::unique_ptr<Pattern>> children_;
};

// How results are put together:
//
//   ("dict", keys, forms)   ("list", forms)   ("out", index)
class Form {
 public:
  // Throws PythonError.
  static std::unique_ptr<Form> read(PyObject *description);

  // `values` by index, new or borrowed as the caller likes.  Throws PythonError.
  Ref make(const std::vector<Ref> &values) const;

 private:
  bool is_dict_ = false;
  bool is_list_ = false;
  size_t index_ = 0;
  std::vector<Ref> keys_;
  std::vector<std::unique_ptr<Form>> children_;
};

}  // namespace tesseract::binding
