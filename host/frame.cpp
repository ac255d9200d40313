#include "frame.h"

#include <algorithm>

#include "cancel.h"
#include "dtype.h"
#include "extensions.h"
#include "text.h"

namespace host {
namespace {

FrameError &error_of(tesseract_frame *frame) {
  Frame *own = Frame::of(frame);
  if (!own->error) own->error = new FrameError;
  return *own->error;
}

int32_t error_set(tesseract_frame *frame, int32_t status, const char *path, uint64_t path_length,
                  const char *text, uint64_t text_length) {
  try {
    FrameError &error = error_of(frame);
    error.told = true;
    error.status = status;
    error.path = offered_text(path, path_length);
    error.text = offered_text(text, text_length);
  } catch (...) {
    // Without memory the status alone has to do.
  }
  return status;
}

void error_detail(tesseract_frame *frame, int32_t detail, const char *text, uint64_t length) {
  try {
    FrameError &error = error_of(frame);
    const std::string_view read = offered_text(text, length);
    if (detail == TESSERACT_DETAIL_TRACEBACK) error.traceback = read;
    if (detail == TESSERACT_DETAIL_PATH) error.path = read;
  } catch (...) {
  }
}

int32_t cancelled(const tesseract_frame *frame) {
  const tesseract_cancel *cancel = Frame::of(frame)->cancel;
  return cancel && cancel->requested.load(std::memory_order_relaxed) ? 1 : 0;
}

std::string_view output_path(const tesseract_frame *frame, uint64_t index) {
  const tesseract_call *call = Frame::of(frame)->call;
  if (call)
    for (const Position &position : call->out)
      if (position.index == index) return position.path;
  return {};
}

int32_t check_shape(tesseract_frame *frame, int32_t ndim, const int64_t *shape) {
  if (ndim < 0 || ndim > 64 || (ndim > 0 && !shape))
    return frame_error(frame, TESSERACT_ERROR_COMPONENT, {}, "an output of impossible rank");
  const bool abstract = frame->endpoint == TESSERACT_ENDPOINT_ABSTRACT_EVAL;
  for (int32_t k = 0; k < ndim; k++)
    if (shape[k] < (abstract ? -1 : 0))
      return frame_error(frame, TESSERACT_ERROR_COMPONENT, {},
                         "an output of the negative shape " + shape_text(ndim, shape));
  return TESSERACT_OK;
}

int32_t allocate_output(tesseract_frame *frame, uint64_t index, const DLDataType *dtype,
                        int32_t ndim, const int64_t *shape, DLTensor **tensor) {
  if (index >= frame->n_outputs || !frame->outputs || !frame->outputs[index])
    return frame_error(frame, TESSERACT_ERROR_COMPONENT, {},
                       "it allocated output " + std::to_string(index) + ", which is not wanted");
  if (const int32_t status = check_shape(frame, ndim, shape)) return status;
  Frame *own = Frame::of(frame);
  try {
    if (own->sink) return own->sink->allocate(frame, index, dtype, ndim, shape, tensor);
  } catch (Failure &failure) {
    return frame_error(frame, failure.status, failure.path, failure.message);
  } catch (...) {
    return frame_error(frame, TESSERACT_ERROR_OUT_OF_MEMORY, {}, "out of memory");
  }
  return settled_output(frame, index, dtype, ndim, shape, tensor);
}

int32_t add_output(tesseract_frame *frame, const char *path, uint64_t path_length,
                   const DLDataType *dtype, int32_t ndim, const int64_t *shape, DLTensor **tensor) {
  Frame *own = Frame::of(frame);
  if (!own->sink || !(frame->flags & TESSERACT_FRAME_ALL))
    return frame_error(frame, TESSERACT_ERROR_UNSUPPORTED, {},
                       "outputs can only be added where every output was asked for");
  if (const int32_t status = check_shape(frame, ndim, shape)) return status;
  try {
    return own->sink->add(frame, offered_text(path, path_length), dtype, ndim, shape, tensor);
  } catch (Failure &failure) {
    return frame_error(frame, failure.status, failure.path, failure.message);
  } catch (...) {
    return frame_error(frame, TESSERACT_ERROR_OUT_OF_MEMORY, {}, "out of memory");
  }
}

int32_t output_json(tesseract_frame *frame, const char *text, uint64_t length) {
  Frame *own = Frame::of(frame);
  if (!own->sink) return TESSERACT_OK;  // nobody asked for a result
  try {
    return own->sink->json(frame, offered_text(text, length));
  } catch (Failure &failure) {
    return frame_error(frame, failure.status, failure.path, failure.message);
  } catch (...) {
    return frame_error(frame, TESSERACT_ERROR_OUT_OF_MEMORY, {}, "out of memory");
  }
}

void copied(tesseract_frame *frame, int32_t reason, uint64_t bytes) {
  if (Frame::of(frame)->component) Frame::of(frame)->component->count_copy(reason, bytes);
}

void log_line(tesseract_log *log, int32_t level, const char *text, uint64_t length) {
  if (log) log->write(level, offered_text(text, length));
}

const void *extension(const char *id, uint64_t length) {
  return host_extension(offered_text(id, length));
}

}  // namespace

const tesseract_host_table host_table = {
    sizeof(tesseract_host_table),
    0,
    {TESSERACT_ABI_MIN, TESSERACT_ABI_MAX},
    error_set,
    error_detail,
    cancelled,
    allocate_output,
    add_output,
    output_json,
    copied,
    log_line,
    extension,
};

int32_t settled_output(tesseract_frame *frame, uint64_t index, const DLDataType *dtype,
                       int32_t ndim, const int64_t *shape, DLTensor **tensor) {
  DLTensor *const shown = frame->outputs[index];
  const bool fits = shown->ndim == ndim && (!dtype || same_dtype(shown->dtype, *dtype)) &&
                    std::equal(shape, shape + ndim, shown->shape);
  if (!fits)
    return frame_error(frame, TESSERACT_ERROR_SCHEMA, output_path(frame, index),
                       "the output must have the shape " + shape_text(shown->ndim, shown->shape) +
                           ", the component made " + shape_text(ndim, shape));
  if (tensor) *tensor = shown;
  return TESSERACT_OK;
}

int32_t frame_error(tesseract_frame *frame, int32_t status, std::string_view path,
                    const std::string &text) noexcept {
  return error_set(frame, status, path.data(), path.size(), text.data(), text.size());
}

Failure component_failure(Frame &frame, int32_t status) {
  const std::unique_ptr<FrameError> record(std::exchange(frame.error, nullptr));
  const bool known = status > TESSERACT_OK && status <= TESSERACT_ERROR_INTERNAL;
  Failure failure(known ? status : TESSERACT_ERROR_COMPONENT, {});
  if (record && record->told && !record->text.empty()) {
    failure.path = record->path;
    failure.message = record->text;
    if (!record->path.empty() && record->text.find(record->path) == std::string::npos)
      failure.message = quote(record->path) + ": " + record->text;
  } else {
    failure.message =
        std::string("the component returned ") +
        (known ? status_name(status) : "the unknown status " + std::to_string(status)) +
        " without saying why";
    if (record) failure.path = record->path;
  }
  if (record) {
    failure.traceback = std::move(record->traceback);
    failure.cause = std::move(record->cause);
  }
  return failure;
}

LooseFrame::LooseFrame() : frame_{} {
  frame_.shown.size = sizeof frame_.shown;
  frame_.shown.host = &host_table;
}

LooseFrame::LooseFrame(tesseract_component &component) : LooseFrame() {
  frame_.shown.log = &component.log;
  frame_.component = &component;
}

LooseFrame::~LooseFrame() {
  delete frame_.error;
}

void LooseFrame::check(int32_t status, const char *function) {
  if (status == TESSERACT_OK) return;
  Failure failure = component_failure(frame_, status);
  if (function) failure.message = std::string(function) + ": " + failure.message;
  throw failure;
}

SerialEntry::SerialEntry(tesseract_component &component) : lock_(component.lock) {
  const bool reentrant = component.description.reentrant;
  if (lock_ ? lock_->enter(*thread_slot(), reentrant) : reentrant || !component.is_on_own_thread())
    return;
  throw Failure(TESSERACT_ERROR_INVALID_ARGUMENT, entered_again_text);
}

}  // namespace host
