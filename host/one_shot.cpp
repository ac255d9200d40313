#include "one_shot.h"

#include <alloca.h>

#include <algorithm>
#include <cstring>

#include "error.h"
#include "request.h"
#include "run.h"
#include "text.h"

namespace host {

CallReference SignatureCache::find(uint64_t hash, std::string_view key) {
  const std::lock_guard lock(mutex_);
  for (Entry &entry : entries_) {
    if (entry.hash != hash || entry.key != key) continue;
    entry.used = ++clock_;
    return share(entry.call.get());
  }
  return nullptr;
}

void SignatureCache::add(uint64_t hash, std::string key, const CallReference &call) {
  CallReference dropped;  // freed outside the lock
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  Entry entry{hash, ++clock_, std::move(key), share(call.get())};
  if (entries_.size() < most) {
    entries_.push_back(std::move(entry));
    return;
  }
  Entry &oldest = *std::min_element(entries_.begin(), entries_.end(),
                                    [](const Entry &a, const Entry &b) { return a.used < b.used; });
  std::swap(oldest, entry);
  dropped = std::move(entry.call);
}

void SignatureCache::clear() {
  std::vector<Entry> dropped;
  const std::lock_guard lock(mutex_);
  closed_ = true;
  std::swap(dropped, entries_);
}

namespace {

// The key of a signature, as bytes on the stack: what prepare would read, in order.
class Key {
 public:
  Key(char *bytes, size_t capacity) : bytes_(bytes), capacity_(capacity) {}

  void add(const void *data, size_t size) {
    if (size && size_ + size <= capacity_) std::memcpy(bytes_ + size_, data, size);
    size_ += size;
  }
  void add(uint64_t word) { add(&word, sizeof word); }

  bool complete() const { return size_ <= capacity_; }
  std::string_view text() const { return {bytes_, std::min(size_, capacity_)}; }

  // Words at a time; the tail is padded.  Multiplication by an odd constant and a shift mix well
  // enough for a table of 64.
  uint64_t hash() const {
    uint64_t hash = 0x9E3779B97F4A7C15u ^ size_;
    size_t at = 0;
    for (; at + sizeof(uint64_t) <= size_; at += sizeof(uint64_t)) {
      uint64_t word;
      std::memcpy(&word, bytes_ + at, sizeof word);
      hash = (hash ^ word) * 0xD6E8FEB86659FD93u;
      hash ^= hash >> 32;
    }
    uint64_t tail = 0;
    std::memcpy(&tail, bytes_ + at, size_ - at);
    hash = (hash ^ tail) * 0xD6E8FEB86659FD93u;
    return hash ^ hash >> 32;
  }

