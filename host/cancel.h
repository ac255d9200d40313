// Cancel handles: one flag.
#pragma once

#include <tesseract_host/host.h>

#include <atomic>

struct tesseract_cancel {
  std::atomic<bool> requested{false};
  static_assert(std::atomic<bool>::is_always_lock_free, "set in signal handlers");
};
