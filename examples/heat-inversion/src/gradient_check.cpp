#include "gradient_check.hpp"

#include <algorithm>
#include <cmath>

std::vector<GradientEntry> check_gradient(
    const std::function<double(std::span<const double>)> &value, std::span<const double> point,
    std::span<const double> gradient, std::span<const double> steps) {
  double largest = 0.0;
  for (const double component : gradient) largest = std::max(largest, std::abs(component));

  std::vector<GradientEntry> entries;
  std::vector<double> moved(point.begin(), point.end());
  for (std::size_t i = 0; i < point.size(); ++i) {
    moved[i] = point[i] + steps[i];
    const double above = value(moved);
    moved[i] = point[i] - steps[i];
    const double below = value(moved);
    moved[i] = point[i];

    GradientEntry entry{gradient[i], (above - below) / (2.0 * steps[i]), 0.0};
    const double size =
        std::max({std::abs(entry.by_adjoint), std::abs(entry.by_differences), 1e-3 * largest});
    entry.error = std::abs(entry.by_adjoint - entry.by_differences) / size;
    entries.push_back(entry);
  }
  return entries;
}
