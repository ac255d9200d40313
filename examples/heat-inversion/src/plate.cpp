#include "plate.hpp"

#include <algorithm>
#include <cmath>
#include <string>

using tesseract::Destination;
using tesseract::Json;
using tesseract::Leaf;
using tesseract::Shape;
using tesseract::Tensor;

std::vector<double> heating(std::int64_t cells) {
  struct Heater {
    double x, y;
  };
  constexpr Heater heaters[] = {{0.25, 0.25}, {0.75, 0.30}, {0.50, 0.75}};
  constexpr double power = 60.0, width = 0.07;
  std::vector<double> source;
  for (std::int64_t row = 0; row < cells; ++row) {
    for (std::int64_t column = 0; column < cells; ++column) {
      double sum = 0.0;
      for (const auto &[x, y] : heaters) {
        const double dx = (static_cast<double>(column) + 0.5) / static_cast<double>(cells) - x;
        const double dy = (static_cast<double>(row) + 0.5) / static_cast<double>(cells) - y;
        sum += power * std::exp(-(dx * dx + dy * dy) / (2.0 * width * width));
      }
      source.push_back(sum);
    }
  }
  return source;
}

void TimedCall::run() {
  const auto start = std::chrono::steady_clock::now();
  bound_.run();
  time_ += std::chrono::steady_clock::now() - start;
  ++count_;
}

Plate::Plate(const std::filesystem::path &conductivity, const std::filesystem::path &heat,
             const Observations &observations, std::size_t inclusions, Resolution resolution)
    : observations_(observations),
      resolution_(resolution),
      unknowns_(1 + 4 * inclusions),
      conductivity_(static_cast<std::size_t>(resolution.cells * resolution.cells)),
      source_(heating(resolution.cells)),
      readings_(observations.times.size() * observations.sensor_count()),
      temperature_(conductivity_.size()),
      readings_seed_(readings_.size()),
      by_conductivity_(conductivity_.size()),
      by_unknowns_(unknowns_.size()),
      field_(open_field(conductivity, inclusions)),
      heat_(open_heat(heat)) {}

// The module's inputs are slices of the vector of unknowns, its gradients slices of another.
Plate::Stage Plate::open_field(const std::filesystem::path &source, std::size_t inclusions) {
  tesseract::Component component(source.string());
  const auto cells = std::to_string(resolution_.cells);
  const auto json = R"({"nx": )" + cells + R"(, "ny": )" + cells + "}";
  const std::vector<Leaf> inputs{"background", "amplitude", "centre", "width", Json{json}};
  auto apply = component.prepare_apply(inputs, {"conductivity"});
  auto vjp = component.prepare_vjp(inputs, {"conductivity"},
                                   {"background", "amplitude", "centre", "width"});

  const auto slices = [inclusions](auto *first, auto make) {
    return std::vector{make(first, Shape{}), make(first + 1, Shape{inclusions}),
                       make(first + 1 + inclusions, Shape{inclusions, 2}),
                       make(first + 1 + 3 * inclusions, Shape{inclusions})};
  };
  const auto tensor = [](const double *data, const Shape &shape) { return Tensor(data, shape); };
  const auto destination = [](double *data, const Shape &shape) {
    return Destination(data, shape);
  };
  const Shape grid{resolution_.cells, resolution_.cells};
  auto in = slices(unknowns_.data(), tensor);
  TimedCall timed_apply(apply, in, {Destination(conductivity_.data(), grid)});
  in.push_back(Tensor(by_conductivity_.data(), grid));
  TimedCall timed_vjp(vjp, in, slices(by_unknowns_.data(), destination));
  return {std::move(component), std::move(apply), std::move(vjp), std::move(timed_apply),
          std::move(timed_vjp)};
}

Plate::Stage Plate::open_heat(const std::filesystem::path &source) {
  tesseract::Component component(source.string());
  const std::vector<Leaf> inputs{"conductivity", "source", "sensors", "times", "duration", "steps"};
  auto apply = component.prepare_apply(inputs, {"readings", "temperature"});
  auto vjp = component.prepare_vjp(inputs, {"readings"}, {"conductivity"});

  const Shape grid{resolution_.cells, resolution_.cells};
  const Shape by_time{observations_.times.size(), observations_.sensor_count()};
  std::vector<Tensor> in{Tensor(conductivity_.data(), grid),
                         Tensor(source_.data(), grid),
                         Tensor(observations_.sensors.data(), {observations_.sensor_count(), 2}),
                         observations_.times,
                         observations_.times.back(),
                         resolution_.steps};
  TimedCall timed_apply(
      apply, in, {Destination(readings_.data(), by_time), Destination(temperature_.data(), grid)});
  in.push_back(Tensor(readings_seed_.data(), by_time));
  TimedCall timed_vjp(vjp, in, {Destination(by_conductivity_.data(), grid)});
  return {std::move(component), std::move(apply), std::move(vjp), std::move(timed_apply),
          std::move(timed_vjp)};
}

void Plate::simulate(std::span<const double> unknowns) {
  std::ranges::copy(unknowns, unknowns_.begin());
  field_.apply.run();
  heat_.apply.run();
}

double Plate::misfit(std::span<const double> unknowns) {
  simulate(unknowns);
  const double count = static_cast<double>(readings_.size());
  double sum = 0.0;
  for (std::size_t i = 0; i < readings_.size(); ++i) {
    const double residual = (readings_[i] - observations_.readings[i]) / observations_.noise;
    readings_seed_[i] = residual / (observations_.noise * count);
    sum += residual * residual;
  }
  return sum / (2.0 * count);
}

void Plate::gradient(std::span<double> by_unknowns) {
  heat_.vjp.run();
  field_.vjp.run();
  std::ranges::copy(by_unknowns_, by_unknowns.begin());
}
