// Streams, the work in them, events, and captures.
#ifndef TESTS_FAKE_CUDA_STREAMS_H
#define TESTS_FAKE_CUDA_STREAMS_H

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "memory.h"
#include "world.h"

namespace fake {

// Memory of a block that work uses.
struct Range {
  std::shared_ptr<Block> block;
  std::uint64_t begin, end;  // offsets
  bool reads, writes;

  std::byte *memory() const { return block->alias + begin; }
};

struct Work {
  Stream *stream = nullptr;
  const char *function = nullptr;
  std::vector<Range> ranges;
  std::function<Result()> run;               // may be called again when it was captured
  std::vector<std::shared_ptr<Work>> after;  // work of other streams
  Clock clock;
  bool may_use_freed = false;
  bool poisoned = false, done = false;
};

struct Capture {
  Stream *origin;
  int mode;
  std::uint64_t thread;
  bool valid = true;
  std::vector<std::shared_ptr<Work>> works;
};

struct Stream {
  Context *context;
  std::size_t number;  // in clocks
  bool blocking;       // waits for the legacy stream, and it for this
  bool legacy = false;
  bool created = false;
  bool alive = true;
  Clock clock;
  std::deque<std::shared_ptr<Work>> queue;
  std::shared_ptr<Work> last;
  std::shared_ptr<Capture> capture, captured;  // now; the one that ended last
};

struct Event {
  Context *context;
  bool alive = true;
  std::shared_ptr<Work> recorded;  // nullptr: never
  Clock clock;
  std::shared_ptr<Capture> capture;  // it was last recorded in one
};

// ---- Handles (streams.cpp)

// The stream of a handle for the current context; nullptr, with a fault, where it is none of it.
Stream *stream_of(void *handle);
Stream *default_stream(Context &context, void *handle);  // of 0, 1 and 2
Stream *create_stream(Context &context, bool blocking);
Event *event_of(const void *handle);
Event *create_event(Context &context);
std::int64_t lose_handles(Context &context);
void forget_streams();

// ---- Work (work.cpp)

// Enqueues work, in the order of its stream; a capturing stream captures it.
Result submit(Stream &stream, std::vector<Range> ranges, std::function<Result()> run,
              bool may_use_freed = false);
Result submit_again(Stream &stream, const Work &captured);

std::int64_t pump(Stream &stream, std::int64_t count);
std::int64_t pump_everything();
std::int64_t pending_work();
void drop_work(const Context &context);
bool in_use(const Block &block);  // by pending work

// Waits of the CPU: in manual mode a test must pump.  Counted, and the lock is free meanwhile.
Result wait_for(const std::shared_ptr<Work> &work);
Result wait_for(Stream &stream);
Result wait_for(Context &context);
void finish_context(Context &context);  // at once, in any mode

// ---- Capture (capture.cpp)

Result begin_capture(Stream &stream, int mode);
Result end_capture(Stream &stream, std::int64_t &captured);

// What forbids waiting for this stream, or for all of a context; a fault, and the capture is void.
Result forbidden_wait(Stream &stream);
Result forbidden_wait(Context &context);
// What forbids using the legacy stream while another is captured.
Result forbidden_legacy(const Stream &stream, bool invalidate);
// What forbids functions that a capture doesn't see, like cuMemAlloc, on this thread: captures, as
// far as its mode (0 global, 1 thread-local, 2 relaxed) has regard to them.
Result forbidden_unsafe();
int &thread_capture_mode();

// Work after an event, and an event after work.
Result record(Event &event, Stream &stream);
Result wait_event(Stream &stream, Event &event);

}  // namespace fake

#endif
