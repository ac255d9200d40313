#include "figure.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>

#include "canvas.hpp"

namespace {

constexpr double panel = 380.0, left = 60.0, top = 60.0, column = 540.0, row = 480.0;
constexpr double title_size = 14.0, label_size = 11.0;

Place corner_of(int at_column, int at_row) {
  return {left + at_column * column, top + at_row * row};
}

// Colours in equal distances from 0 to 1.
using ColourMap = std::span<const Colour>;
constexpr Colour sea[] = {{0.16, 0.07, 0.33}, {0.20, 0.28, 0.53}, {0.13, 0.47, 0.56},
                          {0.21, 0.65, 0.50}, {0.55, 0.80, 0.32}, {0.98, 0.91, 0.29}};
constexpr Colour embers[] = {{0.07, 0.05, 0.15},
                             {0.40, 0.08, 0.36},
                             {0.75, 0.22, 0.27},
                             {0.95, 0.52, 0.16},
                             {0.99, 0.93, 0.62}};
constexpr Colour balance[] = {{0.10, 0.28, 0.58},
                              {0.45, 0.65, 0.83},
                              {0.96, 0.96, 0.95},
                              {0.92, 0.56, 0.45},
                              {0.64, 0.09, 0.16}};

Colour colour_at(ColourMap map, double position) {
  const double place = std::clamp(position, 0.0, 1.0) * static_cast<double>(map.size() - 1);
  const auto first = std::min(static_cast<std::size_t>(place), map.size() - 2);
  const double part = place - static_cast<double>(first);
  Colour colour{};
  for (std::size_t i = 0; i < 3; ++i) {
    colour[i] = (1.0 - part) * map[first][i] + part * map[first + 1][i];
  }
  return colour;
}

// What the colours of a field mean.
struct Scale {
  ColourMap map;
  double low, high;
  Colour colour(double value) const { return colour_at(map, (value - low) / (high - low)); }
};

Scale covering(ColourMap map, std::span<const double> field) {
  const auto [low, high] = std::ranges::minmax(field);
  return {map, low, high > low ? high : low + 1.0};
}

std::string number_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", number);
  return text;
}

// The largest of 1, 2 and 5 times a power of ten that cuts `length` into at least `parts`.
double tick_distance(double length, double parts) {
  const double power = std::pow(10.0, std::floor(std::log10(length / parts)));
  for (const double factor : {5.0, 2.0}) {
    if (factor * power <= length / parts) return factor * power;
  }
  return power;
}

// A field's value at (x, y) of the unit square, between the centres of its cells.
double sample(std::span<const double> field, double x, double y) {
  const auto cells = static_cast<std::size_t>(std::lround(std::sqrt(field.size())));
  const double last = static_cast<double>(cells) - 1.0;
  const double cx = std::clamp(x * static_cast<double>(cells) - 0.5, 0.0, last);
  const double cy = std::clamp(y * static_cast<double>(cells) - 0.5, 0.0, last);
  const auto i = std::min(static_cast<std::size_t>(cx), cells - 2);
  const auto j = std::min(static_cast<std::size_t>(cy), cells - 2);
  const double px = cx - static_cast<double>(i), py = cy - static_cast<double>(j);
  const auto at = [&](std::size_t r, std::size_t c) { return field[r * cells + c]; };
  return (1.0 - py) * ((1.0 - px) * at(j, i) + px * at(j, i + 1)) +
         py * ((1.0 - px) * at(j + 1, i) + px * at(j + 1, i + 1));
}

void draw_unit_axes(Canvas &canvas, Place corner) {
  for (const double value : {0.0, 0.5, 1.0}) {
    const double x = corner.x + value * panel, y = corner.y + (1.0 - value) * panel;
    const Place below[] = {{x, corner.y + panel}, {x, corner.y + panel + 5.0}};
    const Place beside[] = {{corner.x - 5.0, y}, {corner.x, y}};
    canvas.line(below, 1.0, colours::black);
    canvas.line(beside, 1.0, colours::black);
    canvas.text({x, corner.y + panel + 21.0}, number_text(value), label_size, Align::centre);
    canvas.text({corner.x - 9.0, y + 5.0}, number_text(value), label_size, Align::right);
  }
  canvas.text({corner.x + 0.75 * panel, corner.y + panel + 21.0}, "x", label_size, Align::centre);
  canvas.text({corner.x - 9.0, corner.y + 0.25 * panel}, "y", label_size, Align::right);
}

void draw_colour_bar(Canvas &canvas, Place corner, const Scale &scale) {
  constexpr double width = 16.0;
  for (int i = 0; i < static_cast<int>(panel); ++i) {
    canvas.fill({corner.x, corner.y + i}, width, 1.0,
                colour_at(scale.map, 1.0 - (i + 0.5) / panel));
  }
  canvas.rectangle(corner, width, panel, colours::black);
  const double step = tick_distance(scale.high - scale.low, 4.0);
  for (double tick = std::ceil(scale.low / step); tick * step <= scale.high; ++tick) {
    const double part = (tick * step - scale.low) / (scale.high - scale.low);
    const double y = corner.y + (1.0 - part) * panel;
    const Place mark[] = {{corner.x + width, y}, {corner.x + width + 4.0, y}};
    canvas.line(mark, 1.0, colours::black);
    canvas.text({corner.x + width + 9.0, y + 5.0}, number_text(tick * step), label_size);
  }
}

