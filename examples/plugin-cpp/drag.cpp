// A component in C++: the force of quadratic drag, -c |v| v, with its derivatives.
#include <cmath>
#include <tesseract_host/plugin.hpp>

namespace {

class Drag {
 public:
  // Positions in the frame are those of these lists: inputs v and c, output force.
  static constexpr std::string_view description = R"({
    "name": "drag",
    "threads": "concurrent",
    "inputs": [
      {"path": "v", "dtype": "float64", "shape": ["n"], "differentiable": true, "units": "m/s"},
      {"path": "c", "dtype": "float64", "shape": [], "differentiable": true, "default": 0.5}
    ],
    "outputs": [
      {"path": "force", "dtype": "float64", "shape": ["n"], "differentiable": true, "units": "N"}
    ]
  })";

  void apply(tesseract::Frame frame) const {
    const auto v = frame.input<double>(0);
    const double c = frame.input<double>(1)();
    if (c < 0) throw tesseract::OutOfDomain("the drag factor is negative", "c");
    const auto force = frame.output<double>(0);
    for (std::size_t i = 0; i < force.size(); ++i) force(i) = -c * std::abs(v(i)) * v(i);
  }

  // Seeds are tangents by input; a false one is zero.
  void jvp(tesseract::Frame frame) const {
    const auto v = frame.input<double>(0);
    const double c = frame.input<double>(1)();
    const auto dv = frame.seed<double>(0);
    const auto dc = frame.seed<double>(1);
    const auto tangent = frame.output<double>(0);
    for (std::size_t i = 0; i < tangent.size(); ++i) {
      tangent(i) = 0;
      if (dv) tangent(i) -= 2 * c * std::abs(v(i)) * dv(i);
      if (dc) tangent(i) -= std::abs(v(i)) * v(i) * dc();
    }
  }

  // Seeds are cotangents by output; outputs are gradients by input, false where not wanted.
  void vjp(tesseract::Frame frame) const {
    const auto v = frame.input<double>(0);
    const double c = frame.input<double>(1)();
    const auto seed = frame.seed<double>(0);
    const auto dv = frame.output<double>(0);
    const auto dc = frame.output<double>(1);
    if (dc) dc() = 0;
    for (std::size_t i = 0; i < v.size(); ++i) {
      const double s = seed ? seed(i) : 0;
      if (dv) dv(i) = -2 * c * std::abs(v(i)) * s;
      if (dc) dc() -= std::abs(v(i)) * v(i) * s;
    }
  }
};

}  // namespace

TESSERACT_PLUGIN(Drag);
