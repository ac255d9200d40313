#include "observations.hpp"

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include "csv.hpp"

namespace {

void require(bool condition, const CsvRow &row, const std::string &what) {
  if (!condition) throw std::runtime_error(row.place + ": " + what);
}

void append(std::vector<double> &to, const std::vector<double> &from) {
  to.insert(to.end(), from.begin(), from.end());
}

void write_row(std::ostream &file, const std::string &label, std::size_t count, auto number) {
  file << label;
  for (std::size_t i = 0; i < count; ++i) file << ',' << number(i);
  file << '\n';
}

}  // namespace

Observations read_observations(const std::filesystem::path &path) {
  const auto rows = read_csv(path);
  if (rows.size() < 4 || rows[0].label != "noise" || rows[1].label != "x" || rows[2].label != "y") {
    throw std::runtime_error(path.string() + ": expected rows noise, x, y, and one per time");
  }
  Observations observations;
  require(rows[0].numbers.size() == 1 && rows[0].numbers[0] > 0.0, rows[0],
          "expected one positive number");
  observations.noise = rows[0].numbers[0];
  const auto &x = rows[1].numbers, &y = rows[2].numbers;
  require(!x.empty() && x.size() == y.size(), rows[2], "expected as many y as x");
  for (std::size_t i = 0; i < x.size(); ++i) append(observations.sensors, {x[i], y[i]});
  for (auto row = rows.begin() + 3; row != rows.end(); ++row) {
    const double time = parse_number(row->label, row->place);
    const double last = observations.times.empty() ? 0.0 : observations.times.back();
    require(time > last, *row, "expected a later time than in the row above");
    require(row->numbers.size() == x.size(), *row, "expected a reading per sensor");
    observations.times.push_back(time);
    append(observations.readings, row->numbers);
  }
  return observations;
}

void write_observations(const std::filesystem::path &path, const Observations &observations) {
  std::ofstream file(path);
  file.exceptions(std::ios::failbit | std::ios::badbit);
  const auto &[noise, sensors, times, readings] = observations;
  const std::size_t count = observations.sensor_count();
  file << "# Written by make-observations.  Rows: noise; x and y of the sensors; time and "
          "readings.\n";
  file.precision(5);
  file << "noise," << noise << '\n';
  write_row(file, "x", count, [&](std::size_t i) { return sensors[2 * i]; });
  write_row(file, "y", count, [&](std::size_t i) { return sensors[2 * i + 1]; });
  for (std::size_t t = 0; t < times.size(); ++t) {
    file << times[t];
    write_row(file, "", count, [&](std::size_t i) { return readings[t * count + i]; });
  }
}
