// Minimising a smooth function by L-BFGS: the limited-memory quasi-Newton method with two loops,
// and a line search for the weak Wolfe conditions by bracketing.
//
// The function may have no value at some points: a step that leads there is too long.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

struct Objective {
  /// The value, or nothing where the function has none.
  std::function<std::optional<double>(std::span<const double> point)> value;
  /// The gradient at the point whose value was asked for last, which has one.
  std::function<void(std::span<double> gradient)> gradient;
};

/// How the search stands after an iteration; number 0 is the start.
struct Iteration {
  int number = 0;
  double value = 0.0;
  double gradient_norm = 0.0;
  double step = 0.0;  // along the quasi-Newton direction, where 1 is natural
  int trials = 0;     // values asked for
  int outside = 0;    // trials without a value
};

struct LbfgsOptions {
  int iterations = 200;
  std::size_t memory = 15;           // pairs of steps and gradient changes
  double gradient_tolerance = 1e-5;  // converged: the norm fell to this part of the first
  double decrease_tolerance = 1e-6;  // converged: three iterations each fell by less than this part
};

struct Minimum {
  std::vector<double> point;
  std::vector<Iteration> history;
  bool converged = false;
};

/// Throws std::invalid_argument where the function has no value at `start`.  `observe`, called for
/// each entry of the history, may be empty.
Minimum minimise_lbfgs(const Objective &objective, std::vector<double> start,
                       const LbfgsOptions &options,
                       const std::function<void(const Iteration &)> &observe);
