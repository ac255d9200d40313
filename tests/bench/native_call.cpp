// What a call of a native component costs, whose own work is nothing, in nanoseconds: minimum over
// batches, everything in one process, cases interleaved so that a drifting clock hits all.
//
//   native_call <path of the bench plugin>

#include <tesseract_host/host.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

// Short batches, so that some fall between the interruptions of a busy machine.
constexpr int batches = 1000, calls = 1000;

void check(int32_t status, tesseract_error *error) {
  if (status == TESSERACT_OK) return;
  std::fprintf(stderr, "%s\n", tesseract_error_message(error, nullptr));
  std::exit(1);
}

// Tensors over memory of their own, shape and strides included, as separate callers would have.
struct Matrix {
  std::vector<double> data = std::vector<double>(64, 1.0);
  std::vector<int64_t> shape = {8, 8}, strides = {8, 1};
  DLTensor tensor;

  explicit Matrix(bool with_strides) {
    tensor = tesseract_float64(data.data(), 2, shape.data());
    if (with_strides) tensor.strides = strides.data();
  }
};

struct Tensors {
  std::vector<std::unique_ptr<Matrix>> matrices;
  std::vector<const DLTensor *> in;
  std::vector<DLTensor *> out;

  Tensors(int n_in, int n_out, bool strides) {
    for (int i = 0; i < n_in + n_out; i++) {
      matrices.push_back(std::make_unique<Matrix>(strides));
      if (i < n_in)
        in.push_back(&matrices.back()->tensor);
      else
        out.push_back(&matrices.back()->tensor);
    }
  }
};

tesseract_component *open(const char *plugin, int n_in, int n_out, bool named, bool serial) {
  const std::string json =
      "{\"inputs\":" + std::to_string(n_in) + ",\"outputs\":" + std::to_string(n_out) +
      ",\"named\":" + (named ? "1" : "0") + ",\"serial\":" + (serial ? "1" : "0") + "}";
  tesseract_open_options options = TESSERACT_OPEN_OPTIONS_INIT;
  options.json = {json.data(), json.size()};
  tesseract_component *component = nullptr;
  tesseract_error *error = nullptr;
  check(tesseract_open(plugin, TESSERACT_NTS, &options, &component, &error), error);
  return component;
}

// The same checks written out for one signature: constants, no tables, then the routine itself.
// The routine is reached by a pointer, as a solver chosen at run time would be, and may touch
// memory.
int32_t do_nothing(const DLTensor *const *, DLTensor *const *) {
  return 0;
}
int32_t (*volatile routine)(const DLTensor *const *, DLTensor *const *) = do_nothing;

bool wrong(const DLTensor *tensor) {
  if (!tensor || !tensor->data || tensor->byte_offset) return true;
  if (tensor->device.device_type != kDLCPU || tensor->device.device_id != 0) return true;
  if (tensor->dtype.code != kDLFloat || tensor->dtype.bits != 64 || tensor->dtype.lanes != 1)
    return true;
  if (tensor->ndim != 2 || !tensor->shape || tensor->shape[0] != 8 || tensor->shape[1] != 8)
    return true;
  if (tensor->strides && (tensor->strides[0] != 8 || tensor->strides[1] != 1)) return true;
  return reinterpret_cast<uintptr_t>(tensor->data) % 8 != 0;
}

[[gnu::noinline]] int32_t hand_written(const DLTensor *const *in, int n_in, DLTensor *const *out,
                                       int n_out) {
  for (int i = 0; i < n_in; i++)
    if (wrong(in[i])) return TESSERACT_ERROR_SCHEMA;
  for (int o = 0; o < n_out; o++) {
    if (wrong(out[o])) return TESSERACT_ERROR_SCHEMA;
    const auto begin = reinterpret_cast<uintptr_t>(out[o]->data);
    for (int i = 0; i < n_in + o; i++) {
      const DLTensor *other = i < n_in ? in[i] : out[i - n_in];
      const auto at = reinterpret_cast<uintptr_t>(other->data);
      if (begin < at + 512 && at < begin + 512) return TESSERACT_ERROR_INVALID_ARGUMENT;
    }
  }
  return routine(in, out);
}

struct Case {
  std::string hand;  // which hand-written loop it is compared with
  std::string name;
  std::function<void()> batch;  // runs it `calls` times
  double best = 1e30;
};

