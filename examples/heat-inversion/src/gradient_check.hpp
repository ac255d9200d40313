// Compares a gradient with central differences.
#pragma once

#include <functional>
#include <span>
#include <vector>

struct GradientEntry {
  double by_adjoint = 0.0;
  double by_differences = 0.0;
  double error = 0.0;  // of the two, relative to the larger, or to 1/1000 of the largest of all
};

/// `value` at a distance of steps[i] to both sides of `point`, for each direction i.
std::vector<GradientEntry> check_gradient(
    const std::function<double(std::span<const double>)> &value, std::span<const double> point,
    std::span<const double> gradient, std::span<const double> steps);
