// What tests ask: the functions of fake_cuda.h, but for those that count calls.
#include <algorithm>
#include <cstring>

#include "calls.h"
#include "streams.h"

using namespace fake;

namespace {

// A test's stream, found without faults and whatever context is current: for 0, 1 and 2 where none
// is, device 0's.  nullptr: none.
Stream *any_stream(void *handle) {
  World &w = world();
  const auto found = w.streams.find(handle);
  if (found != w.streams.end()) return found->second.get();
  if (reinterpret_cast<std::uintptr_t>(handle) > 2) return nullptr;
  if (current_context()) return stream_of(handle);
  return w.primaries.empty() ? nullptr : default_stream(*w.primaries[0], handle);
}

// What a driver function needs before it may enqueue.
Result ready() {
  const Context *context = current_context();
  if (!world().initialized) return NOT_INITIALIZED;
  if (!context || !context->alive) return INVALID_CONTEXT;
  return context->sticky;
}

std::shared_ptr<Block> whole(std::uint64_t pointer, std::uint64_t bytes) {
  std::shared_ptr<Block> block = find_block(pointer);
  if (!block || !block->live || bytes > block->size - (pointer - block->base)) return nullptr;
  return block;
}

Result resolve(const fake_cuda_range *ranges, std::size_t count, std::vector<Range> &resolved) {
  for (std::size_t i = 0; i < count; i++) {
    bool wrong = false;
    auto block = live_block(ranges[i].pointer, ranges[i].bytes, true, wrong);
    if (!block) return 700;
    const std::uint64_t begin = ranges[i].pointer - block->base;
    const bool reads = ranges[i].access & FAKE_CUDA_READ,
               writes = ranges[i].access & FAKE_CUDA_WRITE;
    resolved.push_back({std::move(block), begin, begin + ranges[i].bytes, reads, writes});
  }
  return SUCCESS;
}

// Kernels run on the current context's device: memory elsewhere is out of their reach.
bool reachable(const std::vector<Range> &ranges) {
  const Context &context = *current_context();
  for (const Range &range : ranges) {
    const Block &block = *range.block;
    if (!block.on_device() || block.managed() || block.device == context.device) continue;
    fault("wrong-device", "a kernel on device %d uses memory of device %d", context.device,
          block.device);
    return false;
  }
  return true;
}

Result launch(Stream &stream, std::vector<Range> ranges, std::function<Result(void *const *)> run) {
  std::vector<void *> memory;
  memory.reserve(ranges.size());
  for (const Range &range : ranges) memory.push_back(range.memory());
  return submit(stream, std::move(ranges),
                [memory, run = std::move(run)]() -> Result { return run(memory.data()); });
}

Result launch(void *handle, const fake_cuda_range *ranges, std::int32_t count,
              std::function<Result(void *const *)> run) {
  const Locked locked;
  world().function = "a kernel";
  std::vector<Range> resolved;
  const auto enqueue = [&]() -> Result {
    if (const Result refused = ready()) return refused;
    if (count < 0 || count > 64) return INVALID_VALUE;
    Stream *stream = stream_of(handle);
    if (!stream) return INVALID_HANDLE;
    Result wrong = resolve(ranges, static_cast<std::size_t>(count), resolved);
    if (!wrong && !reachable(resolved)) wrong = 700;
    if (!wrong) return launch(*stream, std::move(resolved), std::move(run));
    stick(*current_context(), wrong);  // as the kernel would, when it runs
    return SUCCESS;
  };
  const Result result = enqueue();
  world().function = "a test";
  return result;
}

}  // namespace

FAKE_CUDA_EXPORT void fake_cuda_clear(void) {
  const Locked locked;
  World &w = world();
  w.faults.clear();
  w.host_waits = 0;
  std::fill(std::begin(w.copies), std::end(w.copies), 0);
  std::fill(std::begin(w.copied_bytes), std::end(w.copied_bytes), 0);
  for (auto &[handle, context] : w.contexts) context->sticky = SUCCESS;
  forget_calls();
  forget_injections();
}

FAKE_CUDA_EXPORT void fake_cuda_reset(void) {
  const Locked locked;
  World &w = world();
  fake_cuda_clear();
  forget_streams();
  forget_memory();
  w.contexts.clear();
  w.primaries.clear();
  w.hidden.clear();
  w.pushes_less_pops = 0;
  w.generation++;
  w.initialized = false;
  w.forked = false;
  w.options = World().options;
}

FAKE_CUDA_EXPORT int32_t fake_cuda_set(const char *name, int64_t value) {
  const Locked locked;
  std::int64_t *place = option(world().options, name);
  if (!place) return -1;
  *place = value;
  return 0;
}

FAKE_CUDA_EXPORT void fake_cuda_hide(const char *function) {
  const Locked locked;
  world().hidden.insert(function);
}

FAKE_CUDA_EXPORT int32_t fake_cuda_faults(void) {
  const Locked locked;
  return static_cast<int32_t>(world().faults.size());
}

