#include "table.h"

#include <tesseract_host/ext/reference.h>

#include <map>
#include <mutex>

namespace tesseract::jax {
namespace {

// ---- Components ---------------------------------------------------------------------------------

// Null in a host that is older than this library; components must then stay open until removed.
const tesseract_reference_table *references() {
  static const auto *const table = static_cast<const tesseract_reference_table *>(
      tesseract_host_extension(TESSERACT_REFERENCE_ID, TESSERACT_NTS));
  return table;
}

// A component under its identity, and a reference to it: somebody may close it while another thread
// prepares a call.
class Registration {
 public:
  Registration(tesseract_component *known, std::string known_as)
      : component(known), name(std::move(known_as)) {
    if (references()) references()->hold(component);
  }
  ~Registration() {
    if (references()) references()->drop(component);
  }
  Registration(const Registration &) = delete;
  Registration &operator=(const Registration &) = delete;

  tesseract_component *const component;
  const std::string name;
};
using RegistrationReference = std::shared_ptr<const Registration>;

std::string name_of(tesseract_component *component, std::string_view identity) {
  const char *text = nullptr;
  uint64_t length = 0;
  if (tesseract_component_text(component, TESSERACT_TEXT_NAME, &text, &length, nullptr))
    return std::string(identity);
  return {text, length};
}

// The name at the beginning of "name-hash-hash-ordinal".
std::string_view name_in(std::string_view identity) {
  std::string_view name = identity;
  for (int part = 0; part < 3; part++) {
    const size_t dash = name.rfind('-');
    if (dash == std::string_view::npos || dash == 0) return identity;
    name = name.substr(0, dash);
  }
  return name;
}

[[noreturn]] void unknown(std::string_view identity) {
  throw Failure(TESSERACT_ERROR_NOT_FOUND,
                "tesseract-host: this program calls the Tesseract '" +
                    std::string(name_in(identity)) + "', which is not open in this process (" +
                    std::string(identity) +
                    "): open it with the same options and hand it to apply_tesseract, or to "
                    "tesseract_host.jax.register, before the program runs");
}

// ---- The table ----------------------------------------------------------------------------------

// Open addressing; never more than half full.  Replaced by a larger one, which readers may not see
// yet: `older` keeps it.
struct Slots {
  uint64_t mask;
  std::unique_ptr<std::atomic<Entry *>[]> at;
  std::unique_ptr<Slots> older;
};

// What is written under the lock.  Never destroyed: XLA's threads run until the process ends.
struct Shared {
  std::mutex lock;
  std::map<std::string, RegistrationReference, std::less<>> components;
  std::vector<std::unique_ptr<Entry>> entries;
  std::unique_ptr<Slots> slots;
};

Shared &shared() {
  static Shared &made = *new Shared;
  return made;
}

constinit std::atomic<const Slots *> current{nullptr};

uint64_t hash_of(uint64_t key, DLDevice device) {
  const uint64_t which =
      static_cast<uint64_t>(device.device_type) << 32 | static_cast<uint32_t>(device.device_id);
  return key ^ (which * 0x9E3779B97F4A7C15u);
}

// The first entry of this hash for which `wanted` holds, or null.
template <typename Wanted>
inline Entry *search(uint64_t hash, Wanted wanted) {
  const Slots *slots = current.load(std::memory_order_acquire);
  if (!slots) return nullptr;
  for (uint64_t i = hash & slots->mask;; i = (i + 1) & slots->mask) {
    Entry *entry = slots->at[i].load(std::memory_order_acquire);
    if (!entry || wanted(*entry)) return entry;
  }
}

void put(const Slots &slots, Entry &entry) {
  uint64_t i = hash_of(entry.name().key, entry.name().device) & slots.mask;
  while (slots.at[i].load(std::memory_order_relaxed)) i = (i + 1) & slots.mask;
  slots.at[i].store(&entry, std::memory_order_release);
}

// Under the lock.
void grow(Shared &all) {
  const uint64_t size = all.slots ? 2 * (all.slots->mask + 1) : 64;
  auto larger = std::make_unique<Slots>();
  larger->mask = size - 1;
  larger->at = std::make_unique<std::atomic<Entry *>[]>(size);
  for (const auto &entry : all.entries) put(*larger, *entry);
  larger->older = std::move(all.slots);
  all.slots = std::move(larger);
  current.store(all.slots.get(), std::memory_order_release);
}

// Under the lock.
Entry &entry_named(Shared &all, const Name &name) {
  if (Entry *found = find_entry(name)) return *found;
  if (!all.slots || 2 * (all.entries.size() + 1) > all.slots->mask) grow(all);
  all.entries.push_back(std::make_unique<Entry>(name));
  put(*all.slots, *all.entries.back());
  return *all.entries.back();
}

RegistrationReference component_named(std::string_view identity) {
  Shared &all = shared();
  const std::lock_guard lock(all.lock);
  const auto found = all.components.find(identity);
  if (found == all.components.end()) unknown(identity);
  return found->second;
}

}  // namespace

// ---- Entries ------------------------------------------------------------------------------------

Entry::Entry(const Name &name)
    : identity_(name.identity), endpoint_(name.endpoint), spec_(name.spec), name_(name) {
  name_.identity = identity_;
  name_.endpoint = endpoint_;
  name_.spec = spec_;
}

// What changes entries, under the lock.  What it takes out of them is freed after the lock is
// released, since that may enter the component.
class Calls {
 public:
  using Freed = std::vector<std::unique_ptr<Prepared>>;

