#include "handover.h"

#include <dlfcn.h>
#include <tesseract_host/ext/adopt.h>

#include <cstdlib>

#include "dtype.h"

namespace tesseract::python {
namespace {

const tesseract_adopt_table *adoption = nullptr;

// PyTraceMalloc_Untrack, which the headers of some versions declare as a C++ function.
int (*untrack)(unsigned int domain, uintptr_t address) = nullptr;

// Below it the copy is quicker.
constexpr npy_intp kLeastBytes = npy_intp{1} << 16;

// What NumPy tells tracemalloc its memory by.
constexpr unsigned int kNumpyDomain = 389047;

// The memory of an array, with what describes it in one block.
struct Handed {
  DLManagedTensorVersioned managed;
  void *data;  // of NumPy's default allocator, which is malloc's
  int64_t shape[NPY_MAXDIMS];
  int64_t strides[NPY_MAXDIMS];
};

// Needs no Python: results are freed on any thread, and after the interpreter's end.
void free_handed(DLManagedTensorVersioned *tensor) {
  auto *handed = static_cast<Handed *>(tensor->manager_ctx);
  std::free(handed->data);
  std::free(handed);
}

bool is_only_reference(PyArrayObject *array) {
  return Py_REFCNT(array) == 1 && !reinterpret_cast<PyArrayObject_fields *>(array)->weakreflist;
}

// The array that owns the memory of `array`, which is all of it; null where something else may know
// it, or another allocator made it.
PyArrayObject *sole_owner(PyArrayObject *array) {
  if (!is_only_reference(array)) return nullptr;
  PyArrayObject *owner = array;
  if (PyObject *base = PyArray_BASE(array)) {
    if (!PyArray_CheckExact(base)) return nullptr;
    owner = reinterpret_cast<PyArrayObject *>(base);
    if (!is_only_reference(owner) || PyArray_BASE(owner)) return nullptr;
    if (PyArray_DATA(owner) != PyArray_DATA(array) ||
        PyArray_NBYTES(owner) != PyArray_NBYTES(array)) {
      return nullptr;
    }
  }
  const bool made_by_numpy = PyArray_CHKFLAGS(owner, NPY_ARRAY_OWNDATA) &&
                             !PyArray_CHKFLAGS(owner, NPY_ARRAY_WRITEBACKIFCOPY) &&
                             PyArray_HANDLER(owner) == PyDataMem_DefaultHandler;
  return made_by_numpy ? owner : nullptr;
}

}  // namespace

void find_adoption(const tesseract_host_table *host) {
  untrack = reinterpret_cast<decltype(untrack)>(dlsym(RTLD_DEFAULT, "PyTraceMalloc_Untrack"));
  if (!untrack) return;
  adoption = static_cast<const tesseract_adopt_table *>(
      host->extension(TESSERACT_ADOPT_ID, sizeof TESSERACT_ADOPT_ID - 1));
}

bool is_worth_handing_over(PyObject *value) {
  return adoption && PyArray_CheckExact(value) &&
         PyArray_NBYTES(reinterpret_cast<PyArrayObject *>(value)) >= kLeastBytes;
}

bool hand_over(const Ref &value, DLDataType dtype, tesseract_frame *frame, uint64_t position) {
  auto *array = reinterpret_cast<PyArrayObject *>(value.get());
  if (dtype.lanes != 1 || !PyArray_IS_C_CONTIGUOUS(array) || !PyArray_ISNOTSWAPPED(array))
    return false;
  PyArrayObject *owner = sole_owner(array);
  auto *handed = owner ? static_cast<Handed *>(std::calloc(1, sizeof(Handed))) : nullptr;
  if (!handed) return false;
  int64_t step = 1;
  const int ndim = PyArray_NDIM(array);
  for (int k = ndim - 1; k >= 0; k--) {
    handed->shape[k] = PyArray_DIM(array, k);
    handed->strides[k] = step;
    step *= PyArray_DIM(array, k);
  }
  handed->data = PyArray_DATA(array);
  handed->managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  handed->managed.manager_ctx = handed;
  handed->managed.deleter = free_handed;
  handed->managed.dl_tensor = {handed->data,  {kDLCPU, 0},     ndim, dtype,
                               handed->shape, handed->strides, 0};
  if (adoption->output(frame, position, &handed->managed) != TESSERACT_OK) {
    std::free(handed);
    return false;
  }
  untrack(kNumpyDomain, reinterpret_cast<uintptr_t>(handed->data));
  PyArray_CLEARFLAGS(owner, NPY_ARRAY_OWNDATA);
  return true;
}

}  // namespace tesseract::python
