// The plugin that opens Python sources.  It holds nothing of Python: it finds an interpreter, loads
// it and the loader built for it, and hands sources on.
#include <tesseract_host/loader.h>

#include <exception>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "../../python/ending/barrier.h"
#include "failure.h"
#include "paths.h"
#include "start.h"

namespace tesseract::python {
namespace {

constexpr const char *kModule = "/tesseract_api.py";

std::string text_of(const char *data, uint64_t length) {
  if (!data) return "";
  return length == TESSERACT_NTS ? std::string(data) : std::string(data, length);
}

// The module's file: the source itself, or the one in the folder.  Throws Failure.
std::string module_file(const std::string &source) {
  if (source.find('\0') != std::string::npos) {
    throw Failure{TESSERACT_ERROR_INVALID_ARGUMENT, "the path holds a NUL character"};
  }
  if (is_file(source)) return source;
  if (!is_folder(source)) throw Failure{TESSERACT_ERROR_NOT_FOUND, "no such file: " + source};
  if (is_file(source + kModule)) return source + kModule;
  throw Failure{TESSERACT_ERROR_NOT_FOUND, "the folder " + source + " holds no tesseract_api.py"};
}

// What of the options is not the loader's alone.
struct Options {
  std::string python;  // "" without
  bool live = false;   // the source is a component of the running interpreter, and no file
};

// Throws Failure.
Options read_options(const tesseract_string &options) {
  using Json = nlohmann::json;
  const std::string text = text_of(options.data, options.length);
  if (text.empty()) return {};
  const Json object = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) {
    throw Failure{TESSERACT_ERROR_INVALID_ARGUMENT, "the options are not a JSON object: " + text};
  }
  const bool live = object.contains("live");
  const auto found = object.find("python");
  if (found == object.end()) return {"", live};
  std::string value = found->is_string() ? found->get<std::string>() : "";
  if (value.empty() || value.find('\0') != std::string::npos) {
    throw Failure{TESSERACT_ERROR_INVALID_ARGUMENT,
                  "the option \"python\" must be a text: an interpreter's path or name, or an "
                  "environment's folder"};
  }
  return {value, live};
}

// Runs a function where the C line is: no exception crosses.
template <typename Function>
int32_t guarded(tesseract_frame *frame, Function function) {
  try {
    return function();
  } catch (const Failure &failure) {
    return report(frame, failure);
  } catch (const std::bad_alloc &) {
    return report(frame, {TESSERACT_ERROR_OUT_OF_MEMORY, "out of memory"});
  } catch (const std::exception &error) {
    return report(frame, {TESSERACT_ERROR_INTERNAL, error.what()});
  }
}

int32_t accepts(const char *source, uint64_t length) {
  try {
    const std::string path = text_of(source, length);
    if (path.find('\0') != std::string::npos) return 0;
    return (path.ends_with(".py") && is_file(path)) || is_file(path + kModule);
  } catch (const std::exception &) {
    return 0;
  }
}

int32_t open(const tesseract_source *source, const tesseract_plugin_table **plugin, void **instance,
             tesseract_frame *frame) {
  return guarded(frame, [&]() -> int32_t {
    if (source->flags & TESSERACT_SOURCE_LISTING) {
      throw Failure{TESSERACT_ERROR_UNSUPPORTED,
                    "a Python module can't be listed without running it: open it"};
    }
    const Options options = read_options(source->options);
    const std::string text = text_of(source->text.data, source->text.length);
    const std::string file = options.live ? text : module_file(text);
    int32_t status = TESSERACT_OK;
    const PythonRuntime *runtime = started_runtime(options.python, frame, &status);
    if (!runtime) return status;
    tesseract_source module = *source;
    module.size = sizeof module;
    module.text = {file.data(), file.size()};
    return runtime->open(&module, plugin, instance, frame);
  });
}

void *before_wait() {
  return give_up_gil(process_library());
}

void after_wait(void *state) {
  take_gil(process_library(), state);
}

int32_t shutdown(double seconds, tesseract_frame *frame) {
  const PythonRuntime *runtime = running_runtime();
  return runtime ? runtime->shutdown(seconds, frame) : TESSERACT_OK;
}

const tesseract_loader_table loader = {sizeof(tesseract_loader_table),
                                       0,
                                       "python",
                                       accepts,
                                       open,
                                       before_wait,
                                       after_wait,
                                       shutdown,
                                       nullptr};

const void *extension(void *, const char *id, uint64_t length) {
  const bool known = length == TESSERACT_NTS ? std::string_view(id) == TESSERACT_LOADER_ID
                                             : std::string_view(id, length) == TESSERACT_LOADER_ID;
  return known ? &loader : nullptr;
}

tesseract_plugin_table make_table() {
  tesseract_plugin_table table{};
  table.size = sizeof table;
  table.abi = {TESSERACT_ABI_MIN, TESSERACT_ABI_MAX};
  table.extension = extension;
  return table;
}

}  // namespace
}  // namespace tesseract::python

extern "C" TESSERACT_EXPORT int32_t tesseract_plugin_v1(const tesseract_host_table *host,
                                                        const tesseract_plugin_table **plugin) {
  tesseract::python::find_lose_thread(*host);
  static const tesseract_plugin_table table = tesseract::python::make_table();
  *plugin = &table;
  return TESSERACT_OK;
}
