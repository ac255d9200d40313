#include "contexts.h"

#include "memory.h"
#include "streams.h"

namespace fake {
namespace {

struct Stack {
  std::vector<Context *> contexts;
  std::uint64_t generation = 0;
};

std::vector<Context *> &stack() {
  thread_local Stack mine;
  if (mine.generation != world().generation) {
    mine.contexts.clear();
    mine.contexts.reserve(64);  // pushing allocates nothing, which tests count
    mine.generation = world().generation;
  }
  return mine.contexts;
}

Context *add_context(Ordinal device, unsigned flags) {
  auto made = std::make_unique<Context>();
  made->device = device;
  made->flags = flags;
  Context *context = made.get();
  world().contexts.emplace(context, std::move(made));
  return context;
}

}  // namespace

void make_primaries() {
  World &w = world();
  for (Ordinal device = 0; device < w.options.devices; device++) {
    w.primaries.push_back(add_context(device, 0));
    w.primaries.back()->primary = true;
  }
}

Context *current_context() {
  const std::vector<Context *> &contexts = stack();
  return contexts.empty() ? nullptr : contexts.back();
}

std::int64_t context_depth() {
  return static_cast<std::int64_t>(stack().size());
}

void push_context(Context *context) {
  stack().push_back(context);
  world().pushes_less_pops++;
}

Context *pop_context() {
  std::vector<Context *> &contexts = stack();
  if (contexts.empty()) return nullptr;
  Context *context = contexts.back();
  contexts.pop_back();
  world().pushes_less_pops--;
  return context;
}

Context *context_of(const void *handle) {
  const auto found = world().contexts.find(handle);
  if (found != world().contexts.end() && found->second->alive) return found->second.get();
  fault("bad-handle", "%p is no context, or one that was destroyed or released", handle);
  return nullptr;
}

Context *create_context(Ordinal device, unsigned flags) {
  Context *context = add_context(device, flags);
  context->alive = true;
  return context;
}

void end_context(Context &context) {
  finish_context(context);
  const std::int64_t memory = lose_memory(context), handles = lose_handles(context);
  if (memory + handles > 0)
    fault("lost-memory",
          "a context of device %d ends with %lld allocations, %lld streams or events",
          context.device, static_cast<long long>(memory), static_cast<long long>(handles));
  context.alive = false;
  context.sticky = SUCCESS;
}

void stick(Context &context, Result code) {
  context.sticky = code;
  drop_work(context);
}

}  // namespace fake
