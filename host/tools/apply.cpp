// One call with inputs and outputs as JSON.
#include <cstdio>

#include "commands.h"
#include "leaves.h"

namespace tool {

int apply(const ApplyOptions &options) {
  const std::string document = read_file(options.inputs);
  const tesseract::Component component = open(options.source);
  const tesseract::Result result = component.apply({tesseract::Json{document}});
  std::printf("%s\n", host::dump_json(result_document(result)).c_str());
  return 0;
}

}  // namespace tool
