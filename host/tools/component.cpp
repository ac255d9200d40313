#include "component.h"

#include <cstdio>

namespace tool {

tesseract::Component open(const Source &source) {
  const int32_t least = source.verbose ? TESSERACT_LOG_DEBUG : TESSERACT_LOG_INFO;
  const auto log = [least](int32_t level, std::string_view text) {
    if (level < least) return;
    std::fprintf(stderr, "%.*s%s", static_cast<int>(text.size()), text.data(),
                 text.ends_with('\n') ? "" : "\n");
  };
  return tesseract::Component(source.text,
                              {.json = source.options, .log = log, .listing = source.listing});
}

}  // namespace tool
