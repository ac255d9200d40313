// Letters as strokes of a pen, on a grid: capitals are 6 high, their top at y = 0 and the line they
// stand on at y = 6; descenders reach 8.
#pragma once

#include <string_view>

/// Strokes separated by blanks, each a list of points "xy".  ASCII; empty for what it does not
/// have.
std::string_view glyph(char character);

/// The width of a glyph on the grid, without the space after it.
int glyph_width(std::string_view strokes);
