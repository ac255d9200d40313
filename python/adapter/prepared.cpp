#include "prepared.h"

#include <chrono>
#include <thread>

#include "batch.h"
#include "no_flushing.h"

namespace tesseract::jax {
namespace {

std::atomic<uint64_t> existing{0};
std::atomic<Warn> warning{nullptr};
std::atomic<uint64_t> telling{0};

// Counts itself before it reads `warning`: whoever changes that sees it, or it sees the change.
class Telling {
 public:
  Telling() { telling.fetch_add(1); }
  ~Telling() { telling.fetch_sub(1); }
  Telling(const Telling &) = delete;
  Telling &operator=(const Telling &) = delete;

  const Warn warn = warning;
};

// Rank and dtype as they lie in DLTensor.
inline uint64_t word_of(const DLTensor &tensor) {
  static_assert(offsetof(DLTensor, dtype) == offsetof(DLTensor, ndim) + 4);
  uint64_t word;
  std::memcpy(&word, &tensor.ndim, sizeof word);
  return word;
}

uint64_t word_of(const ArrayType &type, int32_t levels) {
  DLTensor tensor{};
  tensor.ndim = type.rank + levels;
  tensor.dtype = type.dtype;
  uint64_t word;
  std::memcpy(&word, reinterpret_cast<const char *>(&tensor) + offsetof(DLTensor, ndim),
              sizeof word);
  return word;
}

// The lists of a signature, which point into the spec.
class Signature {
 public:
  Signature(const Spec &spec, int32_t endpoint, DLDevice device) : device_(device) {
    add(inputs_, spec.inputs, spec.operands.data());
    inputs_.leaves.json = view(spec.json);
    const ArrayType *seeds = spec.operands.data() + spec.inputs.size();
    const ArrayType *results = spec.results.data();
    const bool jacobian = endpoint == TESSERACT_ENDPOINT_JACOBIAN;
    const bool vjp = endpoint == TESSERACT_ENDPOINT_VJP;
    add(of_, spec.of, jacobian ? nullptr : vjp ? seeds : results);
    add(wrt_, spec.wrt, jacobian ? nullptr : vjp ? results : seeds);
    signature_.endpoint = endpoint;
    if (spec.staged) signature_.flags = TESSERACT_STAGED;
    signature_.inputs = &inputs_.leaves;
    signature_.of = &of_.leaves;
    if (endpoint != TESSERACT_ENDPOINT_APPLY) signature_.wrt = &wrt_.leaves;
  }
  Signature(const Signature &) = delete;
  Signature &operator=(const Signature &) = delete;

  const tesseract_signature *get() const { return &signature_; }

 private:
  struct List {
    tesseract_leaves leaves = TESSERACT_LEAVES_INIT;
    std::vector<tesseract_leaf> items;
    std::vector<DLTensor> tensors;
    std::vector<int64_t> shape;  // of any of them: lengths aren't read
  };

  void add(List &list, const std::vector<std::string> &paths, const ArrayType *types) {
    list.tensors.reserve(paths.size());
    for (size_t i = 0; i < paths.size(); i++) {
      tesseract_leaf leaf = {view(paths[i]), nullptr, nullptr};
      if (types) {
        const auto rank = static_cast<size_t>(types[i].rank);
        if (list.shape.size() < rank) list.shape.resize(rank);
        DLTensor tensor{};
        tensor.device = device_;
        tensor.ndim = types[i].rank;
        tensor.dtype = types[i].dtype;
        leaf.tensor = &list.tensors.emplace_back(tensor);
      }
      list.items.push_back(leaf);
    }
    for (DLTensor &tensor : list.tensors) tensor.shape = list.shape.data();
    list.leaves.items = list.items.data();
    list.leaves.count = static_cast<int64_t>(list.items.size());
  }

