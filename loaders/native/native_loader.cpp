#include "native_loader.h"

#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr const char *entry_name = "tesseract_plugin_v1";
using Entry = decltype(&tesseract_plugin_v1);

int32_t fail(tesseract_frame *frame, int32_t status, const std::string &text) {
  return frame->host->error_set(frame, status, nullptr, 0, text.data(), text.size());
}

// ---- Sources: a shared library, or a folder that holds one

bool is_file(const std::string &path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool is_folder(const std::string &path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool is_library_name(std::string_view name) {
  return name.ends_with(".so") || name.ends_with(".dylib") ||
         name.find(".so.") != std::string_view::npos;
}

// A file that is read.  stdio, since streams would bring the C++ library's locales with them.
class File {
 public:
  explicit File(const std::string &path) : file_(std::fopen(path.c_str(), "rbe")) {}
  ~File() {
    if (file_) std::fclose(file_);
  }
  File(const File &) = delete;
  File &operator=(const File &) = delete;

  explicit operator bool() const { return file_; }

  uint64_t size() {
    struct stat status;
    return file_ && fstat(fileno(file_), &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
  }

  bool read(uint64_t offset, void *to, size_t size) {
    return file_ && fseeko(file_, static_cast<off_t>(offset), SEEK_SET) == 0 &&
           std::fread(to, 1, size, file_) == size;
  }

 private:
  std::FILE *file_;
};

bool begins_as_elf(const std::string &path) {
  char magic[4] = {};
  return File(path).read(0, magic, sizeof magic) &&
         std::memcmp(magic, "\177ELF", sizeof magic) == 0;
}

// True for an ELF file whose segments reach past its end: mapping those would kill the process.
bool is_cut_off(const std::string &path) {
  File file(path);
  const uint64_t size = file.size();
  ElfW(Ehdr) header;
  // What is no ELF file dlopen explains.
  if (!begins_as_elf(path) || !file.read(0, &header, sizeof header)) return false;
  for (unsigned i = 0; i < header.e_phnum; i++) {
    ElfW(Phdr) segment;
    const uint64_t at = header.e_phoff + uint64_t{i} * header.e_phentsize;
    if (at > size || size - at < sizeof segment) return true;
    if (!file.read(at, &segment, sizeof segment)) return true;
    if (segment.p_type == PT_LOAD &&
        (segment.p_offset > size || size - segment.p_offset < segment.p_filesz))
      return true;
  }
  return false;
}

// The libraries that lie in a folder, links left out.
std::vector<std::string> libraries_in(const std::string &folder) {
  std::vector<std::string> found;
  DIR *dir = opendir(folder.c_str());
  if (!dir) return found;
  while (const dirent *entry = readdir(dir))
    if (std::string_view(entry->d_name).ends_with(".so"))
      found.push_back(folder + "/" + entry->d_name);
  closedir(dir);
  std::sort(found.begin(), found.end());
  return found;
}

bool is_python_folder(const std::string &folder) {
  return is_file(folder + "/tesseract_api.py");
}

int32_t accepts(const char *text, uint64_t length) {
  const std::string source(text, length);
  if (is_folder(source)) return !is_python_folder(source) && !libraries_in(source).empty();
  const size_t slash = source.rfind('/');
  const std::string name = slash == std::string::npos ? source : source.substr(slash + 1);
  if (!is_file(source)) return 0;
  return is_library_name(name) || begins_as_elf(source);
}

// The library file of a source; empty, with the frame's error set, where there is none.
std::string library_of(const std::string &source, tesseract_frame *frame) {
  std::string file = source;
  if (is_folder(source)) {
    const std::vector<std::string> found = libraries_in(source);
    if (found.size() != 1) {
      fail(frame, TESSERACT_ERROR_NOT_FOUND,
           "the folder holds " + std::to_string(found.size()) +
               " shared libraries: name the one to open");
      return {};
    }
    file = found.front();
  }
  char resolved[PATH_MAX];
  if (!is_file(file) || !realpath(file.c_str(), resolved)) {
    fail(frame, TESSERACT_ERROR_NOT_FOUND, "there is no such file");
    return {};
  }
  return resolved;
}

// ---- Libraries: mapped once, never unmapped unless asked

struct Library {
  void *handle = nullptr;
  const tesseract_plugin_table *plugin = nullptr;
};

struct Libraries {
  std::mutex mutex;
  std::map<std::string, Library> by_file;
};

Libraries &libraries() {
  static Libraries *const all = new Libraries;
  return *all;
}

std::string range_text(const tesseract_range &range) {
  return std::to_string(range.min) + " to " + std::to_string(range.max);
}

// The plugin of a library that was just mapped.
int32_t read_plugin(void *handle, const std::string &file, const tesseract_plugin_table **plugin,
                    tesseract_frame *frame) {
  const auto entry = reinterpret_cast<Entry>(dlsym(handle, entry_name));
  if (!entry)
    return fail(frame, TESSERACT_ERROR_COMPONENT,
                file + " exports no " + entry_name + ": it is no component of this ABI");
  const int32_t status = entry(frame->host, plugin);
  if (status != TESSERACT_OK)
    return fail(frame, TESSERACT_ERROR_COMPONENT,
                file + ": " + entry_name + " returned the status " + std::to_string(status));
  const tesseract_plugin_table *const table = *plugin;
  const char *const hint = "; set its .size and .abi first";
  if (!table)
    return fail(frame, TESSERACT_ERROR_COMPONENT,
                file + ": " + entry_name + " handed out no table");
  if (table->size < offsetof(tesseract_plugin_table, create))
    return fail(frame, TESSERACT_ERROR_VERSION, file + ": its table is too short" + hint);
  const tesseract_range &host = frame->host->abi, &own = table->abi;
  if (own.min > own.max || own.min > host.max || own.max < host.min)
    return fail(frame, TESSERACT_ERROR_VERSION,
                file + " runs at the ABI versions " + range_text(own) + ", this host at " +
                    range_text(host) + (own.max == 0 ? hint : ""));
  if (!TESSERACT_HAS(tesseract_plugin_table, table, extension))
    return fail(frame, TESSERACT_ERROR_VERSION, file + ": its table is too short" + hint);
  return TESSERACT_OK;
}

int32_t map_library(const std::string &file, const tesseract_plugin_table **plugin,
                    tesseract_frame *frame) {
  Libraries &all = libraries();
  const std::lock_guard lock(all.mutex);
  const auto known = all.by_file.find(file);
  if (known != all.by_file.end()) {
    *plugin = known->second.plugin;
    return TESSERACT_OK;
  }
  if (is_cut_off(file))
    return fail(frame, TESSERACT_ERROR_COMPONENT, file + " is cut off: its end is missing");
  void *handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *why = dlerror();
    return fail(frame, TESSERACT_ERROR_COMPONENT, why ? why : file + ": it can't be opened");
  }
  // Where this fails the library stays mapped: its code ran, and what it started can't be known.
  if (const int32_t status = read_plugin(handle, file, plugin, frame)) return status;
  all.by_file[file] = {handle, *plugin};
  return TESSERACT_OK;
}

// ---- Listing: the description file beside the library, no code run

struct Listing {
  std::string text;
};

void destroy_listing(void *instance) {
  delete static_cast<Listing *>(instance);
}

int32_t describe_listing(void *instance, const char **text, uint64_t *length, tesseract_frame *) {
  const auto *listing = static_cast<const Listing *>(instance);
  *text = listing->text.data();
  *length = listing->text.size();
  return TESSERACT_OK;
}

// Never run: it stands for prepare, so that patterns in the description are accepted.
int32_t prepare_listing(void *, const tesseract_signature *, void **, tesseract_frame *) {
  return TESSERACT_ERROR_UNAVAILABLE;
}
void forget_listing(void *, void *) {}

constexpr tesseract_plugin_table make_listing_table() {
  tesseract_plugin_table table{};
  table.size = sizeof table;
  table.abi = {TESSERACT_ABI_MIN, TESSERACT_ABI_MAX};
  table.destroy = destroy_listing;
  table.describe = describe_listing;
  table.prepare = prepare_listing;
  table.forget = forget_listing;
  return table;
}
constexpr tesseract_plugin_table listing_table = make_listing_table();

int32_t open_listing(const std::string &file, const tesseract_plugin_table **plugin,
                     void **instance, tesseract_frame *frame) {
  const std::string beside = file + ".json";
  File stream(beside);
  if (!stream)
    return fail(frame, TESSERACT_ERROR_NOT_FOUND,
                "there is no description file " + beside +
                    ": without it listing would have to run the component's code");
  auto listing = std::make_unique<Listing>();
  listing->text.resize(stream.size());
  if (!stream.read(0, listing->text.data(), listing->text.size()))
    return fail(frame, TESSERACT_ERROR_NOT_FOUND, beside + " can't be read");
  *plugin = &listing_table;
  *instance = listing.release();
  return TESSERACT_OK;
}

// ---- The loader

int32_t create_instance(const tesseract_plugin_table *plugin, const tesseract_source *source,
                        void **instance, tesseract_frame *frame) {
  *instance = nullptr;
  if (plugin->create)
    return plugin->create(source->options.data, source->options.length, instance, frame);
  if (std::string_view(source->options.data, source->options.length) == "{}") return TESSERACT_OK;
  return fail(frame, TESSERACT_ERROR_INVALID_ARGUMENT, "this component takes no options");
}

int32_t open_source(const tesseract_source *source, const tesseract_plugin_table **plugin,
                    void **instance, tesseract_frame *frame) {
  const std::string file = library_of(std::string(source->text.data, source->text.length), frame);
  if (file.empty()) return TESSERACT_ERROR_NOT_FOUND;
  if (source->flags & TESSERACT_SOURCE_LISTING) return open_listing(file, plugin, instance, frame);
  const tesseract_plugin_table *mapped = nullptr;
  if (const int32_t status = map_library(file, &mapped, frame)) return status;
  if (const int32_t status = create_instance(mapped, source, instance, frame)) return status;
  *plugin = mapped;
  return TESSERACT_OK;
}

int32_t unload(const tesseract_source *source,
               int32_t (*in_use)(const tesseract_plugin_table *plugin), tesseract_frame *frame) {
  const std::string file = library_of(std::string(source->text.data, source->text.length), frame);
  if (file.empty()) return TESSERACT_ERROR_NOT_FOUND;
  Libraries &all = libraries();
  const std::lock_guard lock(all.mutex);
  const auto known = all.by_file.find(file);
  if (known == all.by_file.end())
    return fail(frame, TESSERACT_ERROR_NOT_FOUND, file + " is not loaded");
  if (in_use(known->second.plugin))
    return fail(frame, TESSERACT_ERROR_UNAVAILABLE,
                file + " is in use: close its components, calls and results first");
  dlclose(known->second.handle);
  all.by_file.erase(known);
  return TESSERACT_OK;
}

}  // namespace

const tesseract_loader_table &native_loader_table() {
  static const tesseract_loader_table table = {
      sizeof(tesseract_loader_table),
      0,
      "native",
      accepts,
      open_source,
      nullptr,
      nullptr,
      nullptr,
      unload,
  };
  return table;
}