// The unit square, y upwards.
void draw_field(Canvas &canvas, Place corner, std::span<const double> field, const Scale &scale,
                const std::string &title) {
  canvas.text({corner.x, corner.y - 16.0}, title, title_size);
  const int pixels = static_cast<int>(panel);
  for (int r = 0; r < pixels; ++r) {
    for (int c = 0; c < pixels; ++c) {
      const double value = sample(field, (c + 0.5) / panel, 1.0 - (r + 0.5) / panel);
      canvas.set(static_cast<int>(corner.x) + c, static_cast<int>(corner.y) + r,
                 scale.colour(value));
    }
  }
  canvas.rectangle(corner, panel, panel, colours::black);
  draw_unit_axes(canvas, corner);
  draw_colour_bar(canvas, {corner.x + panel + 16.0, corner.y}, scale);
}

void draw_sensors(Canvas &canvas, Place corner, const std::vector<double> &sensors) {
  for (std::size_t i = 0; i < sensors.size(); i += 2) {
    canvas.circle({corner.x + sensors[i] * panel, corner.y + (1.0 - sensors[i + 1]) * panel}, 3.0,
                  1.2, colours::white);
  }
}

// The misfit over iterations, on a logarithmic axis, and the level that noise alone gives.
void draw_history(Canvas &canvas, Place corner, std::span<const Iteration> history) {
  constexpr double noise_level = 0.5, width = panel + 60.0;
  const double last = std::max(1, history.back().number);
  const auto [best, worst] = std::ranges::minmax(history, {}, &Iteration::value);
  const double lowest = std::floor(std::log10(std::clamp(best.value, 1e-9, noise_level)));
  const double highest = std::ceil(std::log10(std::max(worst.value, 1.0)));
  const auto place = [&](double number, double value) {
    const double part = (std::log10(std::max(value, 1e-9)) - lowest) / (highest - lowest);
    return Place{corner.x + width * number / last, corner.y + (1.0 - part) * panel};
  };
  canvas.text({corner.x, corner.y - 16.0}, "Misfit by iteration", title_size);
  for (double power = lowest; power <= highest; ++power) {
    const double decade = std::pow(10.0, power);
    for (int i = 2; i < 10 && power < highest; ++i) {
      const Place minor[] = {place(0.0, i * decade), place(last, i * decade)};
      canvas.line(minor, 0.5, colours::pale);
    }
    const Place grid[] = {place(0.0, decade), place(last, decade)};
    canvas.line(grid, 1.0, colours::grey);
    canvas.text({corner.x - 9.0, grid[0].y + 5.0}, number_text(decade), label_size, Align::right);
  }
  const double step = std::max(1.0, tick_distance(last, 4.0));
  for (double number = 0.0; number <= last; number += step) {
    const double x = place(number, 1.0).x;
    const Place mark[] = {{x, corner.y + panel}, {x, corner.y + panel + 5.0}};
    canvas.line(mark, 1.0, colours::black);
    canvas.text({x, corner.y + panel + 21.0}, number_text(number), label_size, Align::centre);
  }
  canvas.text({corner.x + 0.5 * width, corner.y + panel + 42.0}, "iteration", label_size,
              Align::centre);
  canvas.text_upwards({corner.x - 38.0, corner.y + 0.5 * panel}, "misfit", label_size);
  const Place noise[] = {place(0.0, noise_level), place(last, noise_level)};
  canvas.line(noise, 2.0, colours::red);
  canvas.text({noise[1].x - 8.0, noise[1].y + 18.0}, "noise", label_size, Align::right,
              colours::red);
  std::vector<Place> curve;
  for (const auto &iteration : history) {
    curve.push_back(place(iteration.number, iteration.value));
  }
  canvas.line(curve, 2.2, colours::blue);
  canvas.rectangle(corner, width, panel, colours::black);
}

}  // namespace

void draw_figure(const Figure &figure, const std::filesystem::path &path) {
  Canvas canvas(static_cast<int>(3 * column + 20), static_cast<int>(2 * row + 20));
  auto conductivity = covering(sea, figure.truth);
  const auto estimated = covering(sea, figure.estimate);
  conductivity.low = std::min(conductivity.low, estimated.low);
  conductivity.high = std::max(conductivity.high, estimated.high);
  draw_field(canvas, corner_of(0, 0), figure.truth, conductivity, "True conductivity");
  draw_field(canvas, corner_of(1, 0), figure.guess, conductivity, "First guess");
  draw_field(canvas, corner_of(2, 0), figure.estimate, conductivity, "Estimate");

  std::vector<double> error(figure.truth.size());
  std::ranges::transform(figure.estimate, figure.truth, error.begin(), std::minus<>());
  const double largest =
      std::abs(*std::ranges::max_element(error, {}, [](double value) { return std::abs(value); }));
  draw_field(canvas, corner_of(0, 1), figure.temperature, covering(embers, figure.temperature),
             "Temperature at the end, and sensors");
  draw_sensors(canvas, corner_of(0, 1), figure.observations.sensors);
  draw_field(canvas, corner_of(1, 1), error, {balance, -largest, largest},
             "Estimate - true conductivity");
  draw_history(canvas, corner_of(2, 1), figure.history);
  canvas.write_png(path);
}