  DLDevice device_;
  List inputs_, of_, wrt_;
  tesseract_signature signature_ = TESSERACT_SIGNATURE_INIT;
};

std::string described(uint64_t word) {
  DLTensor tensor{};
  std::memcpy(reinterpret_cast<char *>(&tensor) + offsetof(DLTensor, ndim), &word, sizeof word);
  return name_of(tensor.dtype) + " of rank " + std::to_string(tensor.ndim);
}

}  // namespace

void on_difference(Warn warn) {
  warning = warn;
  while (!warn && telling > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

uint64_t Prepared::count() {
  return existing;
}

Prepared::Prepared(tesseract_component *component, std::string name, std::string_view endpoint,
                   std::string_view spec, DLDevice device)
    : place_(std::move(name) + ": " + std::string(endpoint) + ": ") {
  const int32_t code = endpoint_named(endpoint);
  try {
    spec_ = read_spec(spec, code);
  } catch (Failure &failure) {
    failure.message = place_ + failure.message;
    throw;
  }
  tesseract_call *call = nullptr;
  tesseract_error *error = nullptr;
  const int32_t status =
      tesseract_prepare(component, Signature(spec_, code, device).get(), &call, &error);
  const Error owned(error);
  if (status != TESSERACT_OK) throw Failure(status, text_of(error));
  call_.reset(call);
  n_in_ = static_cast<int64_t>(spec_.operands.size());
  n_out_ = static_cast<int64_t>(spec_.results.size());
  for (size_t i = 0; i < spec_.operands.size(); i++)
    words_.push_back(word_of(spec_.operands[i], spec_.levels_of(i)));
  for (const ArrayType &type : spec_.results) words_.push_back(word_of(type, spec_.levels()));
  plain_ = spec_.batch.empty() && !spec_.expect;
  existing++;
}

Prepared::~Prepared() {
  if (call_) existing--;
}

inline bool Prepared::fits(const Arrays &arrays) const {
  if (arrays.n_in != n_in_ || arrays.n_out != n_out_) return false;
  const uint64_t *word = words_.data();
  for (int64_t i = 0; i < n_in_; i++)
    if (!arrays.in[i] || word_of(*arrays.in[i]) != *word++) return false;
  for (int64_t i = 0; i < n_out_; i++)
    if (!arrays.out[i] || word_of(*arrays.out[i]) != *word++) return false;
  return true;
}

// Says why the arrays don't fit.
void Prepared::refuse(const Arrays &arrays) const {
  const auto wrong = [this](const std::string &text) {
    throw Failure(TESSERACT_ERROR_INVALID_ARGUMENT, place_ + text);
  };
  if (arrays.n_in != n_in_ || arrays.n_out != n_out_)
    wrong("the program gives " + std::to_string(arrays.n_in) + " arrays and takes " +
          std::to_string(arrays.n_out) + ", its spec has " + std::to_string(n_in_) + " and " +
          std::to_string(n_out_));
  for (int64_t i = 0; i < n_in_ + n_out_; i++) {
    const DLTensor *tensor = i < n_in_ ? arrays.in[i] : arrays.out[i - n_in_];
    const std::string which =
        i < n_in_ ? "operand " + std::to_string(i) : "result " + std::to_string(i - n_in_);
    if (!tensor) wrong(which + " is null");
    const uint64_t word = words_[static_cast<size_t>(i)];
    if (word_of(*tensor) != word)
      wrong(which + " is " + described(word_of(*tensor)) + ", its spec has " + described(word));
  }
  throw Failure(TESSERACT_ERROR_INTERNAL, place_ + "arrays that fit were refused");
}

int32_t Prepared::run(const Arrays &arrays, char **message) const {
  return plain_ && fits(arrays) ? run_plain(arrays, message) : run_otherwise(arrays, message);
}

inline tesseract_call_options Prepared::options_of(const Arrays &arrays) {
  tesseract_call_options options = TESSERACT_CALL_OPTIONS_INIT;
  options.stream = arrays.stream;
  options.flags = arrays.flags;
  return options;
}

int32_t Prepared::run_plain(const Arrays &arrays, char **message) const {
  const tesseract_call_options options = options_of(arrays);
  tesseract_error *error = nullptr;
  int32_t status;
  {
    const NoFlushing environment;
    status = tesseract_call_run(call_.get(), arrays.in, arrays.out,
                                arrays.stream ? &options : nullptr, nullptr, &error);
  }
  if (status == TESSERACT_OK) [[likely]]
    return status;
  return guarded(message, [&]() -> int32_t {
    const Error owned(error);
    throw Failure(status, text_of(error));
  });
}

int32_t Prepared::run_otherwise(const Arrays &arrays, char **message) const {
  return guarded(message, [&] {
    if (!fits(arrays)) refuse(arrays);
    const NoFlushing environment;
    if (spec_.batch.empty())
      run_once(arrays);
    else
      run_batch(arrays);
    return TESSERACT_OK;
  });
}

void Prepared::run_once(const Arrays &arrays) const {
  const tesseract_call_options options = options_of(arrays);
  tesseract_error *error = nullptr;
  tesseract_result *result = nullptr;
  const int32_t status = tesseract_call_run(call_.get(), arrays.in, arrays.out, &options,
                                            spec_.expect ? &result : nullptr, &error);
  const Error owned_error(error);
  const Result owned_result(result);
  if (status != TESSERACT_OK) throw Failure(status, text_of(error));
  if (spec_.expect) compare(result);
}

void Prepared::run_batch(const Arrays &arrays) const {
  Batch batch(spec_, arrays, place_);
  batch.each([this](const Arrays &element) { run_once(element); });
}

void Prepared::compare(const tesseract_result *result) const {
  const Telling who;
  if (!who.warn || told_) return;
  uint64_t length = 0;
  const char *json = tesseract_result_json(result, &length);
  const std::optional<Json> found = parse_json({json, length});
  const std::string text = found ? difference(*spec_.expect, *found) : "it is no JSON";
  if (text.empty() || told_.exchange(true)) return;
  const std::string whole =
      place_ + "outputs that are no arrays differ from what abstract_eval promised: " + text;
  who.warn(whole.data(), whole.size());
}

}  // namespace tesseract::jax
