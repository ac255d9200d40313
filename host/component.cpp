#include "component.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "extensions.h"
#include "floating_point.h"
#include "frame.h"
#include "loaders.h"
#include "one_shot.h"
#include "request.h"
#include "text.h"

namespace host {
namespace {

// All that live, for forks, unloading, and the locks of serial-per-process plugins.
struct Living {
  std::mutex mutex;
  std::vector<tesseract_component *> components;
  std::map<const tesseract_plugin_table *, std::unique_ptr<CallLock>> process_locks;
  int opening = 0;
};

Living &living() {
  static Living *const all = new Living;
  return *all;
}

void before_fork() {
  living().mutex.lock();
}
void after_fork() {
  living().mutex.unlock();
}
void reset_locks_in_child() {
  const uint64_t survivor = this_thread_slot ? this_thread_slot->id : 0;
  for (tesseract_component *component : living().components) {
    component->own_lock.reset_after_fork(survivor);
    if (OwnerThread *owner = component->owner) owner->reset_after_fork();
    // Whoever held these is gone; what they guard is whole but for an entry being added.
    component->cache->reset_after_fork();
    new (&component->text_mutex) std::mutex;
  }
  reset_loaders_after_fork();
  for (auto &[plugin, lock] : living().process_locks) lock->reset_after_fork(survivor);
}

// Counts as opening as long as it lives: nothing is unloaded meanwhile.
class Opening {
 public:
  Opening() {
    const std::lock_guard lock(living().mutex);
    living().opening++;
  }
  ~Opening() {
    const std::lock_guard lock(living().mutex);
    living().opening--;
  }
  Opening(const Opening &) = delete;
  Opening &operator=(const Opening &) = delete;
};

struct OpenRequest {
  std::string source, loader, options;
  bool listing = false;
  bool owner = false;           // on a thread of its own
  bool check_pointers = false;  // of tensors on a device
};

void check_table(const tesseract_plugin_table *plugin, bool listing) {
  if (!plugin || !TESSERACT_HAS(tesseract_plugin_table, plugin, extension))
    throw Failure(TESSERACT_ERROR_VERSION, "the component's table is missing or too short");
  if (plugin->abi.min > TESSERACT_ABI_MAX || plugin->abi.max < TESSERACT_ABI_MIN ||
      plugin->abi.min > plugin->abi.max)
    throw Failure(TESSERACT_ERROR_VERSION, "the component runs at the ABI versions " +
                                               std::to_string(plugin->abi.min) + " to " +
                                               std::to_string(plugin->abi.max) + ", this host at " +
                                               std::to_string(TESSERACT_ABI_MIN) + " to " +
                                               std::to_string(TESSERACT_ABI_MAX));
  if (!plugin->describe) throw Failure(TESSERACT_ERROR_COMPONENT, "the component has no describe");
  if (!plugin->apply && !listing)
    throw Failure(TESSERACT_ERROR_COMPONENT, "the component has no apply");
  if (!plugin->prepare != !plugin->forget)
    throw Failure(TESSERACT_ERROR_COMPONENT, "the component has only one of prepare and forget");
}

void set_lock(tesseract_component &component) {
  switch (component.description.threads) {
    case Threads::owner:
      // By its description: from here on.  By the option: since it was loaded.
      if (!component.owner && !component.listing) component.owner = OwnerThread::start();
      break;
    case Threads::concurrent:
      break;
    case Threads::serial_per_instance:
      component.lock = &component.own_lock;
      break;
    case Threads::serial_per_process: {
      const std::lock_guard guard(living().mutex);
      auto &lock = living().process_locks[component.plugin];
      if (!lock) lock = std::make_unique<CallLock>();
      component.lock = lock.get();
      break;
    }
  }
}

void describe(tesseract_component &component) {
  const tesseract_plugin_table &plugin = *component.plugin;
  LooseFrame frame(component);
  const char *text = nullptr;
  uint64_t length = 0;
  const int32_t status =
      frame.run([&] { return plugin.describe(component.instance, &text, &length, frame.shown()); });
  frame.check(status, "describe");
  DescriptionContext context;
  context.source = component.source;
  context.newer = plugin.abi.max > TESSERACT_ABI_MAX;
  context.patterns = plugin.prepare != nullptr;
  context.owner = component.owner != nullptr;
  context.listing = component.listing;
  if (!text) throw Failure(TESSERACT_ERROR_COMPONENT, "describe gave no text");
  component.description = read_description(offered_text(text, length), context);
}

void load(tesseract_component &component, const OpenRequest &request) {
  const tesseract_loader_table &loader = choose_loader(request.source, request.loader);
  tesseract_source source{};
  source.size = sizeof source;
  source.flags = request.listing ? TESSERACT_SOURCE_LISTING : 0;
  source.text = {request.source.data(), request.source.size()};
  source.options = {request.options.data(), request.options.size()};
  LooseFrame frame(component);
  const tesseract_plugin_table *plugin = nullptr;
  void *instance = nullptr;
  const int32_t status =
      frame.run([&] { return loader.open(&source, &plugin, &instance, frame.shown()); });
  if (status != TESSERACT_OK) frame.check(status, "open");
  component.instance = instance;
  component.plugin = plugin;
  try {
    check_table(plugin, request.listing);
  } catch (...) {
    // A table that can't be trusted is not called again.
    component.plugin = nullptr;
    throw;
  }
}

OpenRequest read_open(std::string_view source, const tesseract_open_options &options,
                      std::string_view loader) {
  OpenRequest request;
  if (source.empty()) throw Failure(TESSERACT_ERROR_INVALID_ARGUMENT, "the source is empty");
  if (source.find('\0') != std::string_view::npos)
    throw Failure(TESSERACT_ERROR_INVALID_ARGUMENT, "the source holds a NUL character");
  request.source = source;
  request.loader = loader;
  request.listing = options.flags & TESSERACT_OPEN_LISTING;
  Json json = parse_json_object(read_text(options.json, "the options"), "the options",
                                TESSERACT_ERROR_INVALID_ARGUMENT);
  if (const auto named = json.find("loader"); named != json.end()) {
    if (!named->is_string())
      throw Failure(TESSERACT_ERROR_INVALID_ARGUMENT, "the option \"loader\" must be a name");
    if (loader.empty()) request.loader = named->get<std::string>();
    json.erase(named);
  }
  if (const auto check = json.find("check_pointers"); check != json.end()) {
    if (!check->is_boolean())
      throw Failure(TESSERACT_ERROR_INVALID_ARGUMENT,
                    "the option \"check_pointers\" must be true or false");
    request.check_pointers = check->get<bool>();
    json.erase(check);
  }
  // The other values are loaders' and components'.
  if (const auto threads = json.find("threads"); threads != json.end() && *threads == "owner") {
    request.owner = !request.listing;
    json.erase(threads);
  }
  request.options = dump_json(json);
  return request;
}

// Fills a component in; throws Failure.
void open(tesseract_component &made, std::string_view source, const tesseract_open_options &options,
          std::string_view loader) {
  const RunningCall running;
  const Opening opening;
  const OpenRequest request = read_open(source, options, loader);
  made.source = request.source;
  made.listing = request.listing;
  made.check_pointers = request.check_pointers;
  if (request.owner) made.owner = OwnerThread::start();
  made.run([&] {
    load(made, request);
    describe(made);
  });
  set_lock(made);
}

// From options that may prove wrong otherwise.
void take_log(tesseract_component &made, const tesseract_open_options *options) {
  if (!options || !TESSERACT_HAS(tesseract_open_options, options, log_free)) return;
  made.log.function = options->log;
  made.log.data = options->log_data;
  made.log.free = options->log_free;
}

int32_t open_component(const char *text, uint64_t length, const tesseract_open_options *options,
                       std::string_view loader, tesseract_component **component,
                       tesseract_error **error) {
  Place place;
  // Owns the log from the start: its free function is called however opening ends.
  std::unique_ptr<tesseract_component> made;
  return guarded(fresh(error) ? error : nullptr, place, [&] {
    install_fork_handlers({before_fork, after_fork, reset_locks_in_child});
    const DefaultFloatingPoint environment(true);
    made = std::make_unique<tesseract_component>();
    take_log(*made, options);
    const tesseract_open_options asked =
        read_optional(options, TESSERACT_OPEN_LISTING, "the options");
    if (!fresh(error))
      throw Failure(TESSERACT_ERROR_INVALID_ARGUMENT, "*error must be null before the call");
    require(component, "component");
    require(text, "source");
    place.component = read_text(text, length, "source");
    open(*made, place.component, asked, loader);
    *component = made.release();
    return TESSERACT_OK;
  });
}

}  // namespace

void ComponentReference::release(tesseract_component *component) {
  if (component->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete component;
}

void require_open(const tesseract_component &component) {
  if (component.closed.load(std::memory_order_acquire))
    throw Failure(TESSERACT_ERROR_UNAVAILABLE, "the component is closed");
  if (component.listing)
    throw Failure(TESSERACT_ERROR_UNAVAILABLE,
                  "the component is only listed: open it without TESSERACT_OPEN_LISTING");
}

const char *endpoint_name(int32_t endpoint) {
  switch (endpoint) {
    case TESSERACT_ENDPOINT_APPLY:
      return "apply";
    case TESSERACT_ENDPOINT_JVP:
      return "jvp";
    case TESSERACT_ENDPOINT_VJP:
      return "vjp";
    case TESSERACT_ENDPOINT_JACOBIAN:
      return "jacobian";
    case TESSERACT_ENDPOINT_ABSTRACT_EVAL:
      return "abstract_eval";
    default:
      return "";
  }
}

void lose_this_thread() {
  if (OwnerThread::lose_this_thread() || !this_thread_slot) return;
  ThreadSlot &slot = *this_thread_slot;
  Living &all = living();
  {
    const std::lock_guard guard(all.mutex);
    for (tesseract_component *component : all.components) component->own_lock.abandon(slot.id);
    for (auto &[plugin, lock] : all.process_locks) lock->abandon(slot.id);
  }
  slot.depth.store(0, std::memory_order_release);
}

int32_t plugin_in_use(const tesseract_plugin_table *plugin) {
  // Called by a loader inside while_nothing_opens, which holds the lock.
  const auto &components = living().components;
  return std::any_of(components.begin(), components.end(),
                     [&](const auto *component) { return component->plugin == plugin; });
}

void while_nothing_opens(const std::function<void()> &unload) {
  Living &all = living();
  const std::lock_guard lock(all.mutex);
  if (all.opening)
    throw Failure(TESSERACT_ERROR_UNAVAILABLE, "a component is being opened: try again");
  unload();
  // A library mapped later may put another table at the same address.
  std::erase_if(all.process_locks, [](const auto &entry) { return !plugin_in_use(entry.first); });
}

}  // namespace host

void tesseract_log::write(int32_t level, std::string_view text) const {
  if (!function) return;
  const std::string clean = host::sanitized(text);
  function(data, level, clean.c_str(), clean.size());
}

tesseract_component::tesseract_component() : cache(std::make_unique<host::SignatureCache>()) {
  host::Living &all = host::living();
  const std::lock_guard guard(all.mutex);
  all.components.push_back(this);
}

tesseract_component::~tesseract_component() {
  if (plugin && plugin->destroy)
    host::quietly([this] { run([this] { plugin->destroy(instance); }); });
  if (host::OwnerThread *thread = owner.exchange(nullptr)) host::OwnerThread::end(thread);
  host::Living &all = host::living();
  const std::lock_guard guard(all.mutex);
  std::erase(all.components, this);
}

void tesseract_component::count_copy(int32_t reason, uint64_t bytes) {
  if (reason < TESSERACT_COPY_LAYOUT || reason > TESSERACT_COPY_OWNED) return;
  Copies &counter = copies[static_cast<size_t>(reason - 1)];
  counter.count.fetch_add(1, std::memory_order_relaxed);
  counter.bytes.fetch_add(bytes, std::memory_order_relaxed);
}

bool tesseract_component::is_on_own_thread() const {
  const host::OwnerThread *thread = owner;
  return thread && thread->is_this_thread();
}

bool tesseract_component::has_prepare() const {
  return plugin && plugin->prepare;
}

tesseract_endpoint tesseract_component::offered(int32_t endpoint) const {
  switch (endpoint) {
    case TESSERACT_ENDPOINT_APPLY:
      return plugin->apply;
    case TESSERACT_ENDPOINT_JVP:
      return plugin->jvp;
    case TESSERACT_ENDPOINT_VJP:
      return plugin->vjp;
    case TESSERACT_ENDPOINT_JACOBIAN:
      return plugin->jacobian;
    case TESSERACT_ENDPOINT_ABSTRACT_EVAL:
      return plugin->abstract_eval;
    default:
      return nullptr;
  }
}

host::Place tesseract_component::place(int32_t endpoint) const {
  return {description.name, source, host::endpoint_name(endpoint)};
}

int32_t tesseract_open(const char *source, uint64_t length, const tesseract_open_options *options,
                       tesseract_component **component, tesseract_error **error) {
  return host::open_component(source, length, options, {}, component, error);
}

int32_t tesseract_from_tesseract_api(const char *path, uint64_t length,
                                     const tesseract_open_options *options,
                                     tesseract_component **component, tesseract_error **error) {
  return host::open_component(path, length, options, "python", component, error);
}

void tesseract_close(tesseract_component *component) {
  if (!component) return;
  component->closed.store(true, std::memory_order_release);
  component->cache->clear();
  host::ComponentReference::release(component);
}

int32_t tesseract_component_text(tesseract_component *component, int32_t which, const char **text,
                                 uint64_t *length, tesseract_error **error) {
  return host::guarded(error, component ? component->place() : host::Place{}, [&] {
    host::require(component, "component");
    host::require(text, "text");
    const std::lock_guard lock(component->text_mutex);
    switch (which) {
      case TESSERACT_TEXT_NAME:
        *text = host::give_text(component->description.name, length);
        return TESSERACT_OK;
      case TESSERACT_TEXT_DESCRIPTION:
        if (component->description_text.empty())
          component->description_text = host::description_text(*component);
        *text = host::give_text(component->description_text, length);
        return TESSERACT_OK;
      case TESSERACT_TEXT_OPENAPI:
        if (component->openapi_text.empty())
          component->openapi_text = host::openapi_text(*component);
        *text = host::give_text(component->openapi_text, length);
        return TESSERACT_OK;
      default:
        throw host::Failure(TESSERACT_ERROR_INVALID_ARGUMENT,
                            "there is no text " + std::to_string(which));
    }
  });
}

int32_t tesseract_component_statistics(const tesseract_component *component,
                                       tesseract_statistics *statistics) {
  if (!component || !statistics || statistics->size < 2 * sizeof(uint32_t))
    return TESSERACT_ERROR_INVALID_ARGUMENT;
  tesseract_statistics counts = TESSERACT_STATISTICS_INIT;
  for (const host::CallCount &count : component->calls)
    counts.calls += count.value.load(std::memory_order_relaxed);
  counts.prepared = component->prepared.load(std::memory_order_relaxed);
  uint64_t *const pairs[] = {&counts.layout_copies, &counts.dtype_copies, &counts.device_copies,
                             &counts.owned_copies};
  for (size_t i = 0; i < component->copies.size(); i++) {
    pairs[i][0] = component->copies[i].count.load(std::memory_order_relaxed);
    pairs[i][1] = component->copies[i].bytes.load(std::memory_order_relaxed);
  }
  counts.size = statistics->size;
  std::memcpy(statistics, &counts, std::min<size_t>(statistics->size, sizeof counts));
  return TESSERACT_OK;
}
