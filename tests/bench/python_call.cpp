// What a call of a Python component costs, whose own work is nothing, in nanoseconds and as a
// multiple of calling an empty Python function: minimum over batches, everything in one process,
// cases interleaved so that a drifting clock hits all.
//
//   python_call <folder of the modules> [seconds [part of a case's name]]

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "prepared_call.h"

namespace {

using bench::Call;
using bench::CallOf;
using bench::Leaf;

// The few functions of Python's that the program needs, from the library that the loader loaded.
template <typename Function>
Function *python(const char *name) {
  void *address = dlsym(RTLD_DEFAULT, name);
  if (!address) {
    std::fprintf(stderr, "no %s in this process\n", name);
    std::exit(1);
  }
  return reinterpret_cast<Function *>(address);
}

constexpr int kCalls = 100;      // of a batch
constexpr int kLargeCalls = 10;  // of a batch that fills large arrays

struct Case {
  std::string name;
  std::function<void(int)> batch;  // runs it that often
  bool with_gil = true;
  int calls = kCalls;  // of a batch
  double best = 1e30;  // seconds of a call
};

// The second of two batches, which finds in the caches what the first has put there.
double seconds_of(const Case &c) {
  c.batch(c.calls);
  const auto begin = std::chrono::steady_clock::now();
  c.batch(c.calls);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / c.calls;
}

// A thread of the program's own, that Python knows only from its calls.
double seconds_on_thread(const Case &c) {
  double best = 1e30;
  std::thread([&] {
    c.batch(c.calls);
    for (int i = 0; i < 5; i++) best = std::min(best, seconds_of(c));
  }).join();
  return best;
}

std::vector<Leaf> leaves(const std::vector<std::string> &paths) {
  std::vector<Leaf> made;
  for (const std::string &path : paths) made.push_back({path});
  return made;
}

class Bench {
 public:
  explicit Bench(std::string folder) : folder_(std::move(folder)) {
    std::vector<Leaf> three = leaves({"a", "b"});
    three.push_back({"s", {}});
    const auto y = leaves({"y"});
    add("2 arrays + 1 scalar -> dict", "dict_result", three, y);
    add("2 arrays + 1 scalar -> OutputSchema", "schema_result", three, y);
    add("8 arrays -> 4 arrays", "eight_to_four", leaves({"a", "b", "c", "d", "e", "f", "g", "h"}),
        leaves({"p", "q", "r", "s"}));
    add("nested model + dict of 3 + list of 5", "nested",
        leaves({"part.x", "part.y", "table.{one}", "table.{two}", "table.{three}", "steps.[0]",
                "steps.[1]", "steps.[2]", "steps.[3]", "steps.[4]"}),
        y);
    add("field and model validators", "validators", three, y);
    add_call("vjp, one path", {.module = path("dict_result"),
                               .endpoint = TESSERACT_ENDPOINT_VJP,
                               .inputs = three,
                               .of = y,
                               .wrt = leaves({"a"})});
    add("2 arrays + 1 scalar -> dict, from a foreign thread", "dict_result", three, y, false);
    for (const int64_t bytes : {1 << 10, 10 << 10, 100 << 10, 1 << 20, 10 << 20}) {
      const Leaf x = {"x", {bytes / 8}, 64}, z = {"y", {bytes / 8}, 64};
      add(std::to_string(bytes >> 10) + " KiB -> the same", "growth", {x}, {z});
      add_copy(std::to_string(bytes >> 10) + " KiB, the copy alone", static_cast<size_t>(bytes));
    }
    for (const int64_t bytes : {1 << 20, 8 << 20}) add_made(bytes);
    add_empty();
  }

  // Leaves out the cases, but the empty function, whose name has no such part.
  void keep(const std::string &part) {
    std::erase_if(cases_, [&](const Case &c) {
      return c.name.find(part) == std::string::npos && &c != &cases_.back();
    });
  }

