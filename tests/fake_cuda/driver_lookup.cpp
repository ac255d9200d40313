// Exported: finding functions by name, as programs do that link nothing.
#include <dlfcn.h>

#include "calls.h"
#include "driver.h"

using namespace fake;

namespace {

// This library, however it was loaded.
void *this_library() {
  static void *const library = [] {
    Dl_info information = {};
    if (!dladdr(reinterpret_cast<void *>(&this_library), &information)) return (void *)nullptr;
    return dlopen(information.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  }();
  return library;
}

// The newest variant, as a version of 12.0 asks for.
void *look_up(const char *name) {
  void *library = this_library();
  if (!library || !name || std::string(name).rfind("cu", 0) != 0) return nullptr;
  if (world().hidden.count(name)) return nullptr;
  for (const char *suffix : {"_v2", ""})
    if (void *found = dlsym(library, (name + std::string(suffix)).c_str())) return found;
  return nullptr;
}

}  // namespace

// What isn't found is no error, but for the older function.
FAKE_CUDA_EXPORT Result cuGetProcAddress_v2(const char *name, void **address, int version,
                                            std::uint64_t flags, int *status) {
  static Function function("cuGetProcAddress_v2");
  return call(function, Need::nothing, [&]() -> Result {
    if (!name || !address || flags > 2) return INVALID_VALUE;
    if (version <= 0 || version > world().options.driver_version) return INVALID_VALUE;
    *address = look_up(name);
    if (status) *status = *address ? 0 : 1;
    return SUCCESS;
  });
}

FAKE_CUDA_EXPORT Result cuGetProcAddress(const char *name, void **address, int version,
                                         std::uint64_t flags) {
  static Function function("cuGetProcAddress");
  return call(function, Need::nothing, [&]() -> Result {
    if (!name || !address || flags > 2) return INVALID_VALUE;
    if (version <= 0 || version > world().options.driver_version) return INVALID_VALUE;
    *address = look_up(name);
    return *address ? SUCCESS : NOT_FOUND;
  });
}
