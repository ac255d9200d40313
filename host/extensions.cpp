#include "extensions.h"

#include <tesseract_host/ext/adopt.h>
#include <tesseract_host/ext/device.h>
#include <tesseract_host/ext/nested.h>
#include <tesseract_host/ext/reference.h>
#include <tesseract_host/ext/unload.h>

#include "device/device_table.h"
#include "error.h"
#include "frame.h"
#include "host-config.h"
#include "loaders.h"
#include "request.h"
#include "run.h"
#include "text.h"

namespace host {
namespace {

int32_t error_nested(tesseract_frame *frame, tesseract_error *error) {
  if (!error) return TESSERACT_OK;
  const int32_t status = error->status;
  Frame *own = Frame::of(frame);
  if (!own->error || !own->error->told)
    frame_error(frame, status, error->path, "a component that it calls failed");
  if (own->error && status != TESSERACT_ERROR_OUT_OF_MEMORY)
    own->error->cause.reset(error);
  else
    tesseract_error_free(error);
  return status;
}

int32_t adopt_output(tesseract_frame *frame, uint64_t index, DLManagedTensorVersioned *tensor) {
  OutputSink *sink = Frame::of(frame)->sink;
  const bool wanted = index < frame->n_outputs && frame->outputs && frame->outputs[index];
  if (!sink || !wanted || !tensor) return TESSERACT_ERROR_UNSUPPORTED;
  try {
    if (sink->adopt(index, tensor)) return TESSERACT_OK;
  } catch (...) {
    // What is wrong with it is told when the component allocates the output.
  }
  return TESSERACT_ERROR_UNSUPPORTED;
}

const tesseract_adopt_table adopt_table = {sizeof(tesseract_adopt_table), 0, adopt_output};

const tesseract_nested_table nested_table = {
    sizeof(tesseract_nested_table),
    0,
    error_nested,
    tesseract_open,
    tesseract_close,
    tesseract_apply,
    tesseract_jvp,
    tesseract_vjp,
    tesseract_jacobian,
    tesseract_prepare,
    tesseract_call_run,
    tesseract_call_free,
    tesseract_result_count,
    tesseract_result_tensor,
    tesseract_result_json,
    tesseract_result_free,
    tesseract_error_message,
    tesseract_error_free,
};

int32_t unload(const char *source, uint64_t length, tesseract_error **error) {
  std::string_view text;
  return guarded(error, Place{}, [&] {
    require(source, "source");
    text = read_text(source, length, "source");
    require_running();
    const tesseract_loader_table &loader = choose_loader(text, {});
    if (!loader.unload)
      throw Failure(TESSERACT_ERROR_UNSUPPORTED,
                    std::string("the loader ") + loader.name + " unloads nothing");
    tesseract_source asked{};
    asked.size = sizeof asked;
    asked.text = {text.data(), text.size()};
    asked.options = TESSERACT_STR("{}");
    while_nothing_opens([&] {
      LooseFrame frame;
      frame.check(frame.run([&] { return loader.unload(&asked, plugin_in_use, frame.shown()); }));
    });
    return TESSERACT_OK;
  });
}

void hold(tesseract_component *component) {
  if (component) component->references.fetch_add(1, std::memory_order_relaxed);
}

void drop(tesseract_component *component) {
  if (component) ComponentReference::release(component);
}

const tesseract_reference_table reference_table = {sizeof(tesseract_reference_table), 0, hold,
                                                   drop};
const tesseract_unload_table unload_table = {sizeof(tesseract_unload_table), 0, unload};
const tesseract_fork_table fork_table = {sizeof(tesseract_fork_table), 0, resume_after_fork};
const tesseract_lost_thread_table lost_thread_table = {sizeof(tesseract_lost_thread_table), 0,
                                                       lose_this_thread};

// What tesseract_call_with runs.
struct Body {
  int32_t (*run)(void *instance, tesseract_frame *frame, void *data);
  void *data;
};

int32_t call_with(tesseract_component *component, Body body,
                  const tesseract_call_options &options) {
  const RunningCall running;
  const ComponentReference alive(component);
  require_open(*component);
  component->count_call(running.slot());
  LooseFrame frame(*component);
  Frame *own = Frame::of(frame.shown());
  own->cancel = options.cancel;
  own->shown.stream = options.stream;
  int32_t status = TESSERACT_OK;
  run_alone(*component, [&] {
    status = frame.run([&] { return body.run(component->instance, frame.shown(), body.data); });
  });
  frame.check(status);
  return TESSERACT_OK;
}

int32_t shut_down(double seconds) {
  if (!(seconds >= 0)) throw Failure(TESSERACT_ERROR_INVALID_ARGUMENT, "seconds is negative");
  if (thread_slot()->depth.load() > 0)
    throw Failure(TESSERACT_ERROR_INVALID_ARGUMENT, "tesseract_shutdown was called inside a call");
  uint32_t running = process_running;
  process_state.compare_exchange_strong(running, process_draining);
  {
    const WaitHooks hooks;
    if (!drain_calls(seconds))
      throw Failure(TESSERACT_ERROR_UNAVAILABLE, "calls are still running");
  }
  const LoaderList &loaders = known_loaders();
  for (int i = 0; i < loaders.count(); i++) {
    const tesseract_loader_table &loader = *loaders.at(i);
    if (!loader.shutdown) continue;
    LooseFrame frame;
    frame.check(frame.run([&] { return loader.shutdown(seconds, frame.shown()); }));
  }
  return TESSERACT_OK;
}

}  // namespace

const void *host_extension(std::string_view id) {
  if (id == TESSERACT_ADOPT_ID) return &adopt_table;
  if (id == TESSERACT_DEVICE_ID) return &device_table;
  if (id == TESSERACT_NESTED_ID) return &nested_table;
  if (id == TESSERACT_REFERENCE_ID) return &reference_table;
  if (id == TESSERACT_UNLOAD_ID) return &unload_table;
  if (id == TESSERACT_FORK_ID) return &fork_table;
  if (id == TESSERACT_LOST_THREAD_ID) return &lost_thread_table;
  return nullptr;
}

}  // namespace host

