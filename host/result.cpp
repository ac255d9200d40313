#include "result.h"

#include <algorithm>

#include "device/memory.h"
#include "document.h"
#include "dtype.h"
#include "error.h"
#include "path.h"
#include "text.h"

namespace host {

int32_t add_entry(tesseract_result &result, tesseract_frame *frame, std::string_view path,
                  const DLDataType *dtype, int32_t ndim, const int64_t *shape, DLTensor **tensor) {
  const Path concrete = parse_path(path);
  std::string canonical = format_path(concrete);
  const ArrayLeaf *leaf = find_array(Frame::of(frame)->component->description.outputs, concrete);
  if (!leaf)
    return frame_error(frame, TESSERACT_ERROR_COMPONENT, path,
                       "it added the output " + quote(path) + ", which it does not describe");
  if (tesseract_result_find(&result, canonical.data(), canonical.size()) >= 0)
    return frame_error(frame, TESSERACT_ERROR_COMPONENT, path,
                       "it added the output " + quote(path) + " twice");
  bool fits = leaf->any_rank || leaf->dims.size() == static_cast<size_t>(ndim);
  for (size_t k = 0; fits && k < leaf->dims.size(); k++)
    fits = leaf->dims[k].length < 0 || shape[k] < 0 || leaf->dims[k].length == shape[k];
  if (!fits)
    return frame_error(frame, TESSERACT_ERROR_COMPONENT, path,
                       "it added the output " + quote(path) + " with the shape " +
                           shape_text(ndim, shape) + ", which it does not describe");
  const DLDataType *made = dtype ? dtype : leaf->dtype ? &*leaf->dtype : nullptr;
  if (!made || dtype_size(*made) == 0 || (leaf->dtype && !same_dtype(*made, *leaf->dtype)))
    return frame_error(frame, TESSERACT_ERROR_COMPONENT, path,
                       "it added the output " + quote(path) + " with another dtype than declared");
  const tesseract_call *call = Frame::of(frame)->call;
  const DLDevice device = call && call->on_device ? call->device : kHost;
  tesseract_result::Entry entry;
  entry.tensor = frame->endpoint == TESSERACT_ENDPOINT_ABSTRACT_EVAL
                     ? make_shape(*made, ndim, shape)
                     : make_tensor_on(device, *made, ndim, shape);
  entry.added_path = std::move(canonical);
  if (tensor) *tensor = &entry.tensor->dl_tensor;
  result.entries.push_back(std::move(entry));
  return TESSERACT_OK;
}

int32_t set_json(tesseract_result &result, tesseract_frame *frame, std::string_view text) {
  if (result.json_given)
    return frame_error(frame, TESSERACT_ERROR_COMPONENT, {}, "it gave its JSON outputs twice");
  check_output_document(text, Frame::of(frame)->component->description.outputs);
  result.json = text.empty() ? "{}" : std::string(text);
  result.json_given = true;
  return TESSERACT_OK;
}

bool is_result_memory(const DLTensor &tensor, const DLDevice &device) {
  uint64_t count = 0, bytes = 0;
  const uint32_t item = dtype_size(tensor.dtype);
  return same_device(tensor.device, device) && tensor.byte_offset == 0 && tensor.data &&
         tensor.ndim > 0 && tensor.shape && tensor.strides && item > 0 &&
         count_bytes(tensor.ndim, tensor.shape, item, &count, &bytes) &&
         reinterpret_cast<uintptr_t>(tensor.data) % std::min<uint32_t>(item, 8) == 0 &&
         has_layout(tensor, Layout::row_major);
}

void check_complete(const tesseract_result &result, const tesseract_component &component) {
  if (result.endpoint == TESSERACT_ENDPOINT_APPLY && !result.json_given)
    check_output_document({}, component.description.outputs);
}

OwnedTensor describe_destination(const DLTensor &destination) {
  OwnedTensor made = make_shape(destination.dtype, destination.ndim, destination.shape);
  made->dl_tensor.data = first_element(destination);
  made->dl_tensor.device = destination.device;
  if (destination.strides)
    std::copy_n(destination.strides, destination.ndim, made->dl_tensor.strides);
  return made;
}

}  // namespace host

tesseract_result::tesseract_result(const tesseract_call &call)
    : names(call.names), endpoint(call.endpoint), entries(call.n_out) {}

namespace {

const tesseract_result::Entry *entry_at(const tesseract_result *result, int64_t index) {
  if (!result || index < 0 || static_cast<size_t>(index) >= result->entries.size()) return nullptr;
  return &result->entries[static_cast<size_t>(index)];
}

const std::string *path_at(const tesseract_result *result, int64_t index) {
  const tesseract_result::Entry *entry = entry_at(result, index);
  if (!entry) return nullptr;
  const auto i = static_cast<size_t>(index);
  return i < result->names->size() ? &(*result->names)[i].path : &entry->added_path;
}

}  // namespace

int64_t tesseract_result_count(const tesseract_result *result) {
  return result ? static_cast<int64_t>(result->entries.size()) : 0;
}

int64_t tesseract_result_find(const tesseract_result *result, const char *path, uint64_t length) {
  const std::string_view wanted = host::offered_text(path, length);
  for (int64_t i = 0; i < tesseract_result_count(result); i++)
    if (*path_at(result, i) == wanted) return i;
  return -1;
}

const char *tesseract_result_path(const tesseract_result *result, int64_t index, uint64_t *length) {
  if (length) *length = 0;
  const std::string *path = path_at(result, index);
  return path ? host::give_text(*path, length) : nullptr;
}

const char *tesseract_result_wrt(const tesseract_result *result, int64_t index, uint64_t *length) {
  if (length) *length = 0;
  if (!entry_at(result, index) || result->endpoint != TESSERACT_ENDPOINT_JACOBIAN) return nullptr;
  return host::give_text((*result->names)[static_cast<size_t>(index)].wrt, length);
}

const DLTensor *tesseract_result_tensor(const tesseract_result *result, int64_t index) {
  const tesseract_result::Entry *entry = entry_at(result, index);
  return entry && entry->tensor ? &entry->tensor->dl_tensor : nullptr;
}

int32_t tesseract_result_take(tesseract_result *result, int64_t index,
                              DLManagedTensorVersioned **tensor) {
  const tesseract_result::Entry *entry = entry_at(result, index);
  if (!entry || !tensor || entry->destination || !entry->tensor ||
      result->endpoint == TESSERACT_ENDPOINT_ABSTRACT_EVAL)
    return TESSERACT_ERROR_INVALID_ARGUMENT;
  *tensor = result->entries[static_cast<size_t>(index)].tensor.release();
  return TESSERACT_OK;
}

const char *tesseract_result_json(const tesseract_result *result, uint64_t *length) {
  if (length) *length = result ? result->json.size() : 2;
  return result ? result->json.c_str() : "{}";
}

void tesseract_result_free(tesseract_result *result) {
  delete result;
}