FAKE_CUDA_EXPORT const char *fake_cuda_fault(int32_t index) {
  const Locked locked;
  const auto &faults = world().faults;
  const auto place = static_cast<std::size_t>(index);
  return index >= 0 && place < faults.size() ? faults[place].c_str() : nullptr;
}

FAKE_CUDA_EXPORT void fake_cuda_get_state(fake_cuda_state *state) {
  const Locked locked;
  const World &w = world();
  const Usage usage = memory_usage();
  *state = {};
  state->device_allocations = usage.device_allocations;
  state->device_bytes = usage.device_bytes;
  state->host_allocations = usage.host_allocations;
  state->host_bytes = usage.host_bytes;
  state->registrations = usage.registrations;
  for (const auto &[handle, stream] : w.streams) state->streams += stream->created && stream->alive;
  for (const auto &[handle, event] : w.events) state->events += event->alive;
  for (const auto &[handle, context] : w.contexts) {
    state->contexts += context->alive && !context->primary;
    state->retains += context->retains;
  }
  state->context_depth = context_depth();
  state->pushes_less_pops = w.pushes_less_pops;
  state->pending = pending_work();
  state->host_waits = w.host_waits;
  std::copy(std::begin(w.copies), std::end(w.copies), state->copies);
  std::copy(std::begin(w.copied_bytes), std::end(w.copied_bytes), state->copied_bytes);
}

FAKE_CUDA_EXPORT void fake_cuda_stick(int32_t device, int32_t code) {
  const Locked locked;
  const auto &primaries = world().primaries;
  if (device >= 0 && static_cast<std::size_t>(device) < primaries.size())
    stick(*primaries[static_cast<std::size_t>(device)], code);
}

FAKE_CUDA_EXPORT int64_t fake_cuda_pump(void *handle, int64_t count) {
  const Locked locked;
  Stream *stream = any_stream(handle);
  return stream ? pump(*stream, count) : 0;
}

FAKE_CUDA_EXPORT int64_t fake_cuda_pump_all(void) {
  const Locked locked;
  return pump_everything();
}

FAKE_CUDA_EXPORT int32_t fake_cuda_launch(void *stream, fake_cuda_work work, void *argument,
                                          const fake_cuda_range *ranges, int32_t count) {
  return launch(stream, ranges, count,
                [work, argument](void *const *memory) { return work(argument, memory); });
}

FAKE_CUDA_EXPORT int32_t fake_cuda_launch_scale(void *stream, uint64_t to, uint64_t from,
                                                uint64_t count, double factor) {
  const fake_cuda_range ranges[] = {{to, count * sizeof(double), FAKE_CUDA_WRITE},
                                    {from, count * sizeof(double), FAKE_CUDA_READ}};
  return launch(stream, ranges, 2, [count, factor](void *const *memory) -> Result {
    auto *results = static_cast<double *>(memory[0]);
    const auto *values = static_cast<const double *>(memory[1]);
    std::transform(values, values + count, results, [=](double value) { return factor * value; });
    return SUCCESS;
  });
}

FAKE_CUDA_EXPORT int32_t fake_cuda_write(uint64_t pointer, const void *from, uint64_t bytes) {
  const Locked locked;
  if (bytes == 0) return SUCCESS;
  const std::shared_ptr<Block> block = whole(pointer, bytes);
  if (!block) return INVALID_VALUE;
  std::memcpy(block->at(pointer), from, bytes);
  return SUCCESS;
}

FAKE_CUDA_EXPORT int32_t fake_cuda_read(uint64_t pointer, void *to, uint64_t bytes) {
  const Locked locked;
  if (bytes == 0) return SUCCESS;
  const std::shared_ptr<Block> block = whole(pointer, bytes);
  if (!block) return INVALID_VALUE;
  std::memcpy(to, block->at(pointer), bytes);
  return SUCCESS;
}

FAKE_CUDA_EXPORT int32_t fake_cuda_begin_capture(void *handle, int32_t mode) {
  const Locked locked;
  if (const Result refused = ready()) return refused;
  Stream *stream = stream_of(handle);
  return stream ? begin_capture(*stream, mode) : INVALID_HANDLE;
}

FAKE_CUDA_EXPORT int32_t fake_cuda_end_capture(void *handle, int64_t *captured) {
  const Locked locked;
  if (const Result refused = ready()) return refused;
  Stream *stream = stream_of(handle);
  int64_t ignored = 0;
  return stream ? end_capture(*stream, captured ? *captured : ignored) : INVALID_HANDLE;
}

FAKE_CUDA_EXPORT int32_t fake_cuda_replay(void *handle) {
  const Locked locked;
  if (const Result refused = ready()) return refused;
  Stream *stream = stream_of(handle);
  if (!stream) return INVALID_HANDLE;
  if (!stream->captured || stream->capture) return INVALID_VALUE;
  for (const auto &work : stream->captured->works) submit_again(*stream, *work);
  return SUCCESS;
}
