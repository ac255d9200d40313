// Handles of streams and events.
#include "streams.h"

#include "contexts.h"

namespace fake {
namespace {

Stream *add_stream(Context &context, bool blocking) {
  World &w = world();
  auto made = std::make_unique<Stream>();
  made->context = &context;
  made->number = w.streams_made++;
  made->blocking = blocking;
  Stream *stream = made.get();
  w.streams.emplace(stream, std::move(made));
  return stream;
}

Stream *legacy_of(Context &context) {
  if (!context.legacy) {
    context.legacy = add_stream(context, false);
    context.legacy->legacy = true;
  }
  return context.legacy;
}

Stream *per_thread_of(Context &context) {
  Stream *&stream = context.per_thread[this_thread()];
  if (!stream) stream = add_stream(context, true);
  return stream;
}

}  // namespace

Stream *default_stream(Context &context, void *handle) {
  const bool own = reinterpret_cast<std::uintptr_t>(handle) == 2;
  return own ? per_thread_of(context) : legacy_of(context);
}

Stream *stream_of(void *handle) {
  Context *current = current_context();
  if (reinterpret_cast<std::uintptr_t>(handle) <= 2) return default_stream(*current, handle);
  const auto found = world().streams.find(handle);
  if (found == world().streams.end() || !found->second->alive) {
    fault("bad-handle", "%p is no stream, or one that was destroyed", handle);
    return nullptr;
  }
  Stream *stream = found->second.get();
  if (stream->context == current) return stream;
  fault("wrong-context", "a stream of a context of device %d, with one of device %d current",
        stream->context->device, current->device);
  return nullptr;
}

Stream *create_stream(Context &context, bool blocking) {
  Stream *stream = add_stream(context, blocking);
  stream->created = true;
  return stream;
}

Event *event_of(const void *handle) {
  const auto found = world().events.find(handle);
  if (found != world().events.end() && found->second->alive) return found->second.get();
  fault("bad-handle", "%p is no event, or one that was destroyed", handle);
  return nullptr;
}

Event *create_event(Context &context) {
  auto made = std::make_unique<Event>();
  made->context = &context;
  Event *event = made.get();
  world().events.emplace(event, std::move(made));
  return event;
}

std::int64_t lose_handles(Context &context) {
  std::int64_t lost = 0;
  for (auto &[handle, stream] : world().streams) {
    if (stream->context != &context || !stream->alive) continue;
    if (stream->created) lost++;
    stream->alive = false;
  }
  for (auto &[handle, event] : world().events) {
    if (event->context != &context || !event->alive) continue;
    lost++;
    event->alive = false;
  }
  context.legacy = nullptr;
  context.per_thread.clear();
  return lost;
}

void forget_streams() {
  World &w = world();
  // Work holds blocks, events hold work: nothing of it runs any more.
  w.events.clear();
  w.streams.clear();
  w.streams_made = 0;
  w.host = {};
}

}  // namespace fake
