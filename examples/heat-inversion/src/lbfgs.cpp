#include "lbfgs.hpp"

#include <cmath>
#include <deque>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace {

using Vector = std::vector<double>;

double dot(const Vector &a, const Vector &b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// a + factor * b
Vector add(const Vector &a, double factor, const Vector &b) {
  Vector sum(a);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += factor * b[i];
  return sum;
}

struct Point {
  Vector x, gradient;
  double value = 0.0;
};

// The steps taken last and how they changed the gradient.
class Memory {
 public:
  explicit Memory(std::size_t size) : size_(size) {}

  void keep(const Point &from, const Point &to) {
    Pair pair{add(to.x, -1.0, from.x), add(to.gradient, -1.0, from.gradient), 0.0};
    pair.product = dot(pair.step, pair.change);
    pairs_.push_back(std::move(pair));
    if (pairs_.size() > size_) pairs_.pop_front();
  }

  void forget() { pairs_.clear(); }
  bool empty() const { return pairs_.empty(); }

  // Minus the gradient times the approximate inverse Hessian; without memory a unit vector.
  Vector direction(const Vector &gradient) const {
    Vector d = gradient;
    Vector weights;
    for (auto pair = pairs_.rbegin(); pair != pairs_.rend(); ++pair) {
      weights.push_back(dot(pair->step, d) / pair->product);
      d = add(d, -weights.back(), pair->change);
    }
    const double scale =
        empty() ? 1.0 / std::sqrt(dot(gradient, gradient))
                : pairs_.back().product / dot(pairs_.back().change, pairs_.back().change);
    for (double &component : d) component *= -scale;
    for (const auto &[step, change, product] : pairs_) {
      d = add(d, -weights.back() - dot(change, d) / product, step);
      weights.pop_back();
    }
    return d;
  }

 private:
  struct Pair {
    Vector step, change;
    double product;  // > 0, as the Wolfe conditions ensure
  };
  std::size_t size_;
  std::deque<Pair> pairs_;
};

// Moves `point` along `direction` to where the value is enough lower and the slope enough flatter;
// false, and `point` as it was, when no such step is found.
bool search_line(const Objective &objective, const Vector &direction, Point &point,
                 Iteration &iteration) {
  constexpr double sufficient_decrease = 1e-4, sufficient_flattening = 0.9;
  constexpr int most_trials = 30;
  const double slope = dot(point.gradient, direction);
  double low = 0.0, high = std::numeric_limits<double>::infinity();
  iteration.step = 1.0;
  for (iteration.trials = 1; iteration.trials <= most_trials; ++iteration.trials) {
    Point trial;
    trial.x = add(point.x, iteration.step, direction);
    const auto value = objective.value(trial.x);
    if (!value) ++iteration.outside;
    if (!value || !(*value <= point.value + sufficient_decrease * iteration.step * slope)) {
      high = iteration.step;
    } else {
      trial.value = *value;
      trial.gradient.resize(trial.x.size());
      objective.gradient(trial.gradient);
      if (dot(trial.gradient, direction) >= sufficient_flattening * slope) {
        point = std::move(trial);
        return true;
      }
      low = iteration.step;
    }
    iteration.step = std::isinf(high) ? 2.0 * low : 0.5 * (low + high);
  }
  return false;
}

}  // namespace

Minimum minimise_lbfgs(const Objective &objective, std::vector<double> start,
                       const LbfgsOptions &options,
                       const std::function<void(const Iteration &)> &observe) {
  Minimum minimum;
  const auto record = [&](const Iteration &iteration) {
    minimum.history.push_back(iteration);
    if (observe) observe(iteration);
  };
  Point point;
  point.x = std::move(start);
  const auto value = objective.value(point.x);
  if (!value) throw std::invalid_argument("the search begins where the function has no value");
  point.value = *value;
  point.gradient.resize(point.x.size());
  objective.gradient(point.gradient);
  record({0, point.value, std::sqrt(dot(point.gradient, point.gradient)), 0.0, 1, 0});

  const double small_gradient = options.gradient_tolerance * minimum.history[0].gradient_norm;
  minimum.converged = minimum.history[0].gradient_norm == 0.0;
  Memory memory(options.memory);
  int small_decreases = 0;
  for (int number = 1; number <= options.iterations && !minimum.converged; ++number) {
    const Point before = point;
    Iteration iteration;
    iteration.number = number;
    if (!search_line(objective, memory.direction(point.gradient), point, iteration)) {
      if (memory.empty()) break;  // not even down the gradient
      memory.forget();
      continue;
    }
    memory.keep(before, point);
    iteration.value = point.value;
    iteration.gradient_norm = std::sqrt(dot(point.gradient, point.gradient));
    record(iteration);
    const bool small = before.value - point.value <= options.decrease_tolerance * before.value;
    small_decreases = small ? small_decreases + 1 : 0;
    minimum.converged = iteration.gradient_norm <= small_gradient || small_decreases == 3;
  }
  minimum.point = std::move(point.x);
  return minimum;
}
