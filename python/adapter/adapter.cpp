#include "adapter.h"

#include <cstdlib>
#include <cstring>

#include "execute.h"
#include "table.h"

using namespace tesseract::jax;

namespace {

// Where calls are prepared before they are made.
constexpr DLDevice kHost = {kDLCPU, 0};

std::string_view read(const char *text, uint64_t length) {
  if (!text) return {};
  return {text, length == TESSERACT_NTS ? std::strlen(text) : length};
}

// A call of what isn't prepared yet, or no more.
int32_t prepare_and_run(const Name &name, bool counted, const Arrays &arrays, char **message) {
  return guarded(message, [&] {
    Use use = prepare_entry(name);
    if (!counted) use.count();
    return use.prepared()->run(arrays, message);
  });
}

int32_t run_named(Entry *entry, const Name &name, const Arrays &arrays, char **message) {
  if (entry) [[likely]] {
    const Use use(*entry, true);
    if (const Prepared *prepared = use.prepared()) [[likely]]
      return prepared->run(arrays, message);
  }
  return prepare_and_run(name, entry != nullptr, arrays, message);
}

DLDevice device_of(const Arrays &arrays) {
  if (arrays.n_in > 0 && arrays.in && arrays.in[0]) return arrays.in[0]->device;
  if (arrays.n_out > 0 && arrays.out && arrays.out[0]) return arrays.out[0]->device;
  return kHost;
}

}  // namespace

int32_t tesseract_jax_execute(const tesseract_jax_request *request, char **message) {
  const Name name = {view(request->identity), view(request->endpoint), view(request->spec),
                     request->key, request->device};
  const Arrays arrays = {request->in,    request->n_in,   request->out,
                         request->n_out, request->stream, request->flags};
  return run_named(find_entry(name), name, arrays, message);
}

int32_t tesseract_jax_add(const char *identity, uint64_t length, tesseract_component *component) {
  const std::string_view name = read(identity, length);
  if (name.empty() || !component) return TESSERACT_ERROR_INVALID_ARGUMENT;
  return guarded(nullptr, [&] {
    add_component(name, component);
    return TESSERACT_OK;
  });
}

void tesseract_jax_remove(const char *identity, uint64_t length) {
  guarded(nullptr, [&] {
    remove_component(read(identity, length));
    return TESSERACT_OK;
  });
}

int32_t tesseract_jax_prepare(const char *identity, uint64_t identity_length, const char *endpoint,
                              uint64_t endpoint_length, const char *spec, uint64_t spec_length,
                              uint64_t key, char **message) {
  if (message) *message = nullptr;
  return guarded(message, [&] {
    prepare_entry({read(identity, identity_length), read(endpoint, endpoint_length),
                   read(spec, spec_length), key, kHost});
    return TESSERACT_OK;
  });
}

int32_t tesseract_jax_run(uint64_t key, const DLTensor *const *in, int64_t n_in,
                          DLTensor *const *out, int64_t n_out, uint64_t stream, char **message) {
  if (message) *message = nullptr;
  const Arrays arrays = {in, n_in, out, n_out, stream, 0};
  return guarded(message, [&] {
    const DLDevice device = device_of(arrays);
    if (Entry *entry = find_entry(key, device))
      return run_named(entry, entry->name(), arrays, message);
    const Entry *other = find_entry(key, kHost);
    if (!other)
      throw Failure(TESSERACT_ERROR_NOT_FOUND,
                    "tesseract-host: no call was prepared under the key " + std::to_string(key));
    Name name = other->name();
    name.device = device;
    return run_named(nullptr, name, arrays, message);
  });
}

void tesseract_jax_free(char *message) {
  std::free(message);
}

void tesseract_jax_on_difference(void (*warn)(const char *text, uint64_t length)) {
  on_difference(warn);
}

uint64_t tesseract_jax_calls(const char *identity, uint64_t identity_length, const char *endpoint,
                             uint64_t endpoint_length) {
  return calls_of(read(identity, identity_length), read(endpoint, endpoint_length));
}

uint64_t tesseract_jax_running(const char *identity, uint64_t length) {
  return running_of(read(identity, length));
}

uint64_t tesseract_jax_prepared(void) {
  return Prepared::count();
}
