#include "prepared.h"

#include "../../../python/arrays/layout.h"
#include "../engine/leaf.h"
#include "dtype.h"
#include "errors.h"
#include "prepared_call.h"

namespace tesseract::python {
namespace {

Ref attribute(PyObject *object, const char *name) {
  return own(PyObject_GetAttrString(object, name));
}

std::vector<Ref> items_of(PyObject *sequence) {
  const Ref fast = own(PySequence_Tuple(sequence));
  std::vector<Ref> items;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fast.get()); i++) {
    items.emplace_back(Py_NewRef(PyTuple_GET_ITEM(fast.get(), i)));
  }
  return items;
}

engine::Leaf leaf_of_check(PyObject *array_check) {
  engine::Leaf leaf;
  engine::read_leaf(leaf, array_check);
  return leaf;
}

DLDataType dtype_of(const engine::Leaf &leaf) {
  auto *descr = reinterpret_cast<PyArray_Descr *>(leaf.descriptor.get());
  DLDataType dtype{};
  return descr && python::dtype_of(descr, dtype) ? dtype : DLDataType{};
}

std::unique_ptr<Derivative> read_derivative(PyObject *description) {
  if (description == Py_None) return nullptr;
  auto derivative = std::make_unique<Derivative>();
  derivative->keywords = attribute(description, "keywords");
  for (const Ref &paths : items_of(attribute(description, "sets").get())) {
    derivative->sets.push_back(own(PySet_New(paths.get())));
    derivative->copies.push_back(own(PySet_New(derivative->sets.back().get())));
  }
  if (derivative->sets.size() > CallFrame::kSets)
    throw CallFailure{TESSERACT_ERROR_INTERNAL, "", "a derivative with more sets than there are"};
  for (const Ref &seed : items_of(attribute(description, "seeds").get())) {
    PyObject *path = nullptr, *array_check = nullptr;
    Py_ssize_t like = -1;
    if (!PyArg_ParseTuple(seed.get(), "OOn", &path, &array_check, &like)) throw PythonError{};
    derivative->seeds.push_back({Ref(Py_NewRef(path)), leaf_of_check(array_check), like});
  }
  derivative->takes_vector = !derivative->seeds.empty();
  derivative->rows = items_of(attribute(description, "rows").get());
  derivative->columns = items_of(attribute(description, "columns").get());
  for (const Ref &array_check : items_of(attribute(description, "checks").get())) {
    derivative->leaves.push_back(leaf_of_check(array_check.get()));
    derivative->dtypes.push_back(dtype_of(derivative->leaves.back()));
  }
  return derivative;
}

// One slot for each tensor of these leaves.  False where one is of no known kind.
bool add_slots(const tesseract_leaves *leaves, const std::vector<std::string> &paths,
               std::vector<Slot> &slots) {
  for (int64_t i = 0; leaves && i < leaves->count; i++) {
    const DLTensor *tensor = leaves->items[i].tensor;
    if (!tensor || tensor->ndim < 0 || tensor->ndim > NPY_MAXDIMS) return false;
    slots.push_back(make_slot(tensor->dtype, tensor->ndim, paths[slots.size()]));
    slots.back().on_device = arrays::is_on_device(*tensor);
  }
  return true;
}

}  // namespace

std::unique_ptr<Prepared> Prepared::read(PyObject *compiled, const tesseract_signature *signature,
                                         const std::vector<std::string> &paths) {
  if (compiled == Py_None) return nullptr;
  auto made = std::make_unique<Prepared>();
  made->paths_ = &paths;
  const int32_t endpoint = signature->endpoint;
  const tesseract_leaves *seeds = endpoint == TESSERACT_ENDPOINT_JVP   ? signature->wrt
                                  : endpoint == TESSERACT_ENDPOINT_VJP ? signature->of
                                                                       : nullptr;
  if (!add_slots(signature->inputs, paths, made->slots_)) return nullptr;
  made->n_inputs_ = made->slots_.size();
  if (!add_slots(seeds, paths, made->slots_)) return nullptr;
  made->frames_ = std::make_unique<FramePool>(made->slots_);

  made->schema_ = attribute(compiled, "inputs");
  const engine::Node *node = engine::node_of(made->schema_.get());
  if (!node) return nullptr;
  const Ref tree = attribute(compiled, "tree"), slot_type = attribute(compiled, "slot_type");
  made->inputs_ = Layout::compile(*node, tree.get(), slot_type.get(), made->slots_);
  if (!made->inputs_) return nullptr;
  made->derivative_ = read_derivative(attribute(compiled, "derivative").get());
  for (size_t i = 0; made->derivative_ && i < made->derivative_->seeds.size(); i++) {
    const Py_ssize_t like = made->derivative_->seeds[i].like;
    if (like >= 0 && !made->inputs_->shows(static_cast<size_t>(like))) return nullptr;
  }
  made->output_schema_ = attribute(compiled, "outputs");
  const Ref wanted = attribute(compiled, "wanted");
  made->output_node_ = engine::node_of(made->output_schema_.get());
  if (made->output_node_) made->outputs_ = Outputs::compile(*made->output_node_, wanted.get());
  made->namespace_ = attribute(compiled, "namespace");
  made->function_ = attribute(compiled, "function");
  made->finish_ = attribute(compiled, "finish");
  made->failure_ = attribute(compiled, "failure");
  made->context_ = attribute(compiled, "context");
  made->encode_ = attribute(compiled, "encode");
  made->extract_ = attribute(compiled, "extract");
  made->stream_end_ = attribute(compiled, "stream_end");
  made->log_ = attribute(compiled, "log");
  made->state_object_ = attribute(compiled, "state");
  made->state_ = engine::state_of(made->state_object_.get());
  if (!PyDict_Check(made->namespace_.get())) return nullptr;
  return made;
}

bool Prepared::run(Instance &instance, tesseract_frame *frame, const arrays::Access &access,
                   int32_t &status) const {
  if (state_->surround) return false;
  PreparedCall call(*this, instance, frame, access);
  return call.run(status);
}

}  // namespace tesseract::python
