// Calls of Python components from several threads: how bodies that give up the GIL scale, what a
// call costs beside a thread that keeps Python busy, and what a thread of a component's own costs.
//
//   python_threads <module> [seconds per figure]
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "prepared_call.h"

namespace {

using bench::Call;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Calls per second, all threads together; thread i runs calls[i].
double throughput(const std::vector<const Call *> &calls, double seconds) {
  std::atomic<bool> go{false}, stop{false};
  std::atomic<long> count{0};
  std::vector<std::thread> threads;
  for (const Call *call : calls) {
    threads.emplace_back([&, call] {
      call->run();
      while (!go) std::this_thread::yield();
      long mine = 0;
      for (; !stop; mine++) call->run();
      count += mine;
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const auto begin = Clock::now();
  go = true;
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  stop = true;
  const double passed = seconds_since(begin);
  for (std::thread &thread : threads) thread.join();
  return double(count) / passed;
}

// The best of a few, alternating: a machine that others use is slower at times.
void print_scaling(const char *what, const Call &one, const Call &two, double seconds) {
  double alone = 0.0, both = 0.0;
  for (int i = 0; i < 5; i++) {
    alone = std::max(alone, throughput({&one}, seconds / 10.0));
    both = std::max(both, throughput({&one, &two}, seconds / 10.0));
  }
  std::printf("%-44s %9.0f %9.0f calls/s   %.2fx\n", what, alone, both, both / alone);
}

// Microseconds of a call: the median, and the slowest of a hundred.
void print_latency(const char *what, const Call &call, double seconds, int pause = 0) {
  std::vector<double> times;
  const auto begin = Clock::now();
  while (seconds_since(begin) < seconds) {
    const auto start = Clock::now();
    call.run();
    times.push_back(1e6 * seconds_since(start));
    if (pause) std::this_thread::sleep_for(std::chrono::microseconds(pause));
  }
  std::sort(times.begin(), times.end());
  std::printf("%-44s %9.2f %9.2f us, median and 99th percentile\n", what, times[times.size() / 2],
              times[times.size() * 99 / 100]);
}

}  // namespace

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  const std::string module = argv[1];
  const auto call_of = [&](const std::string &json) {
    return bench::CallOf{.module = module, .json = json};
  };
  const double seconds = argc > 2 ? std::atof(argv[2]) : 2.0;

  std::printf("one thread, two threads with a component each\n");
  for (const auto &[what, json] :
       {std::pair("asleep for 1 ms", R"({"sleep": 1e-3})"),
        std::pair("computing without the GIL, some 1 ms", R"({"blocks": 6})"),
        std::pair("computing without the GIL, some 10 ms", R"({"blocks": 60})"),
        std::pair("computing with the GIL, 1 ms", R"({"spin": 1e-3})")}) {
    const Call one(call_of(json)), two(call_of(json));
    print_scaling(what, one, two, seconds);
  }

  std::printf("\na call that does nothing\n");
  const Call nothing(call_of("{}"));
  const Call bound({.module = module, .options = R"({"threads": "owner"})"});
  print_latency("on the caller's thread", nothing, seconds);
  print_latency("on a thread of the component's own", bound, seconds);
  const Call busy(call_of(R"({"spin": 0.1})"));
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) busy.run();
  });
  print_latency("while another thread keeps Python busy", nothing, seconds, 1000);
  stop = true;
  other.join();
  return 0;
}
