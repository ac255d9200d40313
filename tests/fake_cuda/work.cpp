// Work in streams: enqueued, ordered, done, waited for.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "contexts.h"
#include "streams.h"

namespace fake {
namespace {

bool overlap(const Range &one, const Range &other) {
  return one.block == other.block && one.begin < other.end && other.begin < one.end;
}

bool touches(const Work &work, const Range &range) {
  return std::any_of(work.ranges.begin(), work.ranges.end(),
                     [&](const Range &one) { return overlap(one, range); });
}

// Whether other work that isn't done still needs what is in this memory.
bool needed(const Work &work, const Range &range) {
  for (const auto &[handle, stream] : world().streams)
    for (const auto &other : stream->queue) {
      if (other.get() == &work) break;  // what follows in its own stream comes later
      if (touches(*other, range)) return true;
    }
  return std::any_of(work.ranges.begin(), work.ranges.end(),
                     [&](const Range &one) { return one.reads && overlap(one, range); });
}

// Who looks at the result too early sees poison.
void poison(Work &work) {
  if (work.poisoned || work.done) return;
  for (const Range &range : work.ranges)
    if (range.writes && needed(work, range)) return;
  for (const Range &range : work.ranges)
    if (range.writes && range.block->live)
      std::memset(range.memory(), FAKE_CUDA_POISON, range.end - range.begin);
  work.poisoned = true;
}

void poison_pending() {
  for (const auto &[handle, stream] : world().streams)
    for (const auto &work : stream->queue) poison(*work);
}

bool ready(const Work &work) {
  return std::all_of(work.after.begin(), work.after.end(),
                     [](const auto &other) { return other->done; });
}

bool memory_is_there(const Work &work) {
  if (work.may_use_freed) return true;
  for (const Range &range : work.ranges) {
    if (range.block->resident) continue;
    fault("freed-in-use", "memory at %#llx was freed before this work was done",
          static_cast<unsigned long long>(range.block->base));
    return false;
  }
  return true;
}

void end(Work &work) {
  work.done = true;
  work.run = nullptr;
  work.after.clear();
  work.ranges.clear();
}

void run_first(Stream &stream) {
  World &w = world();
  const std::shared_ptr<Work> work = std::move(stream.queue.front());
  stream.queue.pop_front();
  const char *before = std::exchange(w.function, work->function);
  Result result = SUCCESS;
  if (stream.context->sticky == SUCCESS && memory_is_there(*work) && work->run)
    result = work->run();
  w.function = before;
  end(*work);
  if (result != SUCCESS)
    stick(*stream.context, result);
  else
    poison_pending();
}

// Does a piece of work with all that must come before it.
void finish(const Work &work) {
  while (!work.done) {
    Stream &stream = *work.stream;
    if (stream.queue.empty()) return;  // dropped
    const std::shared_ptr<Work> front = stream.queue.front();
    for (const auto &other : std::vector<std::shared_ptr<Work>>(front->after)) finish(*other);
    if (!stream.queue.empty() && stream.queue.front() == front) run_first(stream);
  }
}

void follow(Work &work, Clock &clock, const Stream &other) {
  clock.join(other.clock);
  if (other.last && !other.last->done) work.after.push_back(other.last);
}

// The legacy stream and the blocking ones of its context wait for each other.
void order_implicitly(Work &work, Stream &stream) {
  if (stream.legacy) {
    for (const auto &[handle, other] : world().streams)
      if (other->context == stream.context && other->blocking && !other->capture)
        follow(work, stream.clock, *other);
  } else if (stream.blocking && stream.context->legacy) {
    follow(work, stream.clock, *stream.context->legacy);
  }
}

void note_accesses(const Work &work, const Stream &stream, std::uint64_t count) {
  for (const Range &range : work.ranges) {
    if (range.begin == range.end) continue;
    check_order(*range.block,
                {range.begin, range.end, stream.number, count, range.writes, work.function},
                stream.clock);
  }
}

void enqueue(Stream &stream, const std::shared_ptr<Work> &work) {
  World &w = world();
  order_implicitly(*work, stream);
  stream.clock.join(w.host);
  const std::uint64_t count = stream.clock.tick(stream.number);
  note_accesses(*work, stream, count);
  work->clock = stream.clock;
  stream.queue.push_back(work);
  stream.last = work;
  if (w.options.mode == static_cast<std::int64_t>(Mode::eager))
    finish(*work);
  else
    poison(*work);
}

std::shared_ptr<Work> make_work(Stream &stream, std::vector<Range> ranges,
                                std::function<Result()> run) {
  auto work = std::make_shared<Work>();
  work->stream = &stream;
  work->function = world().function;
  work->ranges = std::move(ranges);
  work->run = std::move(run);
  return work;
}

// Until it is done; in manual mode a test on another thread must pump.
Result wait_until_done(const Work &work) {
  World &w = world();
  if (w.options.mode != static_cast<std::int64_t>(Mode::manual)) {
    finish(work);
    return SUCCESS;
  }
  const char *function = w.function;
  for (int tries = 0; !work.done; tries++) {
    if (tries == 300'000) {
      fault("stuck", "nobody pumped the stream that is waited for");
      return UNKNOWN;
    }
    w.lock.unlock();
    usleep(200);
    w.lock.lock();
  }
  w.function = function;
  return SUCCESS;
}

Result done_in(const Context &context) {
  return context.sticky;
}

}  // namespace

Result submit(Stream &stream, std::vector<Range> ranges, std::function<Result()> run,
              bool may_use_freed) {
  if (const Result refused = forbidden_legacy(stream, true)) return refused;
  const std::shared_ptr<Work> work = make_work(stream, std::move(ranges), std::move(run));
  work->may_use_freed = may_use_freed;
  if (stream.capture) {
    if (!stream.capture->valid) return CAPTURE_INVALIDATED;
    stream.capture->works.push_back(work);
    return SUCCESS;
  }
  enqueue(stream, work);
  return SUCCESS;
}

Result submit_again(Stream &stream, const Work &captured) {
  const std::shared_ptr<Work> work = make_work(stream, captured.ranges, captured.run);
  work->function = captured.function;
  enqueue(stream, work);
  return SUCCESS;
}

std::int64_t pump(Stream &stream, std::int64_t count) {
  std::int64_t done = 0;
  while (!stream.queue.empty() && (count < 0 || done < count) && ready(*stream.queue.front())) {
    run_first(stream);
    done++;
  }
  return done;
}

std::int64_t pump_everything() {
  std::int64_t all = 0;
  for (std::int64_t done = 1; done > 0; all += done) {
    done = 0;
    for (const auto &[handle, stream] : world().streams) done += pump(*stream, -1);
  }
  return all;
}

std::int64_t pending_work() {
  std::int64_t pending = 0;
  for (const auto &[handle, stream] : world().streams)
    pending += static_cast<std::int64_t>(stream->queue.size());
  return pending;
}

void drop_work(const Context &context) {
  for (const auto &[handle, stream] : world().streams) {
    if (stream->context != &context) continue;
    for (const auto &work : stream->queue) end(*work);
    stream->queue.clear();
  }
}

bool in_use(const Block &block) {
  for (const auto &[handle, stream] : world().streams)
    for (const auto &work : stream->queue)
      for (const Range &range : work->ranges)
        if (range.block.get() == &block) return true;
  return false;
}

Result wait_for(const std::shared_ptr<Work> &work) {
  World &w = world();
  w.host_waits++;
  if (!work) return SUCCESS;
  Context &context = *work->stream->context;
  if (const Result stuck = wait_until_done(*work)) return stuck;
  w.host.join(work->clock);
  return done_in(context);
}

Result wait_for(Stream &stream) {
  World &w = world();
  std::vector<std::shared_ptr<Work>> all = {stream.last};
  if (stream.legacy)  // what it would wait for
    for (const auto &[handle, other] : w.streams)
      if (other->context == stream.context && other->blocking) all.push_back(other->last);
  w.host_waits++;
  for (const auto &work : all) {
    if (!work) continue;
    if (const Result stuck = wait_until_done(*work)) return stuck;
    w.host.join(work->clock);
  }
  w.host.join(stream.clock);
  return done_in(*stream.context);
}

Result wait_for(Context &context) {
  World &w = world();
  w.host_waits++;
  std::vector<std::shared_ptr<Work>> all;
  for (const auto &[handle, stream] : w.streams)
    if (stream->context == &context && stream->last) all.push_back(stream->last);
  for (const auto &work : all) {
    if (const Result stuck = wait_until_done(*work)) return stuck;
    w.host.join(work->clock);
  }
  return done_in(context);
}

void finish_context(Context &context) {
  std::vector<std::shared_ptr<Work>> all;
  for (const auto &[handle, stream] : world().streams)
    if (stream->context == &context && stream->last) all.push_back(stream->last);
  for (const auto &work : all) {
    finish(*work);
    world().host.join(work->clock);
  }
}

}  // namespace fake
