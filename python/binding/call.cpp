#include "call.h"

#include <structmember.h>

#include <string_view>

#include "component.h"
#include "dtypes.h"
#include "errors.h"
#include "results.h"

namespace tesseract::binding {
namespace {

PyTypeObject *type = nullptr;

Call *as_call(PyObject *self) {
  return reinterpret_cast<Call *>(self);
}

tesseract_string string_of(PyObject *object) {
  Py_ssize_t length = 0;
  const char *data = PyUnicode_AsUTF8AndSize(object, &length);
  if (!data) throw PythonError{};
  return {data, static_cast<uint64_t>(length)};
}

// Named leaves, with tensors or without; what they are of outlives them.
class Leaves {
 public:
  // Null for None.  The tensors are those from `first` on, or none at all.
  void name(PyObject *paths, Tensors *tensors = nullptr, size_t first = 0) {
    if (paths == Py_None) return;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(paths); i++) {
      const DLTensor *tensor = tensors ? &(*tensors)[first + static_cast<size_t>(i)] : nullptr;
      items_.push_back({string_of(PyTuple_GET_ITEM(paths, i)), tensor, nullptr});
    }
    leaves_.count = static_cast<int64_t>(items_.size());
    leaves_.items = items_.data();
    given_ = true;
  }

  void set_json(PyObject *text) { leaves_.json = string_of(text); }

  const tesseract_leaves *get() const { return given_ ? &leaves_ : nullptr; }

 private:
  std::vector<tesseract_leaf> items_;
  tesseract_leaves leaves_ = TESSERACT_LEAVES_INIT;
  bool given_ = false;
};

void set_tensor(PyObject *array, size_t at, bool is_abstract, Tensors &tensors) {
  if (!PyArray_Check(array)) {
    Ref owner = given(array) ? Ref(Py_NewRef(array)) : make_given(array);
    if (owner) {
      const Foreign &foreign = *given(owner.get());
      return tensors.set(at, std::move(owner), foreign);
    }
  }
  const DLDataType dtype = checked_dtype(array);
  if (is_abstract) {
    tensors.set_shape(at, Ref(Py_NewRef(array)), dtype);
  } else {
    tensors.set(at, Ref(Py_NewRef(array)), dtype);
  }
}

void set_tensors(PyObject *arrays, size_t first, bool is_abstract, Tensors &tensors) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arrays); i++) {
    set_tensor(PyTuple_GET_ITEM(arrays, i), first + static_cast<size_t>(i), is_abstract, tensors);
  }
}

Ref paths_of(const tesseract_leaves *leaves) {
  const int64_t count = leaves && leaves->count > 0 ? leaves->count : 0;
  Ref paths = own(PyTuple_New(static_cast<Py_ssize_t>(count)));
  for (int64_t i = 0; i < count; i++) {
    const tesseract_string &path = leaves->items[i].path;
    PyTuple_SET_ITEM(paths.get(), static_cast<Py_ssize_t>(i),
                     text_object(path.data, path.length).release());
  }
  return paths;
}

struct Request {
  int32_t endpoint;
  PyObject *paths, *arrays, *json, *of, *wrt, *seeds;
  long flags;
};

