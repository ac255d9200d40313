// The result as one picture: fields of conductivity and temperature, and the misfit's history.
#pragma once

#include <span>
#include <vector>

#include "lbfgs.hpp"
#include "observations.hpp"

/// Fields are square, by cell [y, x].
struct Figure {
  std::vector<double> truth, guess, estimate;  // conductivity
  std::vector<double> temperature;             // of the estimate at the end
  const Observations &observations;
  std::span<const Iteration> history;
};

void draw_figure(const Figure &figure, const std::filesystem::path &path);
