// The unknowns, as one vector: the background; the amplitudes of all inclusions; x, y of each;
// their widths.  A CSV file gives them in this order:
//
//   # name,truth,guess,scale
//   background,1,1.5,1
//   amplitude 1,-0.8,-0.1,1
//   …
#pragma once

#include <filesystem>
#include <string>
#include <vector>

struct Unknowns {
  std::vector<std::string> names;
  std::vector<double> truth;  // to compare with, and to make observations from
  std::vector<double> guess;  // where the search begins
  std::vector<double> scale;  // by how much each may typically change

  std::size_t inclusions() const { return (names.size() - 1) / 4; }
};

/// Throws std::runtime_error, naming file and line, for a file that isn't as above.
Unknowns read_unknowns(const std::filesystem::path &path);