 private:
  char *bytes_;
  size_t capacity_;
  size_t size_ = 0;
};

// Lists as the caller gave them, read once.
struct CallLists {
  tesseract_leaves inputs = TESSERACT_LEAVES_INIT;
  tesseract_leaves of = TESSERACT_LEAVES_INIT, wrt = TESSERACT_LEAVES_INIT;
  bool has_of = false, has_wrt = false;
};

size_t size_of(const tesseract_leaves &leaves) {
  size_t size = 4 * sizeof(uint64_t);
  for (int64_t i = 0; i < leaves.count; i++)
    size += 4 * sizeof(uint64_t) + read_text(leaves.items[i].path, "a path").size();
  return size + read_text(leaves.json, "the JSON").size();
}

void add_list(Key &key, const tesseract_leaves &leaves, bool given) {
  key.add(given ? static_cast<uint64_t>(leaves.count) : UINT64_MAX - 1);
  if (!given) return;
  for (int64_t i = 0; i < leaves.count; i++) {
    const tesseract_leaf &leaf = leaves.items[i];
    const std::string_view path = read_text(leaf.path, "a path");
    uint64_t type = 0, device = 0;
    if (leaf.tensor) {
      // ndim and dtype are one word.
      std::memcpy(&type, &leaf.tensor->ndim, sizeof type);
      std::memcpy(&device, &leaf.tensor->device, sizeof device);
    }
    key.add(path.size());
    key.add(path.data(), path.size());
    key.add(leaf.tensor ? 1u : 0u);
    key.add(type);
    key.add(device);
  }
  const std::string_view json = read_text(leaves.json, "the JSON");
  key.add(json.size());
  key.add(json.data(), json.size());
}

tesseract_leaves read_leaves(const tesseract_leaves *given, const char *name, bool *present) {
  *present = given != nullptr;
  tesseract_leaves leaves = TESSERACT_LEAVES_INIT;
  if (!given) return leaves;
  leaves = read_request(given, 0, name);
  if (leaves.count > 0) require(leaves.items, (std::string(name) + ".items").c_str());
  if (leaves.count > 1 << 20)
    throw Failure(TESSERACT_ERROR_INVALID_ARGUMENT, std::string(name) + " has too many leaves");
  return leaves;
}

constexpr size_t largest_stack_key = 8192;

CallReference find_call(tesseract_component *component, int32_t endpoint,
                        const tesseract_leaves *inputs, const tesseract_leaves *of,
                        const tesseract_leaves *wrt, const CallLists &lists) {
  const size_t size =
      4 * sizeof(uint64_t) + size_of(lists.inputs) + size_of(lists.of) + size_of(lists.wrt);
  std::string large;
  if (size > largest_stack_key) large.resize(size);
  char *bytes = large.empty() ? static_cast<char *>(alloca(size)) : large.data();
  Key key(bytes, size);
  key.add(static_cast<uint64_t>(endpoint));
  add_list(key, lists.inputs, inputs != nullptr);
  add_list(key, lists.of, lists.has_of);
  add_list(key, lists.wrt, lists.has_wrt);
  const uint64_t hash = key.hash();
  if (CallReference call = component->cache->find(hash, key.text())) return call;
  tesseract_signature signature = TESSERACT_SIGNATURE_INIT;
  signature.endpoint = endpoint;
  signature.inputs = inputs;
  signature.of = of;
  signature.wrt = wrt;
  CallReference call;
  try {
    call = prepare_call(component, signature);
  } catch (...) {
    component->count_call(*thread_slot());  // of calls that run it is counted there
    throw;
  }
  component->cache->add(hash, std::string(key.text()), call);
  return call;
}

struct OneShot {
  int32_t endpoint;
  const tesseract_leaves *inputs, *of, *wrt;
  const char *of_name, *wrt_name;
};

// Tensors and owners of a list, in order.
void gather(const tesseract_leaves &leaves, const DLTensor **tensors,
            const tesseract_owner **owners, bool *owned) {
  for (int64_t i = 0; i < leaves.count; i++) {
    tensors[i] = leaves.items[i].tensor;
    owners[i] = leaves.items[i].owner;
    *owned |= owners[i] != nullptr;
  }
}

size_t positive(int64_t count) {
  return static_cast<size_t>(std::max<int64_t>(count, 0));
}

// An array on the stack, or on the heap where a call has very many leaves.
template <typename T>
class Leaves {
 public:
  explicit Leaves(size_t n) {
    if (n > few) {
      many_.resize(n);
      data_ = many_.data();
    }
  }
  T *data() { return data_; }

