// What a call of a Python component costs, whose own work is nothing, in nanoseconds and as a
// multiple of calling an empty Python function: minimum over batches, everything in one process,
// cases interleaved so that a drifting clock hits all.
//
//   python_call <folder of the modules> [seconds [part of a case's name]]

#include <dlfcn.h>
#include <tesseract_host/host.h>

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

namespace {

constexpr int calls = 100;

void check(int32_t status, tesseract_error *error) {
  if (status == TESSERACT_OK) return;
  const char *traceback = tesseract_error_detail(error, TESSERACT_DETAIL_TRACEBACK, nullptr);
  std::fprintf(stderr, "%s\n%s\n", tesseract_error_message(error, nullptr),
               traceback ? traceback : "");
  std::exit(1);
}

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

// One array of the program's.
struct Vector {
  std::vector<char> data;
  std::vector<int64_t> shape;
  DLTensor tensor;

  // `bits` of a float; no length: a scalar.
  Vector(int bits, std::vector<int64_t> lengths) : shape(std::move(lengths)) {
    const int64_t count = shape.empty() ? 1 : shape[0];
    data.resize(static_cast<size_t>(count * bits / 8));
    const DLDataType type = {kDLFloat, static_cast<uint8_t>(bits), 1};
    tensor = tesseract_tensor(type, data.data(), static_cast<int32_t>(shape.size()), shape.data());
  }
};

struct Leaf {
  std::string path;
  std::vector<int64_t> lengths = {3};
  int bits = 32;
};

// A prepared call with its arrays.
class Call {
 public:
  Call(const std::string &module, int32_t endpoint, const std::vector<Leaf> &inputs,
       const std::vector<Leaf> &of, const std::vector<Leaf> &wrt) {
    tesseract_error *error = nullptr;
    tesseract_open_options options = TESSERACT_OPEN_OPTIONS_INIT;
    options.log = [](void *, int32_t, const char *, uint64_t) {};
    check(tesseract_from_tesseract_api(module.data(), module.size(), &options, &component_, &error),
          error);
    const bool vjp = endpoint == TESSERACT_ENDPOINT_VJP;
    const tesseract_leaves given = list(inputs), outputs = list(of), gradients = list(wrt);
    tesseract_signature signature = TESSERACT_SIGNATURE_INIT;
    signature.endpoint = endpoint;
    signature.inputs = &given;
    signature.of = &outputs;
    if (vjp) signature.wrt = &gradients;
    check(tesseract_prepare(component_, &signature, &call_, &error), error);
    for (const Leaf &leaf : inputs) in_.push_back(make(leaf));
    if (vjp)
      for (const Leaf &leaf : of) in_.push_back(make(leaf));
    for (const Leaf &leaf : vjp ? wrt : of) out_.push_back(make(leaf));
    for (int i = 0; i < 100; i++) run();
  }
  Call(const Call &) = delete;
  Call &operator=(const Call &) = delete;
  ~Call() {
    tesseract_call_free(call_);
    tesseract_close(component_);
  }

  void run() const {
    tesseract_error *error = nullptr;
    if (const int32_t status =
            tesseract_call_run(call_, in_.data(), out_.data(), nullptr, nullptr, &error))
      check(status, error);
  }

 private:
  tesseract_leaves list(const std::vector<Leaf> &leaves) {
    auto items = std::make_unique<std::vector<tesseract_leaf>>();
    for (const Leaf &leaf : leaves)
      items->push_back({{leaf.path.data(), leaf.path.size()}, nullptr, nullptr});
    tesseract_leaves made = TESSERACT_LEAVES_INIT;
    made.count = static_cast<int64_t>(leaves.size());
    made.items = items->data();
    lists_.push_back(std::move(items));
    return made;
  }

  DLTensor *make(const Leaf &leaf) {
    vectors_.push_back(std::make_unique<Vector>(leaf.bits, leaf.lengths));
    return &vectors_.back()->tensor;
  }