const void *tesseract_host_extension(const char *id, uint64_t length) {
  return host::host_extension(host::offered_text(id, length));
}

const void *tesseract_component_extension(const tesseract_component *component, const char *id,
                                          uint64_t length) {
  if (!component || !id || component->listing || !component->plugin->extension) return nullptr;
  const std::string_view text = host::offered_text(id, length);
  const void *table = nullptr;
  host::quietly(
      [&] { table = component->plugin->extension(component->instance, text.data(), text.size()); });
  return table;
}

int32_t tesseract_call_with(tesseract_component *component,
                            int32_t (*body)(void *instance, tesseract_frame *frame, void *data),
                            void *data, const tesseract_call_options *options,
                            tesseract_error **error) {
  return host::guarded(error, component ? component->place() : host::Place{}, [&] {
    host::require(component, "component");
    host::require(reinterpret_cast<const void *>(body), "body");
    const tesseract_call_options asked =
        host::read_optional(options, TESSERACT_NO_COPY, "the call's options");
    if (asked.flags || asked.owners)
      throw host::Failure(TESSERACT_ERROR_INVALID_ARGUMENT,
                          "there are no arrays: flags must be 0 and owners null");
    return host::call_with(component, {body, data}, asked);
  });
}

int32_t tesseract_shutdown(double seconds, tesseract_error **error) {
  return host::guarded(error, host::Place{}, [&] { return host::shut_down(seconds); });
}

const char *tesseract_host_version(void) {
  return HOST_VERSION;
}

const tesseract_range *tesseract_host_abi(void) {
  return &host::host_table.abi;
}
