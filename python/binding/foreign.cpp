#include "foreign.h"

#include <string>

#include "../arrays/device_array.h"
#include "../arrays/layout.h"
#include "errors.h"

namespace tesseract::binding {
namespace {

using arrays::BadArray;
using arrays::DeviceFailure;

// Without waiting, so that the GIL may be held.
DLDevice located(uintptr_t address) {
  const tesseract_device_table *table = arrays::device_api().table;
  DLDevice found{};
  tesseract_error *error = nullptr;
  const int32_t status = table->locate(reinterpret_cast<const void *>(address), &found, &error);
  arrays::check_device_call(status, error);
  return found;
}

}  // namespace

bool Foreign::read(PyObject *object, uint64_t stream, Where where, bool thoroughly) {
  if (!producer_.read(object, stream, where)) return false;
  tensor_ = producer_.tensor();
  if (!arrays::is_on_device(tensor_)) {
    // JAX numbers its parts of the host, and page-locked memory is the host's, too.
    tensor_.device = {kDLCPU, 0};
    return true;
  }
  is_its_own_ = !producer_.by_dlpack();
  ready_on_ = is_its_own_ ? producer_.stream() : stream ? stream : 1;
  settle_device(thoroughly && !arrays::is_device_array(object));
  return true;
}

void Foreign::settle_device(bool thoroughly) {
  tensor_.device.device_type = kDLCUDA;  // managed memory, too
  if (arrays::size_of(tensor_) == 0) {
    is_on_any_ = !producer_.tells_device();
    return;
  }
  if (producer_.tells_device() && !thoroughly) return;
  const arrays::Extent extent(tensor_);
  DLDevice first{}, last{};
  try {
    first = located(extent.begin);
    last = thoroughly ? located(extent.end - 1) : first;
  } catch (const DeviceFailure &failure) {
    // The host says so with more words when the call is prepared.
    if (failure.status == TESSERACT_ERROR_UNAVAILABLE) return;
    throw;
  }
  if (first.device_type == kDLCPU) {
    throw BadArray{"its pointer is no memory of a CUDA device: it may have been freed"};
  }
  if (first.device_type == kDLCUDAHost) {
    throw BadArray{"its memory is page-locked memory of the host: give it as a NumPy array"};
  }
  if (last.device_type != first.device_type || last.device_id != first.device_id) {
    throw BadArray{"its shape and strides reach beyond the device's memory"};
  }
  if (producer_.tells_device() && first.device_id != tensor_.device.device_id) {
    throw BadArray{"it says that it is on CUDA device " + std::to_string(tensor_.device.device_id) +
                   ", and its memory is on device " + std::to_string(first.device_id)};
  }
  tensor_.device.device_id = first.device_id;
}

const Foreign *Readings::of(PyObject *object, Foreign::Where where) {
  for (const Reading &known : readings_) {
    if (known.object.get() == object && known.where == where) return known.found.get();
  }
  auto made = std::make_unique<Foreign>();
  bool found = false;
  try {
    found = made->read(object, stream_, where, false);
  } catch (const PythonError &) {
    forget_exception();
  } catch (const BadArray &) {
  } catch (const DeviceFailure &) {
  }
  if (!found) made.reset();
  readings_.push_back({Ref(Py_NewRef(object)), where, std::move(made)});
  return readings_.back().found.get();
}

// ---- The type -----------------------------------------------------------------------------------

namespace {

struct Given {
  PyObject ob_base;
  PyObject *object;
  Foreign *array;
};

PyTypeObject *type = nullptr;

Given *as_given(PyObject *self) {
  return reinterpret_cast<Given *>(self);
}

int traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(as_given(self)->object);
  return 0;
}

void destroy(PyObject *self) {
  PyObject_GC_UnTrack(self);
  delete as_given(self)->array;
  Py_XDECREF(as_given(self)->object);
  PyTypeObject *its_type = Py_TYPE(self);
  its_type->tp_free(self);
  Py_DECREF(its_type);
}

PyObject *on_device(PyObject *self, void *) {
  return PyBool_FromLong(as_given(self)->array->on_device());
}

PyGetSetDef properties[] = {
    {"on_device", on_device, nullptr, "Whether it is in the memory of a device.", nullptr},
    {},
};

PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void *>(destroy)},
    {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
    {Py_tp_getset, properties},
    {},
};

PyType_Spec specification = {
    "tesseract_host._native._host.Given", sizeof(Given), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

Ref read(PyObject *object, uint64_t stream, Foreign::Where where) {
  auto array = std::make_unique<Foreign>();
  if (!array->read(object, stream, where, true)) return Ref();
  Ref made = own(type->tp_alloc(type, 0));
  as_given(made.get())->object = Py_NewRef(object);
  as_given(made.get())->array = array.release();
  return made;
}

// Calls `refuse` with a text for what can't be used.
template <typename Refuse>
Ref read_or(PyObject *object, uint64_t stream, Foreign::Where where, Refuse refuse) {
  try {
    return read(object, stream, where);
  } catch (const BadArray &bad) {
    return refuse(bad.message.c_str());
  } catch (const DeviceFailure &failure) {
    if (failure.status != TESSERACT_ERROR_OUT_OF_MEMORY) return refuse(failure.message.c_str());
    throw std::bad_alloc();
  }
}

}  // namespace

const Foreign *given(PyObject *object) {
  return Py_IS_TYPE(object, type) ? as_given(object)->array : nullptr;
}

Ref make_given(PyObject *object) {
  return read_or(object, 0, Foreign::Where::anywhere, [](const char *text) -> Ref {
    PyErr_SetString(PyExc_ValueError, text);
    throw PythonError{};
  });
}

PyObject *read_given(PyObject *, PyObject *const *arguments, Py_ssize_t count) {
  return guarded([&]() -> PyObject * {
    if (count != 3) {
      PyErr_SetString(PyExc_TypeError, "given takes object, stream, anywhere");
      throw PythonError{};
    }
    const uint64_t stream = PyLong_AsUnsignedLongLong(arguments[1]);
    if (PyErr_Occurred()) throw PythonError{};
    const auto where = arguments[2] == Py_True ? Foreign::Where::anywhere : Foreign::Where::device;
    Ref made = read_or(arguments[0], stream, where,
                       [](const char *text) { return own(PyUnicode_FromString(text)); });
    return made ? made.release() : Py_NewRef(Py_None);
  });
}

void add_given_type(PyObject *module) {
  if (!type)
    type = reinterpret_cast<PyTypeObject *>(own(PyType_FromSpec(&specification)).release());
  check(PyModule_AddObjectRef(module, "Given", reinterpret_cast<PyObject *>(type)));
}

}  // namespace tesseract::binding