Request read_request(PyObject *const *arguments, Py_ssize_t count) {
  bool sound = count == 7 || count == 8;
  for (const int i : {1, 2, 6}) sound = sound && PyTuple_Check(arguments[i]);
  for (const int i : {4, 5}) {
    sound = sound && (arguments[i] == Py_None || PyTuple_Check(arguments[i]));
  }
  sound = sound && PyTuple_GET_SIZE(arguments[1]) == PyTuple_GET_SIZE(arguments[2]);
  const long endpoint = sound ? PyLong_AsLong(arguments[0]) : -1;
  const long flags = sound && count == 8 ? PyLong_AsLong(arguments[7]) : 0;
  if (PyErr_Occurred()) throw PythonError{};
  const Request request{static_cast<int32_t>(endpoint), sound ? arguments[1] : nullptr,
                        sound ? arguments[2] : nullptr, sound ? arguments[3] : nullptr,
                        sound ? arguments[4] : nullptr, sound ? arguments[5] : nullptr,
                        sound ? arguments[6] : nullptr, flags};
  PyObject *seeded = endpoint == TESSERACT_ENDPOINT_JVP   ? request.wrt
                     : endpoint == TESSERACT_ENDPOINT_VJP ? request.of
                                                          : nullptr;
  const Py_ssize_t n_seeds = sound ? PyTuple_GET_SIZE(request.seeds) : 0;
  if (seeded) sound = sound && PyTuple_Check(seeded) && PyTuple_GET_SIZE(seeded) == n_seeds;
  if (!seeded && n_seeds) sound = false;
  if (sound) return request;
  PyErr_SetString(PyExc_TypeError,
                  "prepare(endpoint, paths, arrays, json, of, wrt, seeds, flags=0) with tuples of "
                  "equal lengths for paths and arrays, and seeds for what is named");
  throw PythonError{};
}

tesseract_call *prepared(tesseract_component *component, const tesseract_signature &signature) {
  tesseract_call *call = nullptr;
  Error error;
  int32_t status = TESSERACT_OK;
  {
    const Unlocked unlocked;
    status = tesseract_prepare(component, &signature, &call, error.out());
  }
  if (status != TESSERACT_OK) error.raise(status);
  return call;
}

int traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  const Call *call = as_call(self);
  return call->pattern ? call->pattern->traverse(visit, arg) : 0;
}

// It serves no arguments then, but still runs.
int clear(PyObject *self) {
  const std::unique_ptr<Pattern> pattern(std::exchange(as_call(self)->pattern, nullptr));
  return 0;
}

void destroy(PyObject *self) {
  PyObject_GC_UnTrack(self);
  Call *call = as_call(self);
  PyObject *error_type = nullptr, *error = nullptr, *traceback = nullptr;
  PyErr_Fetch(&error_type, &error, &traceback);
  if (call->handle) {
    const Unlocked unlocked;
    tesseract_call_free(call->handle);
  }
  delete call->positions;
  delete call->pattern;
  delete call->form;
  PyErr_Restore(error_type, error, traceback);
  PyTypeObject *own_type = Py_TYPE(self);
  own_type->tp_free(self);
  Py_DECREF(own_type);
}

int32_t run_unlocked(const Call &call, Tensors &tensors, Result &result, Error &error) {
  const Unlocked unlocked;
  if (!tensors.stream()) {
    return tesseract_call_run(call.handle, tensors.pointers(), nullptr, nullptr, result.out(),
                              error.out());
  }
  tesseract_call_options options = TESSERACT_CALL_OPTIONS_INIT;
  options.stream = tensors.stream();
  return tesseract_call_run(call.handle, tensors.pointers(), nullptr, &options, result.out(),
                            error.out());
}

void order_streams(Tensors &tensors) {
  Error error;
  int32_t status = TESSERACT_OK;
  {
    const Unlocked unlocked;
    status = tensors.order(error.out());
  }
  if (status == TESSERACT_OK) return;
  PyErr_Format(PyExc_RuntimeError,
               "the stream of the call, %llu, can't be made to wait for those of its arrays: %s",
               static_cast<unsigned long long>(tensors.stream()), error.text());
  throw PythonError{};
}

void run_checked(const Call &call, Tensors &tensors, Result &result) {
  if (tensors.waits()) order_streams(tensors);
  Error error;
  const int32_t status = run_unlocked(call, tensors, result, error);
  if (status != TESSERACT_OK) error.raise(status);
}

std::string_view json_of(const Result &result) {
  uint64_t length = 0;
  const char *text = tesseract_result_json(result.get(), &length);
  return {text ? text : "", static_cast<size_t>(length)};
}

