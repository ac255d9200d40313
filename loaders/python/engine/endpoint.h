// One endpoint of a component as Python calls it.
#pragma once

#include "paths.h"
#include "state.h"

namespace tesseract::python::engine {

enum class Product : uint8_t { kApply, kJvp, kVjp, kJacobian };

// What the Python object holds.  `Endpoint(inputs, ins, outs, vector)`; the last three only where
// the module's function takes them.
struct Endpoint {
  PyObject_HEAD vectorcallfunc call;
  Product product;
  State *state;          // owned
  PyObject *inputs;      // compiled schema of the inputs
  PyObject *outputs;     // compiled schema of the result, or null: always checked by `checked`
  PyObject *namespace_;  // the module's __dict__
  PyObject *name;        // of the module's function
  PyObject *names;       // of its parameters, where they are given by name
  PyObject *keys;        // the names in a payload, in order
  PyObject *whole;       // (payload): the whole call of a payload of other names
  PyObject *log;         // the component's, or None
  PyObject *make_context;
  PyObject *general;   // (inputs, ins, outs, vector): the whole call, for what misses
  PyObject *checked;   // (returned, in paths, out paths, context): the check of what misses
  PyObject *failed;    // (exception): the one to raise in place of one of the module's
  PyObject *surround;  // (function, ...): calls it in the surroundings that the component needs
  PyObject *finish;    // ends lines that the thread has begun
  PyObject *resolve;   // (in paths, out paths): their path set, or None
  PyObject *exact;     // (shape, dtype): the CHECK of a tangent
  PyObject *any;       // the CHECK of any array
  PyObject *cache;     // path sets by (in paths, out paths)
};

// Creates the type; once.  Throws PythonError.  A new reference.
Ref create_endpoint_type();

// The checked result of the module's function, or null for a miss.
Ref checked_result(const Endpoint &endpoint, PyObject *returned, const PathSet *paths,
                   Context &context);

// The tangents or cotangents that the module gets, or null for a miss.
Ref checked_seeds(const Endpoint &endpoint, PyObject *seeds, const PathSet &paths, PyObject *inputs,
                  Context &context);

// The path set of two collections of names, borrowed from the cache's; null for a miss.
Ref path_set(const Endpoint &endpoint, PyObject *ins, PyObject *outs);

}  // namespace tesseract::python::engine
