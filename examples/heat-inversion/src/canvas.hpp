// A picture made of pixels, lines and text, written as PNG.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

using Colour = std::array<double, 3>;  // red, green, blue, from 0 to 1

namespace colours {
inline constexpr Colour white{1.0, 1.0, 1.0}, black{0.13, 0.13, 0.15}, grey{0.6, 0.6, 0.62},
    pale{0.88, 0.88, 0.89}, blue{0.12, 0.42, 0.73}, red{0.85, 0.26, 0.20};
}

struct Place {
  double x, y;  // in pixels, from the top left corner
};

enum class Align { left, centre, right };

class Canvas {
 public:
  Canvas(int width, int height);

  /// One pixel; outside the picture nothing happens, here as below.
  void set(int x, int y, const Colour &colour);
  void fill(Place corner, double width, double height, const Colour &colour);
  /// Joined lines with round ends.
  void line(std::span<const Place> corners, double thickness, const Colour &colour);
  void rectangle(Place corner, double width, double height, const Colour &colour);
  void circle(Place centre, double radius, double thickness, const Colour &colour);
  /// `size` is the height of capitals; y is where they stand.  ASCII.
  void text(Place place, std::string_view text, double size, Align align = Align::left,
            const Colour &colour = colours::black);
  /// The same, running upwards and centred.
  void text_upwards(Place place, std::string_view text, double size,
                    const Colour &colour = colours::black);

  /// Throws std::runtime_error when the file can't be written.
  void write_png(const std::filesystem::path &path) const;

 private:
  void segment(Place from, Place to, double thickness, const Colour &colour);
  void blend(int x, int y, const Colour &colour, double cover);

  int width_, height_;
  std::vector<std::uint8_t> pixels_;
};
