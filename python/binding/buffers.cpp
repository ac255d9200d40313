#include "buffers.h"

#include <dlpack/dlpack.h>

#include <vector>

#include "errors.h"

namespace tesseract::binding {
namespace {

// The tesseract_jax_run of python/adapter/adapter.h.
using Run = int32_t (*)(uint64_t key, const DLTensor *const *in, int64_t n_in, DLTensor *const *out,
                        int64_t n_out, uint64_t stream, char **message);

// The tensors of a sequence of buffers, borrowed from capsules that this keeps.  A capsule that
// nobody has taken frees what is in it.
class Borrowed {
 public:
  explicit Borrowed(PyObject *buffers) {
    static PyObject *const name = own(PyUnicode_InternFromString("__dlpack__")).release();
    const Ref all = own(PySequence_Fast(buffers, "buffers come in a list or a tuple"));
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(all.get());
    capsules_.reserve(static_cast<size_t>(count));
    tensors_.reserve(static_cast<size_t>(count));
    for (Py_ssize_t i = 0; i < count; i++) {
      PyObject *buffer = PySequence_Fast_GET_ITEM(all.get(), i);
      capsules_.push_back(own(PyObject_CallMethodNoArgs(buffer, name)));
      auto *managed =
          static_cast<DLManagedTensor *>(PyCapsule_GetPointer(capsules_.back().get(), "dltensor"));
      if (!managed) throw PythonError{};
      DLTensor &tensor = managed->dl_tensor;
      // JAX numbers its parts of the host, which for DLPack is one device.
      if (tensor.device.device_type == kDLCPU) tensor.device.device_id = 0;
      tensors_.push_back(&tensor);
    }
  }

  DLTensor *const *data() const { return tensors_.data(); }
  int64_t size() const { return static_cast<int64_t>(tensors_.size()); }

 private:
  std::vector<Ref> capsules_;
  std::vector<DLTensor *> tensors_;
};

template <typename Function>
int32_t without_gil(Function function) {
  const Unlocked unlocked;
  return function();
}

}  // namespace

PyObject *run_buffers(PyObject *, PyObject *const *arguments, Py_ssize_t count) {
  return guarded([&]() -> PyObject * {
    if (count != 6) {
      PyErr_SetString(PyExc_TypeError,
                      "run_buffers takes run, key, results, operands, stream, locked");
      throw PythonError{};
    }
    const auto run = reinterpret_cast<Run>(PyLong_AsVoidPtr(arguments[0]));
    const uint64_t key = PyLong_AsUnsignedLongLong(arguments[1]);
    const uint64_t stream = PyLong_AsUnsignedLongLong(arguments[4]);
    if (PyErr_Occurred()) throw PythonError{};
    const Borrowed out(arguments[2]);
    const Borrowed in(arguments[3]);
    char *message = nullptr;
    const auto call = [&] {
      return run(key, in.data(), in.size(), out.data(), out.size(), stream, &message);
    };
    const int32_t status = arguments[5] == Py_True ? call() : without_gil(call);
    if (status == 0) Py_RETURN_NONE;
    return Py_BuildValue("iN", status, PyLong_FromVoidPtr(message));
  });
}

}  // namespace tesseract::binding