  static void empty(Entry &entry, Freed &freed) {
    entry.retired_.reserve(entry.retired_.size() + 1);  // fails while nothing is taken out yet
    std::unique_ptr<Prepared> old(entry.prepared_.exchange(nullptr));
    if (!old) return;
    entry.retired_.push_back(std::move(old));
    entry.retiring_ = true;
    collect(entry, freed);
  }

  static void collect(Entry &entry, Freed &freed) {
    if (entry.runs() > 0) return;
    for (auto &prepared : entry.retired_) freed.push_back(std::move(prepared));
    entry.retired_.clear();
    entry.retiring_ = false;
  }

  // A use of the entry, filled if it is empty.
  static Use fill(Entry &entry, std::unique_ptr<Prepared> &made) {
    if (!entry.prepared_.load()) entry.prepared_ = made.release();
    return Use(entry, false);
  }
};

void Use::reclaim(Entry &entry) {
  Calls::Freed freed;
  const std::lock_guard lock(shared().lock);
  Calls::collect(entry, freed);
}

Entry *find_entry(const Name &name) {
  return search(hash_of(name.key, name.device),
                [&name](const Entry &entry) { return entry.name() == name; });
}

Entry *find_entry(uint64_t key, DLDevice device) {
  Entry *first = nullptr;
  search(hash_of(key, device), [&](Entry &entry) {
    const Name &name = entry.name();
    if (name.key != key || name.device.device_type != device.device_type ||
        name.device.device_id != device.device_id)
      return false;
    if (first)
      throw Failure(TESSERACT_ERROR_INVALID_ARGUMENT,
                    "tesseract-host: two calls were prepared under the key " + std::to_string(key) +
                        ", of '" + std::string(first->name().identity) + "' and '" +
                        std::string(name.identity) + "'");
    first = &entry;
    return false;
  });
  return first;
}

// Nobody waits for another's preparing: it enters the component, which may wait for what they hold.
// Of two that prepare the same, one is too late and frees its own.
Use prepare_entry(const Name &name) {
  if (Entry *entry = find_entry(name)) {
    Use use(*entry, false);
    if (use.prepared()) return use;
  }
  for (;;) {
    const RegistrationReference from = component_named(name.identity);
    auto made = std::make_unique<Prepared>(from->component, from->name, name.endpoint, name.spec,
                                           name.device);
    Shared &all = shared();
    const std::lock_guard lock(all.lock);
    const auto found = all.components.find(name.identity);
    if (found == all.components.end() || found->second != from) continue;
    return Calls::fill(entry_named(all, name), made);
  }
}

void add_component(std::string_view identity, tesseract_component *component) {
  auto made = std::make_shared<const Registration>(component, name_of(component, identity));
  Calls::Freed freed;
  RegistrationReference old;
  Shared &all = shared();
  const std::lock_guard lock(all.lock);
  RegistrationReference &place = all.components[std::string(identity)];
  if (place && place->component == component) return;
  old = std::exchange(place, std::move(made));
  for (const auto &entry : all.entries)
    if (entry->name().identity == identity) Calls::empty(*entry, freed);
}

void remove_component(std::string_view identity) {
  Calls::Freed freed;
  RegistrationReference old;
  Shared &all = shared();
  const std::lock_guard lock(all.lock);
  const auto found = all.components.find(identity);
  if (found == all.components.end()) return;
  old = std::move(found->second);
  all.components.erase(found);
  for (const auto &entry : all.entries)
    if (entry->name().identity == identity) Calls::empty(*entry, freed);
}

uint64_t calls_of(std::string_view identity, std::string_view endpoint) {
  Shared &all = shared();
  const std::lock_guard lock(all.lock);
  uint64_t calls = 0;
  for (const auto &entry : all.entries)
    if (entry->name().identity == identity && entry->name().endpoint == endpoint)
      calls += entry->calls();
  return calls;
}

uint64_t running_of(std::string_view identity) {
  Shared &all = shared();
  const std::lock_guard lock(all.lock);
  uint64_t running = 0;
  for (const auto &entry : all.entries)
    if (entry->name().identity == identity) running += entry->runs();
  return running;
}

}  // namespace tesseract::jax