double seconds_of(const std::function<void()> &batch) {
  const auto begin = std::chrono::steady_clock::now();
  batch();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Owns what the cases use until the program ends.
struct Bench {
  const char *plugin;
  std::vector<Case> cases;
  std::vector<std::shared_ptr<void>> kept;

  template <typename T>
  T *keep(T *pointer, void (*free)(T *)) {
    kept.emplace_back(pointer, free);
    return pointer;
  }

  Tensors &tensors(int n_in, int n_out, bool strides) {
    const auto made = std::make_shared<Tensors>(n_in, n_out, strides);
    kept.push_back(made);
    return *made;
  }

  void add_hand(int n_in, int n_out, bool strides) {
    Tensors &t = tensors(n_in, n_out, strides);
    cases.push_back({hand_key(n_in, n_out, strides),
                     title(n_in, n_out, "hand-written checks", strides), [=, &t] {
                       for (int k = 0; k < calls; k++)
                         if (hand_written(t.in.data(), n_in, t.out.data(), n_out)) std::abort();
                     }});
  }

  void add_prepared(int n_in, int n_out, bool named, bool serial, bool strides) {
    Tensors &t = tensors(n_in, n_out, strides);
    tesseract_component *component =
        keep(open(plugin, n_in, n_out, named, serial), tesseract_close);
    std::vector<std::string> names;
    std::vector<tesseract_leaf> leaves;
    for (int i = 0; i < n_in; i++) names.push_back("x" + std::to_string(i));
    for (const std::string &name : names)
      leaves.push_back({{name.data(), name.size()}, nullptr, nullptr});
    tesseract_leaves inputs = TESSERACT_LEAVES_INIT;
    inputs.count = n_in;
    inputs.items = leaves.data();
    tesseract_signature signature = TESSERACT_SIGNATURE_INIT;
    signature.endpoint = TESSERACT_ENDPOINT_APPLY;
    signature.inputs = &inputs;
    tesseract_call *call = nullptr;
    tesseract_error *error = nullptr;
    check(tesseract_prepare(component, &signature, &call, &error), error);
    keep(call, tesseract_call_free);
    const std::string kind =
        std::string(named ? "named lengths" : "fixed shapes") + (serial ? ", serial" : "");
    cases.push_back(
        {hand_key(n_in, n_out, strides), title(n_in, n_out, "prepared, " + kind, strides), [=, &t] {
           for (int k = 0; k < calls; k++)
             if (tesseract_call_run(call, t.in.data(), t.out.data(), nullptr, nullptr, nullptr))
               std::abort();
         }});
  }

  void add_one_shot(int n_in, int n_out, bool destinations) {
    Tensors &t = tensors(n_in, n_out, false);
    tesseract_component *component = keep(open(plugin, n_in, n_out, true, false), tesseract_close);
    struct Lists {
      std::vector<std::string> names;
      std::vector<tesseract_leaf> in, out;
      tesseract_leaves inputs = TESSERACT_LEAVES_INIT, of = TESSERACT_LEAVES_INIT;
    };
    const auto lists = std::make_shared<Lists>();
    kept.push_back(lists);
    for (int i = 0; i < n_in + n_out; i++)
      lists->names.push_back((i < n_in ? "x" : "y") + std::to_string(i < n_in ? i : i - n_in));
    for (int i = 0; i < n_in + n_out; i++) {
      const std::string &name = lists->names[static_cast<size_t>(i)];
      const DLTensor *tensor = i < n_in       ? t.in[static_cast<size_t>(i)]
                               : destinations ? t.out[static_cast<size_t>(i - n_in)]
                                              : nullptr;
      (i < n_in ? lists->in : lists->out).push_back({{name.data(), name.size()}, tensor, nullptr});
    }
    lists->inputs.count = n_in;
    lists->inputs.items = lists->in.data();
    lists->of.count = n_out;
    lists->of.items = lists->out.data();
    const Lists *l = lists.get();
    cases.push_back(
        {hand_key(n_in, n_out, false),
         title(n_in, n_out, destinations ? "one-shot, destinations" : "one-shot, host allocates",
               false),
         [=] {
           for (int k = 0; k < calls; k++) {
             tesseract_result *result = nullptr;
             if (tesseract_apply(component, &l->inputs, &l->of, nullptr, &result, nullptr))
               std::abort();
             tesseract_result_free(result);
           }
         }});
  }

  static std::string hand_key(int n_in, int n_out, bool strides) {
    return title(n_in, n_out, {}, strides);
  }

  static std::string title(int n_in, int n_out, const std::string &what, bool strides) {
    return std::to_string(n_in) + " in + " + std::to_string(n_out) + " out: " + what +
           (strides ? ", strides given" : ", null strides");
  }
};

}  // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: native_call PLUGIN\n");
    return 2;
  }
  Bench bench{argv[1], {}, {}};
  for (const auto &[n_in, n_out] : {std::pair(5, 3), std::pair(8, 4)}) {
    for (const bool strides : {true, false}) {
      bench.add_hand(n_in, n_out, strides);
      for (const bool named : {false, true}) bench.add_prepared(n_in, n_out, named, false, strides);
    }
    bench.add_prepared(n_in, n_out, false, true, true);
  }
  bench.add_one_shot(5, 3, true);
  bench.add_one_shot(5, 3, false);
  for (int batch = 0; batch < batches; batch++)
    for (Case &c : bench.cases) c.best = std::min(c.best, seconds_of(c.batch));
  std::printf("nanoseconds per call, minimum of %d batches of %d\n", batches, calls);
  std::map<std::string, double> hand;
  for (const Case &c : bench.cases) {
    hand.emplace(c.hand, c.best);  // the hand-written loop comes first
    std::printf("%7.1f  %5.2f x hand-written  %s\n", c.best / calls * 1e9, c.best / hand[c.hand],
                c.name.c_str());
  }
  return 0;
}
