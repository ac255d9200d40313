// Writes the observations of the example: readings of a finer simulation of the true plate, with
// noise of a fixed seed.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <numbers>
#include <random>

#include "command_line.hpp"
#include "unknowns.hpp"

namespace {

constexpr double relative_noise = 0.01;  // of the highest reading

Observations planned_observations() {
  constexpr int sensors_along_side = 7, reading_count = 20;
  constexpr double duration = 0.1;
  Observations plan;
  for (int row = 1; row <= sensors_along_side; ++row) {
    for (int column = 1; column <= sensors_along_side; ++column) {
      plan.sensors.push_back(column / (sensors_along_side + 1.0));
      plan.sensors.push_back(row / (sensors_along_side + 1.0));
    }
  }
  for (int i = 1; i <= reading_count; ++i) plan.times.push_back(duration * i / reading_count);
  return plan;
}

// Normally distributed numbers, the same on every machine, which std::normal_distribution does not
// promise.
class Noise {
 public:
  double operator()() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

 private:
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  std::mt19937_64 engine_{1};
};

}  // namespace

int main(int argc, char **argv) {
  CLI::App app{"Makes observations of a plate with the true inclusions of unknowns.csv."};
  PlateOptions options;
  options.resolution = {256, 800};
  options.add_to(app);
  std::string output = "observations.csv";
  app.add_option("--output", output, "file to write");
  CLI11_PARSE(app, argc, argv);
  try {
    const auto unknowns = read_unknowns(options.data + "/unknowns.csv");
    auto observations = planned_observations();
    Plate plate(options.conductivity, options.heat, observations, unknowns.inclusions(),
                options.resolution);
    plate.simulate(unknowns.truth);
    observations.readings = plate.readings();
    observations.noise = relative_noise * std::ranges::max(observations.readings);
    Noise noise;
    for (double &reading : observations.readings) reading += observations.noise * noise();
    write_observations(output, observations);
    std::printf("%s: %zu readings, noise %.3g\n", output.c_str(), observations.readings.size(),
                observations.noise);
  } catch (const std::exception &error) {
    std::cerr << "make-observations: " << error.what() << '\n';
    return 1;
  }
}
