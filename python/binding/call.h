// The Python type of a prepared call.
#pragma once

#include <tesseract_host/host.h>

#include <memory>
#include <vector>

#include "match.h"
#include "python.h"
#include "tensors.h"

namespace tesseract::binding {

// Holds its component, in the host.
struct Call {
  PyObject ob_base;
  tesseract_call *handle;
  bool is_abstract;
  bool allows_copies;
  std::vector<Position> *positions;  // of the inputs, then of the seeds
  int64_t n_out;
  Pattern *pattern;  // the arguments it was prepared for; null until `remember`
  Form *form;        // what becomes of its results; likewise
};

// Flags of `prepare`, which are the signature's.
constexpr long kNoCopy = TESSERACT_NO_COPY, kStaged = TESSERACT_STAGED;

// Component.prepare(endpoint, paths, arrays, json, of, wrt, seeds, flags=0) -> Call: the endpoint's
// number, tuples of texts and arrays, the other inputs as JSON text, and tuples of paths or None
// for all that the endpoint can give.  Of a Jacobian product the one of `of` and `wrt` that says
// what is given goes with `seeds`.  Arrays are NumPy's, Given, or what can be read as Given.
PyObject *prepare_call(PyObject *component, PyObject *const *arguments, Py_ssize_t count);

// Runs it on tensors that are set and settled.  (values, JSON text, [(path, value), ...]) with the
// outputs that no signature can name.  Throws PythonError.
Ref run_for_parts(Call &call, Tensors &tensors);

// The same as `form` says; null where there is more than it knows: then `parts` is set.
Ref run_for_form(Call &call, Tensors &tensors, Ref &parts);

void add_call_type(PyObject *module);
bool is_call(PyObject *object);

}  // namespace tesseract::binding
