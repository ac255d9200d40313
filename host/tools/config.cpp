// Where the installed library is, told relative to this executable.
#include <climits>
#include <cstdio>
#include <filesystem>
#include <stdexcept>

#include "commands.h"

// The build defines the installed folders relative to the executable's own:
// TOOL_PREFIX, TOOL_LIBDIR, TOOL_INCLUDEDIR.

namespace tool {
namespace {

namespace fs = std::filesystem;

struct Layout {
  fs::path prefix, lib, include;
};

Layout installed_layout() {
  std::error_code failed;
  const fs::path executable = fs::read_symlink("/proc/self/exe", failed);
  if (failed) throw std::runtime_error("/proc/self/exe can't be read: " + failed.message());
  const fs::path folder = executable.parent_path();
  const auto at = [&](const char *relative) {
    fs::path path = (folder / relative).lexically_normal();
    return path.has_filename() ? path : path.parent_path();
  };
  Layout layout{at(TOOL_PREFIX), at(TOOL_LIBDIR), at(TOOL_INCLUDEDIR)};
  const fs::path header = layout.include / "tesseract_host" / "host.h";
  if (!fs::exists(header, failed))
    throw std::runtime_error(executable.string() + " is not installed: there is no " +
                             header.string() +
                             "; run 'meson install' and use the installed command");
  return layout;
}

// As a word of the shell.
std::string quoted(const std::string &text) {
  const bool plain = text.find_first_not_of(
                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                         "0123456789_-+=./,:@") == std::string::npos;
  if (plain) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

}  // namespace

int config(const ConfigOptions &options) {
  const Layout layout = installed_layout();
  const std::string lib = layout.lib.string();
  std::string flags;
  if (options.cflags) flags += " " + quoted("-I" + layout.include.string());
  if (options.libs)
    flags += " " + quoted("-L" + lib) + " " + quoted("-Wl,-rpath," + lib) + " -ltesseract_host";
  if (!flags.empty()) std::printf("%s\n", flags.c_str() + 1);
  if (options.cmakedir) std::printf("%s\n", (layout.lib / "cmake/tesseract-host").c_str());
  if (options.pkgconfigdir) std::printf("%s\n", (layout.lib / "pkgconfig").c_str());
  if (options.prefix) std::printf("%s\n", layout.prefix.c_str());
  if (options.version) std::printf("%s\n", tesseract_host_version());
  return 0;
}

}  // namespace tool