  // Ends without the GIL.
  void run(double seconds) {
    const auto ensure = python<int()>("PyGILState_Ensure");
    const auto release = python<void(int)>("PyGILState_Release");
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    do {
      for (Case &c : cases_) {
        if (!c.with_gil) {
          c.best = std::min(c.best, seconds_on_thread(c));
          continue;
        }
        const int state = ensure();
        c.best = std::min(c.best, seconds_of(c));
        release(state);
      }
    } while (std::chrono::steady_clock::now() < end);
  }

  void print() const {
    const double empty = cases_.back().best;
    std::printf("nanoseconds per call, minimum of batches; multiple of an empty call\n");
    for (const Case &c : cases_) {
      std::printf("%10.1f  %8.1f x  %s\n", c.best * 1e9, c.best / empty, c.name.c_str());
    }
  }

 private:
  std::string path(const std::string &module) const { return folder_ + "/" + module + ".py"; }

  void add(const std::string &name, const std::string &module, const std::vector<Leaf> &inputs,
           const std::vector<Leaf> &of, bool with_gil = true) {
    add_call(name, {.module = path(module), .inputs = inputs, .of = of}, with_gil);
  }

  void add_call(const std::string &name, const CallOf &what, bool with_gil = true) {
    const auto call = std::make_shared<Call>(what);
    cases_.push_back({name,
                      [call](int calls) {
                        for (int i = 0; i < calls; i++) call->run();
                      },
                      with_gil});
  }

  // A result that the module makes in the call: the host takes it over, or copies it.
  void add_made(int64_t bytes) {
    const std::string size = std::to_string(bytes >> 20) + " MiB made, ";
    const std::string length = std::to_string(bytes / 8);
    const Leaf y = {"y", {bytes / 8}, 64};
    const auto call = std::make_shared<Call>(
        CallOf{.module = path("makes"), .of = {y}, .json = R"({"length": )" + length + "}"});
    const auto body =
        function("import numpy\ndef _made" + length + "(): return numpy.ones(" + length + ")",
                 "_made" + length);
    add_large(size + "the module's work alone", body);
    add_large(size + "host allocates", [call](int calls) {
      for (int i = 0; i < calls; i++) call->run_allocating();
    });
    add_large(size + "destination given", [call](int calls) {
      for (int i = 0; i < calls; i++) call->run();
    });
  }

  void add_large(const std::string &name, const std::function<void(int)> &batch) {
    cases_.push_back({.name = name, .batch = batch, .calls = kLargeCalls});
  }

  void add_copy(const std::string &name, size_t bytes) {
    const auto from = std::make_shared<std::vector<char>>(bytes),
               to = std::make_shared<std::vector<char>>(bytes);
    cases_.push_back({name, [=](int calls) {
                        for (int i = 0; i < calls; i++) {
                          std::memcpy(to->data(), from->data(), bytes);
                          __asm__ volatile("" ::: "memory");
                        }
                      }});
  }

  void add_empty() {
    cases_.push_back(
        {"an empty Python function", function("def _empty_call(): pass", "_empty_call")});
  }

  // Calls of a Python function without arguments.
  static std::function<void(int)> function(const std::string &code, const std::string &name) {
    const int state = python<int()>("PyGILState_Ensure")();
    python<int(const char *)>("PyRun_SimpleString")(code.c_str());
    void *module = python<void *(const char *)>("PyImport_AddModule")("__main__");
    void *made =
        python<void *(void *, const char *)>("PyObject_GetAttrString")(module, name.c_str());
    python<void(int)>("PyGILState_Release")(state);
    const auto call = python<void *(void *)>("PyObject_CallNoArgs");
    const auto drop = python<void(void *)>("Py_DecRef");
    return [=](int calls) {
      for (int i = 0; i < calls; i++) drop(call(made));
    };
  }

  std::string folder_;
  std::vector<Case> cases_;
};

}  // namespace

int main(int argc, char **argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: python_call MODULES [SECONDS [CASE]]\n");
    return 2;
  }
  Bench bench(argv[1]);
  if (argc > 3) bench.keep(argv[3]);
  bench.run(argc > 2 ? std::atof(argv[2]) : 10.0);
  bench.print();
  return 0;
}
