#include "canvas.hpp"

#include <png.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>

#include "stroke_font.hpp"

namespace {

constexpr double blank_width = 3.0, letter_space = 2.0;  // on the font's grid

// Calls `stroke(points)` for each stroke of a text that starts at (0, 0), y downwards, and returns
// the width of the text.
template <class Stroke>
double for_each_stroke(std::string_view text, double size, Stroke stroke) {
  const double unit = size / 6.0;
  double left = 0.0;
  for (const char character : text) {
    const auto strokes = glyph(character);
    std::vector<Place> points;
    for (std::size_t i = 0; i < strokes.size(); i += 2) {
      if (strokes[i] == ' ') {
        stroke(points);
        points.clear();
        ++i;
      }
      points.push_back({left + unit * (strokes[i] - '0'), unit * (strokes[i + 1] - '0' - 6)});
    }
    if (!points.empty()) stroke(points);
    left += unit * ((strokes.empty() ? blank_width : glyph_width(strokes)) + letter_space);
  }
  return left - unit * letter_space;
}

double text_width(std::string_view text, double size) {
  return for_each_stroke(text, size, [](const std::vector<Place> &) {});
}

double pen(double size) {
  return std::max(1.2, 0.125 * size);
}

}  // namespace

Canvas::Canvas(int width, int height)
    : width_(width),
      height_(height),
      pixels_(3 * static_cast<std::size_t>(width) * static_cast<std::size_t>(height), 255) {}

void Canvas::blend(int x, int y, const Colour &colour, double cover) {
  if (x < 0 || y < 0 || x >= width_ || y >= height_) return;
  auto *pixel = &pixels_[3 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) +
                              static_cast<std::size_t>(x))];
  for (std::size_t i = 0; i < 3; ++i) {
    const double mixed = (1.0 - cover) * pixel[i] + cover * 255.0 * colour[i];
    pixel[i] = static_cast<std::uint8_t>(std::lround(std::clamp(mixed, 0.0, 255.0)));
  }
}

void Canvas::set(int x, int y, const Colour &colour) {
  blend(x, y, colour, 1.0);
}

void Canvas::fill(Place corner, double width, double height, const Colour &colour) {
  const auto left = std::lround(corner.x), top = std::lround(corner.y);
  for (auto y = top; y < std::lround(corner.y + height); ++y) {
    for (auto x = left; x < std::lround(corner.x + width); ++x) {
      set(static_cast<int>(x), static_cast<int>(y), colour);
    }
  }
}

// A pixel is covered as far as its centre lies within the pen's width, softened over one pixel.
void Canvas::segment(Place from, Place to, double thickness, const Colour &colour) {
  const double reach = 0.5 * thickness + 0.5;
  const double dx = to.x - from.x, dy = to.y - from.y, squared = dx * dx + dy * dy;
  const auto lowest = [&](double a, double b) {
    return static_cast<int>(std::floor(std::min(a, b) - reach));
  };
  const auto highest = [&](double a, double b) {
    return static_cast<int>(std::ceil(std::max(a, b) + reach));
  };
  for (int y = lowest(from.y, to.y); y <= highest(from.y, to.y); ++y) {
    for (int x = lowest(from.x, to.x); x <= highest(from.x, to.x); ++x) {
      const double px = x + 0.5 - from.x, py = y + 0.5 - from.y;
      const double along =
          squared > 0.0 ? std::clamp((px * dx + py * dy) / squared, 0.0, 1.0) : 0.0;
      const double distance = std::hypot(px - along * dx, py - along * dy);
      if (distance < reach) blend(x, y, colour, std::min(1.0, reach - distance));
    }
  }
}

void Canvas::line(std::span<const Place> corners, double thickness, const Colour &colour) {
  for (std::size_t i = 1; i < corners.size(); ++i) {
    segment(corners[i - 1], corners[i], thickness, colour);
  }
}

void Canvas::rectangle(Place corner, double width, double height, const Colour &colour) {
  const double right = corner.x + width, bottom = corner.y + height;
  const Place corners[] = {corner, {right, corner.y}, {right, bottom}, {corner.x, bottom}, corner};
  line(corners, 1.0, colour);
}

void Canvas::circle(Place centre, double radius, double thickness, const Colour &colour) {
  constexpr int corners = 24;
  std::vector<Place> ring;
  for (int i = 0; i <= corners; ++i) {
    const double angle = 2.0 * std::numbers::pi * i / corners;
    ring.push_back({centre.x + radius * std::cos(angle), centre.y + radius * std::sin(angle)});
  }
  line(ring, thickness, colour);
}

void Canvas::text(Place place, std::string_view text, double size, Align align,
                  const Colour &colour) {
  const double width = text_width(text, size);
  const double shift = align == Align::left ? 0.0 : align == Align::right ? width : 0.5 * width;
  for_each_stroke(text, size, [&](std::vector<Place> points) {
    for (auto &[x, y] : points) x += place.x - shift, y += place.y;
    line(points, pen(size), colour);
  });
}

void Canvas::text_upwards(Place place, std::string_view text, double size, const Colour &colour) {
  const double shift = 0.5 * text_width(text, size);
  for_each_stroke(text, size, [&](std::vector<Place> points) {
    for (auto &point : points) point = {place.x + point.y, place.y + shift - point.x};
    line(points, pen(size), colour);
  });
}

void Canvas::write_png(const std::filesystem::path &path) const {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width_);
  image.height = static_cast<png_uint_32>(height_);
  image.format = PNG_FORMAT_RGB;
  if (png_image_write_to_file(&image, path.c_str(), 0, pixels_.data(), 0, nullptr) == 0) {
    throw std::runtime_error("cannot write " + path.string() + ": " + image.message);
  }
}
