#include "loaders.h"

#include <dirent.h>
#include <dlfcn.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "error.h"
#include "frame.h"
#include "host-config.h"
#include "text.h"

#if HOST_LOADER_NATIVE
#include "../loaders/native/native_loader.h"
#endif

namespace host {
namespace {

constexpr std::string_view prefix = "tesseract_loader_", suffix = ".so";

struct Loaders {
  std::mutex mutex;
  LoaderList list;
  bool searched = false;
  std::vector<std::string> notes;  // where was looked, and what could not be used

  Loaders() {
#if HOST_LOADER_NATIVE
    list.add(&native_loader_table());
#endif
  }
};

Loaders &loaders() {
  static Loaders *const all = new Loaders;
  return *all;
}

std::string own_folder() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<const void *>(&known_loaders), &info) || !info.dli_fname) return {};
  const std::string file = info.dli_fname;
  const size_t slash = file.rfind('/');
  return slash == std::string::npos ? "." : file.substr(0, slash);
}

std::vector<std::string> search_folders() {
  std::vector<std::string> folders;
  if (const char *path = std::getenv("TESSERACT_HOST_LOADER_PATH")) {
    std::string_view rest = path;
    while (!rest.empty()) {
      const size_t colon = rest.find(':');
      if (colon != 0) folders.emplace_back(rest.substr(0, colon));
      rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
    }
  }
  const std::string own = own_folder();
  if (!own.empty()) folders.push_back(own + "/tesseract_host");
  return folders;
}

std::vector<std::string> loader_files(const std::string &folder) {
  std::vector<std::string> files;
  DIR *dir = opendir(folder.c_str());
  if (!dir) return files;
  while (const dirent *entry = readdir(dir)) {
    const std::string_view name = entry->d_name;
    if (name.starts_with(prefix) && name.ends_with(suffix))
      files.push_back(folder + "/" + entry->d_name);
  }
  closedir(dir);
  std::sort(files.begin(), files.end());
  return files;
}

// The loader table of a library, or null and a note saying why there is none.
const tesseract_loader_table *read_loader(const std::string &file, std::string *note) {
  void *library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *why = dlerror();
    *note = file + ": " + (why ? why : "it can't be opened");
    return nullptr;
  }
  using Entry = decltype(&tesseract_plugin_v1);
  const auto entry = reinterpret_cast<Entry>(dlsym(library, "tesseract_plugin_v1"));
  const tesseract_plugin_table *plugin = nullptr;
  if (!entry || entry(&host_table, &plugin) != TESSERACT_OK || !plugin ||
      plugin->abi.min > TESSERACT_ABI_MAX || plugin->abi.max < TESSERACT_ABI_MIN ||
      !TESSERACT_HAS(tesseract_plugin_table, plugin, extension) || !plugin->extension) {
    *note = file + ": it is no loader of this ABI";
    return nullptr;
  }
  const auto *table = static_cast<const tesseract_loader_table *>(
      plugin->extension(nullptr, TESSERACT_LOADER_ID, sizeof TESSERACT_LOADER_ID - 1));
  if (!table || !TESSERACT_HAS(tesseract_loader_table, table, unload) || !table->name ||
      !table->accepts || !table->open) {
    *note = file + ": its loader table is incomplete";
    return nullptr;
  }
  return table;
}

const tesseract_loader_table *find_named(const LoaderList &list, std::string_view name) {
  for (int i = 0; i < list.count(); i++)
    if (list.at(i)->name == name) return list.at(i);
  return nullptr;
}

// Loads what lies in the search folders; the first loader of a name counts.
void search(Loaders &all) {
  if (std::exchange(all.searched, true)) return;
  for (const std::string &folder : search_folders()) {
    const std::vector<std::string> files = loader_files(folder);
    all.notes.push_back(folder + (files.empty() ? " holds none" : " holds some"));
    for (const std::string &file : files) {
      std::string note;
      const tesseract_loader_table *table = read_loader(file, &note);
      if (!table)
        all.notes.push_back(note);
      else if (!find_named(all.list, table->name) && !all.list.full())
        all.list.add(table);
    }
  }
}

const tesseract_loader_table *find(const LoaderList &list, std::string_view source,
                                   std::string_view name) {
  if (!name.empty()) return find_named(list, name);
  for (int i = 0; i < list.count(); i++)
    if (list.at(i)->accepts(source.data(), source.size())) return list.at(i);
  return nullptr;
}

[[noreturn]] void not_found(const Loaders &all, std::string_view source, std::string_view name) {
  struct stat status;
  const std::string path(source);
  if (name.empty() && stat(path.c_str(), &status) != 0)
    throw Failure(TESSERACT_ERROR_NOT_FOUND, "there is no file or folder " + quote(source));
  std::string text =
      name.empty() ? "no loader opens this source" : "there is no loader " + quote(name);
  text += "; known are:";
  for (int i = 0; i < all.list.count(); i++) text += std::string(" ") + all.list.at(i)->name;
  for (const std::string &note : all.notes) text += "; " + note;
  if (name.empty())
    text +=
        "; a source is a shared library, a tesseract_api.py, or a folder that holds one of them";
  throw Failure(TESSERACT_ERROR_NOT_FOUND, text);
}

}  // namespace

void reset_loaders_after_fork() {
  new (&loaders().mutex) std::mutex;
}

const LoaderList &known_loaders() {
  return loaders().list;
}

const tesseract_loader_table &choose_loader(std::string_view source, std::string_view name) {
  Loaders &all = loaders();
  const std::lock_guard lock(all.mutex);
  const tesseract_loader_table *table = find(all.list, source, name);
  if (!table) {
    search(all);
    table = find(all.list, source, name);
  }
  if (!table) not_found(all, source, name);
  return *table;
}

}  // namespace host
