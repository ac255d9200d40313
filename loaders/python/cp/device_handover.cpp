#include "device_handover.h"

#include <tesseract_host/ext/adopt.h>

#include <cstdlib>
#include <string_view>

#include "../../../python/arrays/device_array.h"
#include "parts.h"
#include "thread_state.h"

namespace tesseract::python {
namespace {

const tesseract_adopt_table *adoption = nullptr;

struct Handed {
  DLManagedTensorVersioned managed;
  PyObject *value;  // owned
  int64_t lengths[1];
};

// On any thread.  After the interpreter's end the value is what is left of it.
void free_handed(DLManagedTensorVersioned *tensor) {
  auto *handed = static_cast<Handed *>(tensor->manager_ctx);
  {
    const Entry entry;
    if (entry) const Ref dropped(handed->value);
  }
  std::free(handed);
}

bool is_of(PyTypeObject *type, std::string_view package, std::string_view name) {
  PyObject *module = type->tp_dict ? PyDict_GetItemString(type->tp_dict, "__module__") : nullptr;
  const char *text = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : nullptr;
  if (!text) PyErr_Clear();
  return text && std::string_view(text).starts_with(package) && name == type->tp_name;
}

Ref attribute(PyObject *object, const char *name) {
  Ref found(PyObject_GetAttrString(object, name));
  if (!found) PyErr_Clear();
  return found;
}

// Numba's array has in `gpu_data` a pointer that is its own, to memory that views count themselves
// in at; that of other libraries has no count.
bool is_numbas(PyObject *value) {
  if (!is_of(Py_TYPE(value), "numba", "DeviceNDArray")) return false;
  const Ref pointer = attribute(value, "gpu_data");
  if (!pointer || !is_of(Py_TYPE(pointer.get()), "numba", "OwnedPointer") ||
      Py_REFCNT(pointer.get()) != 2) {
    return false;
  }
  const Ref memory = attribute(pointer.get(), "_mem");
  const Ref type = memory ? attribute(memory.get(), "__class__") : Ref();
  if (!type || !PyType_Check(type.get()) ||
      !is_of(reinterpret_cast<PyTypeObject *>(type.get()), "numba", "AutoFreePointer")) {
    return false;
  }
  const Ref count = attribute(memory.get(), "refct");
  const bool is_only = count && PyLong_AsLong(count.get()) == 1;
  PyErr_Clear();
  return is_only;
}

bool is_hosts(PyObject *value) {
  if (!arrays::is_device_array(value)) return false;
  const arrays::Lease *lease = arrays::as_device_array(value)->lease;
  return lease && lease->memory && arrays::as_device_array(value)->tensor &&
         arrays::open_exports(value) == 0;
}

}  // namespace

void find_memory_adoption(const tesseract_host_table *host) {
  adoption = static_cast<const tesseract_adopt_table *>(
      host->extension(TESSERACT_ADOPT_ID, sizeof TESSERACT_ADOPT_ID - 1));
}

bool may_be_handed_over(PyObject *value) {
  if (!adoption || Py_REFCNT(value) != 1 || has_weak_references(value)) return false;
  return is_hosts(value) || is_numbas(value);
}

bool hand_over_memory(PyObject *value, const DLTensor &tensor, tesseract_frame *frame,
                      uint64_t position) {
  const auto rank = static_cast<size_t>(tensor.ndim);
  auto *handed = static_cast<Handed *>(std::calloc(1, sizeof(Handed) + 2 * rank * sizeof(int64_t)));
  if (!handed) return false;
  int64_t step = 1;
  for (size_t i = rank; i-- > 0;) {
    handed->lengths[i] = tensor.shape[i];
    handed->lengths[rank + i] = step;
    step *= tensor.shape[i];
  }
  handed->managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  handed->managed.manager_ctx = handed;
  handed->managed.deleter = free_handed;
  handed->managed.dl_tensor = tensor;
  handed->managed.dl_tensor.data = static_cast<char *>(tensor.data) + tensor.byte_offset;
  handed->managed.dl_tensor.byte_offset = 0;
  handed->managed.dl_tensor.shape = handed->lengths;
  handed->managed.dl_tensor.strides = handed->lengths + rank;
  handed->value = Py_NewRef(value);
  if (adoption->output(frame, position, &handed->managed) == TESSERACT_OK) return true;
  Py_DECREF(value);
  std::free(handed);
  return false;
}

}  // namespace tesseract::python
