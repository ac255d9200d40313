#include "world.h"

#include <cctype>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "streams.h"

namespace fake {
namespace {

const char *const option_names[] = {"devices",       "driver_version", "init_result",
                                    "deinitialized", "mode",           "memory",
                                    "host_memory",   "memory_pools",   "abort_on_fault"};

std::string environment_name(const char *option) {
  std::string name = "FAKE_CUDA_";
  for (const char *c = option; *c; c++) name += static_cast<char>(std::toupper(*c));
  return name;
}

}  // namespace

World::World() {
  for (const char *name : option_names)
    if (const char *value = std::getenv(environment_name(name).c_str()))
      *option(options, name) = std::strtoll(value, nullptr, 0);
}

World &world() {
  static World *const only = new World;
  return *only;
}

std::int64_t *option(Options &options, const char *name) {
  std::int64_t *const values[] = {
      &options.devices,       &options.driver_version, &options.init_result,
      &options.deinitialized, &options.mode,           &options.memory,
      &options.host_memory,   &options.memory_pools,   &options.abort_on_fault};
  static_assert(std::size(values) == std::size(option_names));
  for (std::size_t i = 0; i < std::size(values); i++)
    if (std::strcmp(name, option_names[i]) == 0) return values[i];
  return nullptr;
}

void fault(const char *kind, const char *text, ...) {
  char line[512];
  std::va_list arguments;
  va_start(arguments, text);
  std::vsnprintf(line, sizeof line, text, arguments);
  va_end(arguments);
  World &w = world();
  w.faults.push_back(std::string(kind) + ": " + w.function + ": " + line);
  if (!w.options.abort_on_fault) return;
  std::fprintf(stderr, "fake CUDA driver: %s\n", w.faults.back().c_str());
  std::abort();
}

}  // namespace fake
