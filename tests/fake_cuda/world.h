// Everything the fake driver knows, in one place, behind one lock.
#ifndef TESTS_FAKE_CUDA_WORLD_H
#define TESTS_FAKE_CUDA_WORLD_H

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "clock.h"
#include "fake_cuda.h"
#include "lock.h"
#include "types.h"

namespace fake {

struct Stream;
struct Event;

enum class Mode : std::int64_t { eager = 0, delayed = 1, manual = 2 };

struct Options {
  std::int64_t devices = 2, driver_version = 13000, init_result = 0, deinitialized = 0;
  std::int64_t mode = 1, memory = std::int64_t{1} << 30, host_memory = std::int64_t{1} << 30;
  std::int64_t memory_pools = 1, abort_on_fault = 0;
};

struct Context {
  Ordinal device = 0;
  bool primary = false;
  bool alive = false;
  unsigned flags = 0;
  std::int64_t retains = 0;
  Result sticky = SUCCESS;
  Stream *legacy = nullptr;
  std::unordered_map<std::uint64_t, Stream *> per_thread;
};

struct World {
  World();

  Lock lock;
  Options options;
  std::uint64_t generation = 1;  // of handles: ends with a reset
  bool initialized = false;
  bool forked = false;  // from a process that had initialized

  std::deque<std::string> faults;
  const char *function = "a test";  // the driver function that runs
  std::int64_t pushes_less_pops = 0, host_waits = 0;
  std::int64_t copies[4] = {}, copied_bytes[4] = {};
  std::unordered_set<std::string> hidden;

  std::unordered_map<const void *, std::unique_ptr<Context>> contexts;
  std::vector<Context *> primaries;
  std::unordered_map<const void *, std::unique_ptr<Stream>> streams;
  std::unordered_map<const void *, std::unique_ptr<Event>> events;
  std::size_t streams_made = 0;
  Clock host;  // what the CPU knows to be done, all threads together
};

// Lives until the process has ended: a host may call while it unloads.
World &world();

class Locked {
 public:
  Locked() { world().lock.lock(); }
  ~Locked() { world().lock.unlock(); }
  Locked(const Locked &) = delete;
  Locked &operator=(const Locked &) = delete;
};

// Records misuse; the text begins with its kind and the function that runs.
__attribute__((format(printf, 2, 3))) void fault(const char *kind, const char *text, ...);

// Options from the environment; called under the lock.
std::int64_t *option(Options &options, const char *name);

}  // namespace fake

#endif