  tesseract_component *component_ = nullptr;
  tesseract_call *call_ = nullptr;
  std::vector<std::unique_ptr<Vector>> vectors_;
  std::vector<std::unique_ptr<std::vector<tesseract_leaf>>> lists_;
  std::vector<const DLTensor *> in_;
  std::vector<DLTensor *> out_;
};

struct Case {
  std::string name;
  std::function<void()> batch;  // runs it `calls` times
  bool with_gil = true;
  double best = 1e30;  // seconds of a batch
};

// The second of two batches, which finds in the caches what the first has put there.
double seconds_of(const std::function<void()> &batch) {
  batch();
  const auto begin = std::chrono::steady_clock::now();
  batch();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// A thread of the program's own, that Python knows only from its calls.
double seconds_on_thread(const Case &c) {
  double best = 1e30;
  std::thread([&] {
    c.batch();
    for (int i = 0; i < 5; i++) best = std::min(best, seconds_of(c.batch));
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
    add_call("vjp, one path",
             std::make_shared<Call>(path("dict_result"), TESSERACT_ENDPOINT_VJP, three, y,
                                    leaves({"a"})),
             true);
    add("2 arrays + 1 scalar -> dict, from a foreign thread", "dict_result", three, y, false);
    for (const int64_t bytes : {1 << 10, 10 << 10, 100 << 10, 1 << 20, 10 << 20}) {
      const Leaf x = {"x", {bytes / 8}, 64}, z = {"y", {bytes / 8}, 64};
      add(std::to_string(bytes >> 10) + " KiB -> the same", "growth", {x}, {z});
      add_copy(std::to_string(bytes >> 10) + " KiB, the copy alone", static_cast<size_t>(bytes));
    }
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
        c.best = std::min(c.best, seconds_of(c.batch));
        release(state);
      }
    } while (std::chrono::steady_clock::now() < end);
  }

  void print() const {
    const double empty = cases_.back().best;
    std::printf("nanoseconds per call, minimum of batches of %d; multiple of an empty call\n",
                calls);
    for (const Case &c : cases_) {
      std::printf("%10.1f  %8.1f x  %s\n", c.best / calls * 1e9, c.best / empty, c.name.c_str());
    }
  }

 private:
  std::string path(const std::string &module) const { return folder_ + "/" + module + ".py"; }

  void add(const std::string &name, const std::string &module, const std::vector<Leaf> &inputs,
           const std::vector<Leaf> &of, bool with_gil = true) {
    add_call(name,
             std::make_shared<Call>(path(module), TESSERACT_ENDPOINT_APPLY, inputs, of,
                                    std::vector<Leaf>()),
             with_gil);
  }

  void add_call(const std::string &name, const std::shared_ptr<Call> &call, bool with_gil) {
    cases_.push_back({name,
                      [call] {
                        for (int i = 0; i < calls; i++) call->run();
                      },
                      with_gil});
  }

  void add_copy(const std::string &name, size_t bytes) {
    const auto from = std::make_shared<std::vector<char>>(bytes),
               to = std::make_shared<std::vector<char>>(bytes);
    cases_.push_back({name, [=] {
                        for (int i = 0; i < calls; i++) {
                          std::memcpy(to->data(), from->data(), bytes);
                          __asm__ volatile("" ::: "memory");
                        }
                      }});
  }

  void add_empty() {
    const int state = python<int()>("PyGILState_Ensure")();
    python<int(const char *)>("PyRun_SimpleString")("def _empty_call(): pass");
    void *module = python<void *(const char *)>("PyImport_AddModule")("__main__");
    void *function =
        python<void *(void *, const char *)>("PyObject_GetAttrString")(module, "_empty_call");
    python<void(int)>("PyGILState_Release")(state);
    const auto call = python<void *(void *)>("PyObject_CallNoArgs");
    const auto drop = python<void(void *)>("Py_DecRef");
    cases_.push_back({"an empty Python function", [=] {
                        for (int i = 0; i < calls; i++) drop(call(function));
                      }});
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
