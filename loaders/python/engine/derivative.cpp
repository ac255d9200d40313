// Paths, seeds and results of the derivative endpoints.
#include "check.h"
#include "endpoint.h"
#include "entries.h"
#include "errors.h"
#include "leaf.h"

namespace tesseract::python::engine {
namespace {

constexpr Py_ssize_t kCached = 512;

// The paths as a tuple; a miss unless they are plain text in a list, tuple or set.
Ref path_tuple(PyObject *paths) {
  Ref tuple;
  if (PyTuple_CheckExact(paths)) {
    tuple = Ref(Py_NewRef(paths));
  } else if (PyList_CheckExact(paths)) {
    tuple = Ref(PyList_AsTuple(paths));
  } else if (PyAnySet_CheckExact(paths)) {
    tuple = Ref(PySequence_Tuple(paths));
  } else {
    return {};
  }
  if (!tuple) return missed();
  const Py_ssize_t count = PyTuple_GET_SIZE(tuple.get());
  for (Py_ssize_t i = 0; i < count; i++) {
    if (!PyUnicode_CheckExact(PyTuple_GET_ITEM(tuple.get(), i))) return {};
  }
  return count ? std::move(tuple) : Ref();
}

Ref resolved(const Endpoint &endpoint, PyObject *ins, PyObject *outs, PyObject *key) {
  PyObject *arguments[] = {ins, outs};
  Ref set(PyObject_Vectorcall(endpoint.resolve, arguments, 2, nullptr));
  if (!set || !path_set_of(set.get())) return missed();
  if (PyDict_GET_SIZE(endpoint.cache) >= kCached) PyDict_Clear(endpoint.cache);
  if (PyDict_SetItem(endpoint.cache, key, set.get()) < 0) return missed();
  return set;
}

// What any array accepts, then what the leaf does: a seed is first a member of a dict of arrays.
Ref accept_twice(const Endpoint &endpoint, const Leaf &leaf, PyObject *seed, Context &context) {
  const Ref array = accept_leaf(*leaf_of(endpoint.any), seed, context);
  if (!array) return {};
  return accept_leaf(leaf, array.get(), context);
}

Ref accept_cotangent(const Endpoint &endpoint, const PathLeaf &leaf, PyObject *seed,
                     Context &context) {
  Ref fit = fitting(*leaf.leaf, seed);
  if (fit || PyErr_Occurred()) return fit;
  return accept_twice(endpoint, *leaf.leaf, seed, context);
}

// True where the seed has the dtype of the leaf and the shape of the value, which fits the leaf.
bool is_like(PyObject *seed, PyObject *value, const Leaf &leaf) {
  if (!PyArray_CheckExact(seed) || !PyArray_CheckExact(value) || leaf.number < 0) return false;
  auto *given = reinterpret_cast<PyArrayObject *>(seed);
  auto *input = reinterpret_cast<PyArrayObject *>(value);
  return PyArray_TYPE(given) == leaf.number && PyArray_SAMESHAPE(given, input) &&
         PyArray_IS_C_CONTIGUOUS(given) && PyArray_ISNOTSWAPPED(given) && PyArray_NDIM(given) > 0;
}

// The CHECK of arrays as a value of the inputs is.
Ref exact_check(const Endpoint &endpoint, PyObject *value, const Leaf &leaf) {
  Ref shape;
  if (PyArray_CheckExact(value)) {
    auto *array = reinterpret_cast<PyArrayObject *>(value);
    shape = Ref(PyArray_IntTupleFromIntp(PyArray_NDIM(array), PyArray_DIMS(array)));
  } else if (PyArray_IsScalar(value, Generic)) {
    shape = Ref(PyTuple_New(0));
  } else {
    return {};
  }
  if (!shape) return missed();
  PyObject *arguments[] = {shape.get(), leaf.slow.get()};
  Ref found(PyObject_Vectorcall(endpoint.exact, arguments, 2, nullptr));
  return found && leaf_of(found.get()) ? std::move(found) : missed();
}

Ref accept_tangent(const Endpoint &endpoint, const PathLeaf &leaf, PyObject *seed, PyObject *inputs,
                   Context &context) {
  const Ref value = at(leaf, inputs);
  if (!value) return {};
  if (is_like(seed, value.get(), *leaf.leaf)) return read_only(Ref(Py_NewRef(seed)));
  const Ref check = exact_check(endpoint, value.get(), *leaf.leaf);
  if (!check) return {};
  return accept_twice(endpoint, *leaf_of(check.get()), seed, context);
}

// A dict of results by exactly these paths, each checked by `accept(leaf, value)`.
template <typename Accept>
Ref by_path(PyObject *dict, const std::vector<PathLeaf> &leaves, Accept accept_value) {
  if (!PyDict_CheckExact(dict) || PyDict_GET_SIZE(dict) != static_cast<Py_ssize_t>(leaves.size())) {
    return {};
  }
  Ref result(PyDict_New());
  if (!result) return missed();
  Py_ssize_t position = 0;
  PyObject *key = nullptr, *value = nullptr;
  while (PyDict_Next(dict, &position, &key, &value)) {
    const PathLeaf *leaf = find(leaves, key);
    if (!leaf) return {};
    const Ref held_key(Py_NewRef(key)), held(Py_NewRef(value));
    const Ref accepted = accept_value(*leaf, held.get());
    if (!accepted) return {};
    if (PyDict_GET_SIZE(dict) != static_cast<Py_ssize_t>(leaves.size())) return {};
    if (PyDict_SetItem(result.get(), held_key.get(), accepted.get()) < 0) return missed();
  }
  return PyDict_GET_SIZE(result.get()) == PyDict_GET_SIZE(dict) ? std::move(result) : Ref();
}

// A block of a Jacobian: of shape (*output, *input), in the dtype it came in.
Ref accept_block(const Endpoint &endpoint, const Leaf &out, const Leaf &in, PyObject *value,
                 Context &context) {
  if (out.rank < 0 || in.rank < 0) return {};
  Ref block = accept_leaf(*leaf_of(endpoint.any), value, context);
  if (!block) return {};
  if (!PyArray_CheckExact(block.get())) {
    const bool is_scalar = out.rank + in.rank == 0 && PyArray_IsScalar(block.get(), Generic);
    return is_scalar ? std::move(block) : Ref();
  }
  auto *array = reinterpret_cast<PyArrayObject *>(block.get());
  const npy_intp *lengths = PyArray_DIMS(array);
  const bool fits = PyArray_NDIM(array) == out.rank + in.rank && out.has_lengths(lengths) &&
                    in.has_lengths(lengths + out.rank);
  return fits ? std::move(block) : Ref();
}

Ref checked_jacobian(const Endpoint &endpoint, PyObject *returned, const PathSet &paths,
                     Context &context) {
  return by_path(returned, paths.outs, [&](const PathLeaf &out, PyObject *row) {
    return by_path(row, paths.ins, [&](const PathLeaf &in, PyObject *block) {
      return accept_block(endpoint, *out.leaf, *in.leaf, block, context);
    });
  });
}

}  // namespace

Ref path_set(const Endpoint &endpoint, PyObject *ins, PyObject *outs) {
  const Ref in_paths = path_tuple(ins);
  if (!in_paths) return {};
  const Ref out_paths = path_tuple(outs);
  if (!out_paths) return {};
  const Ref key(PyTuple_Pack(2, in_paths.get(), out_paths.get()));
  if (!key) return missed();
  Ref known(Py_XNewRef(PyDict_GetItemWithError(endpoint.cache, key.get())));
  if (known) return known;
  if (PyErr_Occurred()) return missed();
  return resolved(endpoint, in_paths.get(), out_paths.get(), key.get());
}

Ref checked_seeds(const Endpoint &endpoint, PyObject *seeds, const PathSet &paths, PyObject *inputs,
                  Context &context) {
  if (endpoint.product == Product::kJvp) {
    return by_path(seeds, paths.ins, [&](const PathLeaf &leaf, PyObject *seed) {
      return accept_tangent(endpoint, leaf, seed, inputs, context);
    });
  }
  return by_path(seeds, paths.outs, [&](const PathLeaf &leaf, PyObject *seed) {
    return accept_cotangent(endpoint, leaf, seed, context);
  });
}

Ref checked_result(const Endpoint &endpoint, PyObject *returned, const PathSet *paths,
                   Context &context) {
  if (endpoint.product == Product::kApply) {
    if (!endpoint.outputs) return {};
    const Node &node = *node_of(endpoint.outputs);
    const bool is_dict = PyDict_CheckExact(returned);
    return plain(node, returned, is_dict ? Source::kGiven : Source::kDumped, context);
  }
  if (endpoint.product == Product::kJacobian) {
    return checked_jacobian(endpoint, returned, *paths, context);
  }
  const auto &leaves = endpoint.product == Product::kJvp ? paths->outs : paths->ins;
  return by_path(returned, leaves, [&](const PathLeaf &leaf, PyObject *value) {
    return accept_leaf(*leaf.leaf, value, context);
  });
}

}  // namespace tesseract::python::engine
