#include "unknowns.hpp"

#include <stdexcept>

#include "csv.hpp"

namespace {

// The names that a list of `count` unknowns has to have.
std::vector<std::string> expected_names(std::size_t count) {
  const auto inclusions = (count - 1) / 4;
  std::vector<std::string> names{"background"};
  const auto add = [&](std::initializer_list<const char *> quantities) {
    for (std::size_t i = 1; i <= inclusions; ++i) {
      for (const char *quantity : quantities) {
        names.push_back(std::string(quantity) + " " + std::to_string(i));
      }
    }
  };
  add({"amplitude"});
  add({"x", "y"});
  add({"width"});
  return names;
}

}  // namespace

Unknowns read_unknowns(const std::filesystem::path &path) {
  const auto rows = read_csv(path);
  if (rows.size() < 5 || rows.size() % 4 != 1) {
    throw std::runtime_error(path.string() + ": expected a background and 4 rows per inclusion");
  }
  Unknowns unknowns;
  unknowns.names = expected_names(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto &[name, numbers, place] = rows[i];
    if (name != unknowns.names[i] || numbers.size() != 3 || !(numbers[2] > 0.0)) {
      throw std::runtime_error(place + ": expected " + unknowns.names[i] +
                               ",truth,guess,scale with a positive scale");
    }
    unknowns.truth.push_back(numbers[0]);
    unknowns.guess.push_back(numbers[1]);
    unknowns.scale.push_back(numbers[2]);
  }
  return unknowns;
}
