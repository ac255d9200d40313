// Misbehaves: lets C++ exceptions out of create and, as `kind` says, out of apply.
#include <tesseract_host/plugin.h>

#include <new>
#include <stdexcept>
#include <string_view>

namespace {

constexpr char description[] = R"({"name": "throws",
  "inputs": [{"path": "kind", "dtype": "int64", "shape": []}],
  "outputs": [{"path": "y", "dtype": "float64", "shape": []}]})";

int32_t create(const char *options, uint64_t length, void **, tesseract_frame *) {
  if (std::string_view(options, length).find("create") != std::string_view::npos)
    throw std::runtime_error("thrown by create");
  return TESSERACT_OK;
}

int32_t describe(void *, const char **text, uint64_t *length, tesseract_frame *) {
  *text = description;
  *length = sizeof description - 1;
  return TESSERACT_OK;
}

int32_t apply(void *, void *, tesseract_frame *frame) {
  switch (*static_cast<const int64_t *>(frame->inputs[0]->data)) {
    case 0:
      *static_cast<double *>(frame->outputs[0]->data) = 1.0;
      return TESSERACT_OK;
    case 1:
      throw std::runtime_error("thrown by apply");
    case 2:
      throw 42;
    default:
      throw std::bad_alloc();
  }
}

}  // namespace

extern "C" int32_t tesseract_plugin_v1(const tesseract_host_table *,
                                       const tesseract_plugin_table **table) {
  static const tesseract_plugin_table plugin = [] {
    tesseract_plugin_table made{};
    made.size = sizeof made;
    made.abi = {TESSERACT_ABI_MIN, TESSERACT_ABI_MAX};
    made.create = create;
    made.describe = describe;
    made.apply = apply;
    return made;
  }();
  *table = &plugin;
  return TESSERACT_OK;
}
