// What was measured on the plate: a CSV file.
//
//   noise,0.007              standard deviation of a reading
//   x,0.125,0.25,…           one column per sensor
//   y,0.125,0.125,…
//   0.005,0.0123,0.0345,…    time, then a reading per sensor; times ascend
#pragma once

#include <filesystem>
#include <vector>

struct Observations {
  double noise = 1.0;
  std::vector<double> sensors;   // x, y of each, in the unit square
  std::vector<double> times;     // > 0, ascending; the experiment ends with the last
  std::vector<double> readings;  // [time][sensor]

  std::size_t sensor_count() const { return sensors.size() / 2; }
};

/// Throws std::runtime_error, naming file and line, for a file that isn't as above.
Observations read_observations(const std::filesystem::path &path);

void write_observations(const std::filesystem::path &path, const Observations &observations);
