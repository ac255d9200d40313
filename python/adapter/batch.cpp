#include "batch.h"

#include <algorithm>

namespace tesseract::jax {
namespace {

bool is_compact(const DLTensor &tensor) {
  if (!tensor.strides) return true;
  int64_t step = 1;
  for (int32_t k = tensor.ndim - 1; k >= 0; k--) {
    if (tensor.shape[k] > 1 && tensor.strides[k] != step) return false;
    step *= tensor.shape[k];
  }
  return true;
}

}  // namespace

Batch::Batch(const Spec &spec, const Arrays &arrays, std::string_view place)
    : place_(place),
      levels_(spec.batch.size()),
      sizes_(levels_, -1),
      index_(levels_, 0),
      arrays_(arrays) {
  const auto count = static_cast<size_t>(arrays.n_in + arrays.n_out);
  std::vector<std::vector<bool>> has(count, std::vector<bool>(levels_, true));
  for (size_t level = 0; level < levels_; level++)
    for (size_t i = 0; i < spec.operands.size(); i++) has[i][level] = spec.batch[level][i];
  const auto array = [&](size_t i) -> const DLTensor & {
    const auto n_in = static_cast<size_t>(arrays.n_in);
    return i < n_in ? *arrays.in[i] : *arrays.out[i - n_in];
  };
  for (size_t i = 0; i < count; i++) measure(array(i), has[i]);
  for (int64_t &size : sizes_) size = std::max<int64_t>(size, 0);
  parts_.reserve(count);
  for (size_t i = 0; i < count; i++) add(array(i), has[i]);
  for (Part &part : parts_) pointers_.push_back(&part.tensor);
  arrays_.in = const_cast<const DLTensor *const *>(pointers_.data());
  arrays_.out = pointers_.data() + arrays.n_in;
}

// Compares the leading axes of an array with those seen before.
void Batch::measure(const DLTensor &tensor, const std::vector<bool> &has) {
  if (!is_compact(tensor))
    throw Failure(TESSERACT_ERROR_INVALID_ARGUMENT,
                  std::string(place_) + "the arrays of a batch must be compact and row-major");
  int32_t axis = 0;
  for (size_t level = 0; level < levels_; level++) {
    if (!has[level]) continue;
    const int64_t size = tensor.shape[axis++];
    if (sizes_[level] >= 0 && sizes_[level] != size)
      throw Failure(TESSERACT_ERROR_INVALID_ARGUMENT,
                    std::string(place_) + "level " + std::to_string(level) +
                        " of the batch has the sizes " + std::to_string(sizes_[level]) + " and " +
                        std::to_string(size));
    sizes_[level] = size;
  }
}

// Makes the array's first element, and how far the others are.
void Batch::add(const DLTensor &tensor, const std::vector<bool> &has) {
  Part &part = parts_.emplace_back();
  part.tensor = tensor;
  part.steps.assign(levels_, 0);
  part.tensor.strides = nullptr;
  const auto axes = static_cast<int32_t>(std::count(has.begin(), has.end(), true));
  part.tensor.ndim -= axes;
  if (axes) part.tensor.shape += axes;
  int64_t step = (tensor.dtype.bits * tensor.dtype.lanes + 7) / 8;
  for (int32_t k = 0; k < part.tensor.ndim; k++) step *= part.tensor.shape[k];
  for (size_t level = levels_; level-- > 0;) {
    if (!has[level]) continue;
    part.steps[level] = step;
    step *= sizes_[level];
  }
  if (step != 0 && !tensor.data)
    throw Failure(TESSERACT_ERROR_INVALID_ARGUMENT,
                  std::string(place_) + "an array of the batch has no data");
}

void Batch::each(const std::function<void(const Arrays &)> &body) {
  if (std::find(sizes_.begin(), sizes_.end(), 0) != sizes_.end()) return;
  try {
    loop(0, body);
  } catch (Failure &failure) {
    failure.message = "at the element " + element() + " of the batch: " + failure.message;
    throw;
  }
}

void Batch::loop(size_t level, const std::function<void(const Arrays &)> &body) {
  if (level == levels_) {
    body(arrays_);
    return;
  }
  for (index_[level] = 0; index_[level] < sizes_[level]; index_[level]++) {
    loop(level + 1, body);
    for (Part &part : parts_) part.move(part.steps[level]);
  }
  for (Part &part : parts_) part.move(-part.steps[level] * sizes_[level]);
}

std::string Batch::element() const {
  std::string text = "[";
  for (const int64_t i : index_) text += (text.size() > 1 ? ", " : "") + std::to_string(i);
  return text + "]";
}

}  // namespace tesseract::jax
