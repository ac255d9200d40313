// What a call from a compiled JAX program adds to a prepared call: the handler on a hand-made frame
// around a native component that does nothing, beside tesseract_call_run alone, in nanoseconds.
// Minimum over batches, cases interleaved so that a drifting clock hits all.
//
//   adapter_call <path of the bench plugin>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "../../python/adapter/adapter.h"
#include "../../python/adapter/xla_ffi.h"

namespace {

constexpr int batches = 1000, calls = 1000;

void check(int32_t status, const char *text) {
  if (status == TESSERACT_OK) return;
  std::fprintf(stderr, "%s\n", text ? text : "no memory");
  std::exit(1);
}

xla_error *print_error(xla_error_create *given) {
  check(1, given->message);
  return nullptr;
}

struct Matrix {
  std::vector<double> data = std::vector<double>(64, 1.0);
  int64_t shape[2] = {8, 8};
  DLTensor tensor = tesseract_float64(data.data(), 2, shape);
  xla_buffer buffer = {sizeof(xla_buffer), nullptr, XLA_F64, data.data(), 2, shape};
};

// One signature, as a prepared call and as a frame.
class Case {
 public:
  Case(const char *plugin, int n_in, int n_out) : matrices_(static_cast<size_t>(n_in + n_out)) {
    open(plugin, n_in, n_out);
    std::string inputs, outputs, operands, results;
    for (int i = 0; i < n_in; i++) {
      inputs += (i ? ",\"x" : "\"x") + std::to_string(i) + "\"";
      operands += i ? ",\"float64:2\"" : "\"float64:2\"";
    }
    for (int i = 0; i < n_out; i++) {
      outputs += (i ? ",\"y" : "\"y") + std::to_string(i) + "\"";
      results += i ? ",\"float64:2\"" : "\"float64:2\"";
    }
    spec_ = "{\"inputs\":[" + inputs + "],\"of\":[" + outputs + "],\"operands\":[" + operands +
            "],\"results\":[" + results + "]}";
    identity_ = "bench-0123456789abcdef-01234567-" + std::to_string(n_in);
    check(tesseract_jax_add(identity_.data(), identity_.size(), component_), "add");
    prepare(n_in, n_out);
    build(n_in, n_out);
  }

  // Nanoseconds of one call.
  double direct() const {
    return measure(
        [this] { tesseract_call_run(call_, in_.data(), out_.data(), nullptr, nullptr, nullptr); });
  }
  double handled() {
    return measure([this] { tesseract_jax_cpu(&frame_); });
  }

 private:
  template <typename Work>
  static double measure(Work work) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; i++) work();
    const auto end = std::chrono::steady_clock::now();
    return std::chrono::duration<double, std::nano>(end - begin).count() / calls;
  }

  void open(const char *plugin, int n_in, int n_out) {
    const std::string json = "{\"inputs\":" + std::to_string(n_in) +
                             ",\"outputs\":" + std::to_string(n_out) + ",\"named\":1,\"serial\":0}";
    tesseract_open_options options = TESSERACT_OPEN_OPTIONS_INIT;
    options.json = {json.data(), json.size()};
    tesseract_error *error = nullptr;
    check(tesseract_open(plugin, TESSERACT_NTS, &options, &component_, &error),
          tesseract_error_message(error, nullptr));
  }

  void prepare(int n_in, int n_out) {
    std::vector<std::string> paths;
    for (int i = 0; i < n_in; i++) paths.push_back("x" + std::to_string(i));
    for (int i = 0; i < n_out; i++) paths.push_back("y" + std::to_string(i));
    std::vector<tesseract_leaf> leaves;
    for (size_t i = 0; i < paths.size(); i++)
      leaves.push_back({{paths[i].data(), paths[i].size()}, &matrices_[i].tensor, nullptr});
    tesseract_leaves inputs = TESSERACT_LEAVES_INIT, of = TESSERACT_LEAVES_INIT;
    inputs.count = n_in;
    inputs.items = leaves.data();
    of.count = n_out;
    of.items = leaves.data() + n_in;
    tesseract_signature signature = TESSERACT_SIGNATURE_INIT;
    signature.endpoint = TESSERACT_ENDPOINT_APPLY;
    signature.inputs = &inputs;
    signature.of = &of;
    tesseract_error *error = nullptr;
    check(tesseract_prepare(component_, &signature, &call_, &error),
          tesseract_error_message(error, nullptr));
  }

  void build(int n_in, int n_out) {
    for (size_t i = 0; i < matrices_.size(); i++) {
      if (i < static_cast<size_t>(n_in))
        in_.push_back(&matrices_[i].tensor);
      else
        out_.push_back(&matrices_[i].tensor);
      items_.push_back(&matrices_[i].buffer);
    }
    types_.assign(items_.size(), XLA_BUFFER);
    api_.size = sizeof api_;
    api_.error_create = print_error;
    values_[0] = {"apply", 5};
    values_[1] = {spec_.data(), spec_.size()};
    values_[2] = {identity_.data(), identity_.size()};
    frame_.size = sizeof frame_;
    frame_.api = &api_;
    frame_.stage = XLA_STAGE_EXECUTE;
    frame_.arguments = {sizeof frame_.arguments, nullptr, n_in, types_.data(), items_.data()};
    frame_.results = {sizeof frame_.results, nullptr, n_out, types_.data() + n_in,
                      items_.data() + n_in};
    frame_.attributes = {sizeof frame_.attributes, nullptr, 4, kinds_, names_, pointers_};
  }

  tesseract_component *component_ = nullptr;
  tesseract_call *call_ = nullptr;
  std::vector<Matrix> matrices_;
  std::vector<const DLTensor *> in_;
  std::vector<DLTensor *> out_;
  std::string spec_, identity_;
  xla_api api_{};
  xla_frame frame_{};
  std::vector<void *> items_;
  std::vector<int32_t> types_;
  uint64_t key_ = 42;
  xla_scalar scalar_ = {XLA_U64, &key_};
  xla_text values_[3];
  xla_text texts_[4] = {{"endpoint", 8}, {"key", 3}, {"spec", 4}, {"tesseract", 9}};
  xla_text *names_[4] = {&texts_[0], &texts_[1], &texts_[2], &texts_[3]};
  int32_t kinds_[4] = {XLA_ATTRIBUTE_STRING, XLA_ATTRIBUTE_SCALAR, XLA_ATTRIBUTE_STRING,
                       XLA_ATTRIBUTE_STRING};
  void *pointers_[4] = {&values_[0], &scalar_, &values_[1], &values_[2]};
};

}  // namespace

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  const int sizes[][2] = {{1, 1}, {8, 4}, {24, 24}};
  std::vector<std::unique_ptr<Case>> cases;
  for (const auto &size : sizes) cases.push_back(std::make_unique<Case>(argv[1], size[0], size[1]));
  std::vector<double> direct(cases.size(), 1e30), handled(cases.size(), 1e30);
  for (int i = 0; i < batches; i++) {
    for (size_t k = 0; k < cases.size(); k++) {
      direct[k] = std::min(direct[k], cases[k]->direct());
      handled[k] = std::min(handled[k], cases[k]->handled());
    }
  }
  std::printf("ns per call           tesseract_call_run   XLA's handler\n");
  for (size_t k = 0; k < cases.size(); k++)
    std::printf("%2d in, %2d out %25.1f %15.1f\n", sizes[k][0], sizes[k][1], direct[k], handled[k]);
  return 0;
}
