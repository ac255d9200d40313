// Rows of a CSV file without quotes: a label and numbers.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

struct CsvRow {
  std::string label;
  std::vector<double> numbers;
  std::string place;  // "file:line", for messages
};

/// All rows but empty ones and those that begin with '#'.  Throws std::runtime_error for a file
/// that can't be read or a cell, the first of a row excepted, that is no number.
std::vector<CsvRow> read_csv(const std::filesystem::path &path);

/// The number that `text` is, as a whole, else throws std::runtime_error that begins with `place`.
double parse_number(const std::string &text, const std::string &place);
