#include "csv.hpp"

#include <charconv>
#include <fstream>
#include <sstream>
#include <stdexcept>

std::vector<CsvRow> read_csv(const std::filesystem::path &path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  std::vector<CsvRow> rows;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty() || line.front() == '#') continue;
    CsvRow row;
    row.place = path.string() + ":" + std::to_string(number);
    std::istringstream cells(line);
    std::getline(cells, row.label, ',');
    for (std::string cell; std::getline(cells, cell, ',');) {
      row.numbers.push_back(parse_number(cell, row.place));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

double parse_number(const std::string &text, const std::string &place) {
  double number = 0.0;
  const char *end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) {
    throw std::runtime_error(place + ": '" + text + "' is no number");
  }
  return number;
}