 private:
  static constexpr size_t few = 32;
  T few_[few];
  std::vector<T> many_;
  T *data_ = few_;
};

int32_t run_one_shot(tesseract_component *component, const OneShot &shot,
                     const tesseract_call_options &options, tesseract_result **result,
                     tesseract_error **error) {
  CallLists lists;
  bool has_inputs = false;
  lists.inputs = read_leaves(shot.inputs, "inputs", &has_inputs);
  lists.of = read_leaves(shot.of, shot.of_name, &lists.has_of);
  lists.wrt = read_leaves(shot.wrt, shot.wrt_name, &lists.has_wrt);
  if (options.owners)
    throw Failure(TESSERACT_ERROR_INVALID_ARGUMENT,
                  "the owners of a one-shot call stand in its leaves: options.owners must be null");
  const CallReference call =
      find_call(component, shot.endpoint, shot.inputs, shot.of, shot.wrt, lists);

  const bool jvp = shot.endpoint == TESSERACT_ENDPOINT_JVP;
  const bool vjp = shot.endpoint == TESSERACT_ENDPOINT_VJP;
  const tesseract_leaves &seeds = jvp ? lists.wrt : lists.of;
  const tesseract_leaves &wanted = vjp ? lists.wrt : lists.of;
  const size_t n_inputs = positive(lists.inputs.count);
  const size_t n_in = n_inputs + (jvp || vjp ? positive(seeds.count) : 0);
  Leaves<const DLTensor *> in(n_in);
  Leaves<const tesseract_owner *> owners(n_in);
  bool owned = false;
  gather(lists.inputs, in.data(), owners.data(), &owned);
  if (jvp || vjp) gather(seeds, in.data() + n_inputs, owners.data() + n_inputs, &owned);

  const bool destinations = shot.endpoint == TESSERACT_ENDPOINT_APPLY || jvp || vjp;
  const size_t n_out = destinations ? positive(wanted.count) : 0;
  Leaves<DLTensor *> out(n_out);
  for (size_t i = 0; i < n_out; i++) out.data()[i] = const_cast<DLTensor *>(wanted.items[i].tensor);
  RunRequest request;
  request.in = in.data();
  request.out = n_out ? out.data() : nullptr;
  request.owners = owned ? owners.data() : nullptr;
  request.no_copy = options.flags & TESSERACT_NO_COPY;
  request.context_current = options.flags & TESSERACT_CONTEXT_CURRENT;
  request.stream = options.stream;
  request.cancel = options.cancel;
  request.result = result;
  return run_call(*call, request, error);
}

int32_t one_shot(tesseract_component *component, const OneShot &shot,
                 const tesseract_call_options *options, tesseract_result **result,
                 tesseract_error **error) {
  return guarded(error, component ? component->place(shot.endpoint) : Place{}, [&] {
    require(component, "component");
    require(result, "result");
    const RunningCall running;
    // The caller may close meanwhile.
    const ComponentReference alive(component);
    require_open(*component);
    const tesseract_call_options asked = read_optional(options, call_flags, "the call's options");
    return run_one_shot(component, shot, asked, result, error);
  });
}

}  // namespace
}  // namespace host

int32_t tesseract_apply(tesseract_component *component, const tesseract_leaves *inputs,
                        const tesseract_leaves *of, const tesseract_call_options *options,
                        tesseract_result **result, tesseract_error **error) {
  return host::one_shot(component, {TESSERACT_ENDPOINT_APPLY, inputs, of, nullptr, "of", "wrt"},
                        options, result, error);
}

int32_t tesseract_jvp(tesseract_component *component, const tesseract_leaves *inputs,
                      const tesseract_leaves *tangents, const tesseract_leaves *of,
                      const tesseract_call_options *options, tesseract_result **result,
                      tesseract_error **error) {
  return host::one_shot(component, {TESSERACT_ENDPOINT_JVP, inputs, of, tangents, "of", "tangents"},
                        options, result, error);
}

int32_t tesseract_vjp(tesseract_component *component, const tesseract_leaves *inputs,
                      const tesseract_leaves *cotangents, const tesseract_leaves *wrt,
                      const tesseract_call_options *options, tesseract_result **result,
                      tesseract_error **error) {
  return host::one_shot(component,
                        {TESSERACT_ENDPOINT_VJP, inputs, cotangents, wrt, "cotangents", "wrt"},
                        options, result, error);
}

int32_t tesseract_jacobian(tesseract_component *component, const tesseract_leaves *inputs,
                           const tesseract_leaves *of, const tesseract_leaves *wrt,
                           const tesseract_call_options *options, tesseract_result **result,
                           tesseract_error **error) {
  return host::one_shot(component, {TESSERACT_ENDPOINT_JACOBIAN, inputs, of, wrt, "of", "wrt"},
                        options, result, error);
}

int32_t tesseract_abstract_eval(tesseract_component *component, const tesseract_leaves *inputs,
                                const tesseract_call_options *options, tesseract_result **result,
                                tesseract_error **error) {
  return host::one_shot(component,
                        {TESSERACT_ENDPOINT_ABSTRACT_EVAL, inputs, nullptr, nullptr, "of", "wrt"},
                        options, result, error);
}
