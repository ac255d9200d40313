// The options that both programs have.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "plate.hpp"

struct PlateOptions {
  std::string conductivity = CONDUCTIVITY_COMPONENT;  // these three are set by the build
  std::string heat = HEAT_COMPONENT;
  std::string data = DATA_FOLDER;
  Resolution resolution;

  void add_to(CLI::App &app) {
    app.option_defaults()->always_capture_default();
    app.add_option("--conductivity", conductivity, "component: unknowns to conductivity");
    app.add_option("--heat", heat, "component: conductivity to temperatures");
    app.add_option("--data", data, "folder of observations.csv and unknowns.csv");
    app.add_option("--cells", resolution.cells, "along each side of the plate")
        ->check(CLI::Range(8, 2048));
    app.add_option("--steps", resolution.steps, "in time")->check(CLI::Range(1, 100000));
  }
};
