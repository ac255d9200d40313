// Calls of a component that has a thread of its own.

#include <optional>

#include "device/scope.h"
#include "floating_point.h"
#include "run.h"

namespace host {

int32_t invoke_on_own_thread(void *instance, void *plan, tesseract_frame *shown) {
  Frame &frame = *Frame::of(shown);
  tesseract_component &component = *frame.component;
  const Description &description = component.description;
  if (component.is_on_own_thread() && !description.reentrant)
    return frame_error(shown, TESSERACT_ERROR_INVALID_ARGUMENT, {}, entered_again_text);
  const tesseract_endpoint function = component.offered(shown->endpoint);
  int32_t status = TESSERACT_OK;
  const bool bridges = frame.call->on_device && shown->stream == cuda::kPerThread;
  std::optional<ThreadStreams> streams;
  if (bridges) status = caught(frame, [&] { streams.emplace(); });
  if (status != TESSERACT_OK) return status;
  const bool run = component.run([&] {
    const DefaultFloatingPoint environment(description.default_floating_point);
    const auto body = [&] {
      return call_component(frame, [&] { return function(instance, plan, shown); });
    };
    frame.context_current = false;  // which was said of the caller's thread
    if (!frame.call->on_device) return void(status = body());
    status = with_context(frame, [&] {
      if (streams) streams->begin();
      const int32_t done = body();
      if (streams) streams->end();
      return done;
    });
  });
  if (!run) return frame_error(shown, TESSERACT_ERROR_UNAVAILABLE, {}, lost_thread_text);
  if (!bridges) return status;
  const int32_t joined = caught(frame, [&] { streams->join(); });
  return status != TESSERACT_OK ? status : joined;
}

}  // namespace host
