// Reading structs that ask for something: sizes, flags, and bytes of a newer version.
#pragma once

#include <tesseract_host/types.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "error.h"

namespace host {

// A copy of the struct behind `given`, members beyond its size zero.  Throws Failure (version) for
// flags or non-zero bytes that this library does not know, (invalid argument) for an impossible
// size.
template <typename Struct>
Struct read_request(const Struct *given, uint32_t known_flags, const char *name) {
  constexpr uint32_t smallest = 2 * sizeof(uint32_t), largest = 1u << 16;
  uint32_t size = 0;
  std::memcpy(&size, given, sizeof size);
  if (size < smallest || size > largest)
    throw Failure(TESSERACT_ERROR_INVALID_ARGUMENT, std::string(name) + " has the size " +
                                                        std::to_string(size) +
                                                        ": initialise it with its _INIT macro");
  Struct copy{};
  std::memcpy(&copy, given, std::min<size_t>(size, sizeof copy));
  const char *bytes = reinterpret_cast<const char *>(given);
  for (size_t i = sizeof copy; i < size; i++)
    if (bytes[i] != 0)
      throw Failure(TESSERACT_ERROR_VERSION,
                    std::string(name) + " asks for something that this library is too old for");
  if (copy.flags & ~known_flags)
    throw Failure(TESSERACT_ERROR_VERSION,
                  std::string(name) + " has flags that this library does not know");
  return copy;
}

// The same where the caller may pass null: all defaults.
template <typename Struct>
Struct read_optional(const Struct *given, uint32_t known_flags, const char *name) {
  if (!given) {
    Struct defaults{};
    defaults.size = sizeof defaults;
    return defaults;
  }
  return read_request(given, known_flags, name);
}

}  // namespace host