Ref value_of(const Call &call, Result &result, int64_t index, uint64_t stream) {
  return call.is_abstract ? result.shape(index) : result.value(index, stream);
}

Ref parts_of(const Call &call, Result &result, uint64_t stream) {
  const int64_t count = tesseract_result_count(result.get());
  Ref values = own(PyList_New(0)), others = own(PyList_New(0));
  for (int64_t i = 0; i < count; i++) {
    const Ref value = value_of(call, result, i, stream);
    if (i < call.n_out) {
      check(PyList_Append(values.get(), value.get()));
      continue;
    }
    uint64_t length = 0;
    const char *path = tesseract_result_path(result.get(), i, &length);
    const Ref text = text_object(path, length);
    const Ref pair = own(PyTuple_Pack(2, text.get(), value.get()));
    check(PyList_Append(others.get(), pair.get()));
  }
  const std::string_view json = json_of(result);
  const Ref document = text_object(json.data(), json.size());
  return own(PyTuple_Pack(3, values.get(), document.get(), others.get()));
}

PyObject *run(PyObject *self, PyObject *const *arguments, Py_ssize_t n_arguments) {
  return guarded([&] {
    Call &call = *as_call(self);
    const size_t count = call.positions->size();
    PyObject *arrays = n_arguments == 1 || n_arguments == 2 ? arguments[0] : Py_None;
    if (!PyTuple_Check(arrays) || static_cast<size_t>(PyTuple_GET_SIZE(arrays)) != count) {
      PyErr_Format(PyExc_TypeError, "run takes a tuple of %zu arrays, and a stream or nothing",
                   count);
      throw PythonError{};
    }
    const uint64_t stream = n_arguments == 2 ? PyLong_AsUnsignedLongLong(arguments[1]) : 0;
    if (PyErr_Occurred()) throw PythonError{};
    Tensors tensors(count);
    set_tensors(arrays, 0, call.is_abstract, tensors);
    tensors.settle(stream);
    return run_for_parts(call, tensors).release();
  });
}

PyObject *remember(PyObject *self, PyObject *arguments) {
  return guarded([&]() -> PyObject * {
    PyObject *pattern = nullptr, *form = nullptr;
    if (!PyArg_ParseTuple(arguments, "OO", &pattern, &form)) throw PythonError{};
    Call &call = *as_call(self);
    if (call.pattern) {
      PyErr_SetString(PyExc_RuntimeError, "the call has its arguments already");
      throw PythonError{};
    }
    auto made = Form::read(form);
    call.pattern = Pattern::read(pattern).release();
    call.form = made.release();
    Py_RETURN_NONE;
  });
}

PyObject *paths(PyObject *self, void *which) {
  return guarded([&] {
    const tesseract_signature *signature = tesseract_call_signature(as_call(self)->handle);
    return paths_of(which ? signature->wrt : signature->of).release();
  });
}

PyObject *pointer(PyObject *self, void *) {
  return PyLong_FromVoidPtr(as_call(self)->handle);
}

int wanted_inputs = 0;  // whose address tells the two properties apart

PyGetSetDef properties[] = {
    {"of", paths, nullptr, "The paths of outputs, resolved.", nullptr},
    {"wrt", paths, nullptr, "The paths of inputs, resolved.", &wanted_inputs},
    {"pointer", pointer, nullptr, "The address of the tesseract_call, as an int.", nullptr},
    {},
};

PyMethodDef methods[] = {
    {"run", reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(run)), METH_FASTCALL,
     "run(arrays, stream=0) -> (values, json, others): arrays of the inputs, then of the seeds;\n"
     "others are (path, value) of outputs that no signature can name."},
    {"remember", remember, METH_VARARGS,
     "remember(pattern, form): the arguments it serves and the form of its results."},
    {},
};

PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void *>(destroy)},
    {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
    {Py_tp_clear, reinterpret_cast<void *>(clear)},
    {Py_tp_getset, properties},
    {Py_tp_methods, methods},
    {},
};

PyType_Spec specification = {
    "tesseract_host._native._host.Call", sizeof(Call), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

}  // namespace

PyObject *prepare_call(PyObject *component, PyObject *const *arguments, Py_ssize_t count) {
  return guarded([&] {
    const Request request = read_request(arguments, count);
    Ref object = own(type->tp_alloc(type, 0));
    Call &call = *as_call(object.get());
    call.is_abstract = request.endpoint == TESSERACT_ENDPOINT_ABSTRACT_EVAL;
    call.allows_copies = !(request.flags & kNoCopy);
    call.positions = new std::vector<Position>;
    const auto n_inputs = static_cast<size_t>(PyTuple_GET_SIZE(request.arrays));
    Tensors tensors(n_inputs + static_cast<size_t>(PyTuple_GET_SIZE(request.seeds)));
    set_tensors(request.arrays, 0, call.is_abstract, tensors);
    set_tensors(request.seeds, n_inputs, call.is_abstract, tensors);
    tensors.settle(0);
    const auto n_tensors = n_inputs + static_cast<size_t>(PyTuple_GET_SIZE(request.seeds));
    for (size_t i = 0; i < n_tensors; i++) {
      call.positions->push_back({tensors[i].dtype, tensors[i].ndim, tensors[i].device});
    }

    Leaves inputs, of, wrt;
    inputs.name(request.paths, &tensors);
    inputs.set_json(request.json);
    const bool jvp = request.endpoint == TESSERACT_ENDPOINT_JVP;
    const bool vjp = request.endpoint == TESSERACT_ENDPOINT_VJP;
    of.name(request.of, vjp ? &tensors : nullptr, n_inputs);
    wrt.name(request.wrt, jvp ? &tensors : nullptr, n_inputs);
    tesseract_signature signature = TESSERACT_SIGNATURE_INIT;
    signature.flags = static_cast<uint32_t>(request.flags & (kNoCopy | kStaged));
    signature.endpoint = request.endpoint;
    signature.inputs = inputs.get();
    signature.of = of.get();
    signature.wrt = wrt.get();
    call.handle = prepared(handle_of(component), signature);

    const tesseract_signature *resolved = tesseract_call_signature(call.handle);
    const int64_t n_of = resolved->of ? resolved->of->count : 0;
    const int64_t n_wrt = resolved->wrt ? resolved->wrt->count : 0;
    call.n_out = vjp                                               ? n_wrt
                 : request.endpoint == TESSERACT_ENDPOINT_JACOBIAN ? n_of * n_wrt
                                                                   : n_of;
    return object.release();
  });
}

Ref run_for_parts(Call &call, Tensors &tensors) {
  Result result;
  run_checked(call, tensors, result);
  return parts_of(call, result, tensors.stream());
}

Ref run_for_form(Call &call, Tensors &tensors, Ref &parts) {
  Result result;
  run_checked(call, tensors, result);
  if (tesseract_result_count(result.get()) != call.n_out || json_of(result).size() > 2) {
    parts = parts_of(call, result, tensors.stream());
    return Ref();
  }
  std::vector<Ref> values;
  values.reserve(static_cast<size_t>(call.n_out));
  for (int64_t i = 0; i < call.n_out; i++) {
    values.push_back(value_of(call, result, i, tensors.stream()));
  }
  return call.form->make(values);
}

void add_call_type(PyObject *module) {
  if (!type)
    type = reinterpret_cast<PyTypeObject *>(own(PyType_FromSpec(&specification)).release());
  check(PyModule_AddObjectRef(module, "Call", reinterpret_cast<PyObject *>(type)));
}

bool is_call(PyObject *object) {
  return Py_TYPE(object) == type;
}

}  // namespace tesseract::binding
