// A component written with plugin.hpp.  What apply does is chosen by the input `behaviour`; `log`
// of the options is logged when the component is made.
#include <stdexcept>
#include <string>
#include <tesseract_host/plugin.hpp>

namespace {

class Behaviours {
 public:
  explicit Behaviours(std::string_view options) {
    if (options.find("refuse") != options.npos) {
      throw tesseract::Error(TESSERACT_ERROR_INVALID_ARGUMENT, "refused by the constructor");
    }
    description = R"({
      "name": "behaviours",
      "inputs": [
        {"path": "x", "dtype": "float64", "shape": ["n"], "required": false},
        {"path": "behaviour", "type": "string", "default": "double"}
      ],
      "outputs": [
        {"path": "y", "dtype": "float64", "shape": ["n"]},
        {"path": "grown", "dtype": "int32", "shape": [null, null]},
        {"path": "seen", "type": "any"}
      ]
    })";
  }

  std::string description;

  void apply(tesseract::Frame frame) {
    if (chosen(frame, "domain")) throw tesseract::OutOfDomain("not there", "x");
    if (chosen(frame, "schema")) throw tesseract::Error(TESSERACT_ERROR_SCHEMA, "odd", "x");
    if (chosen(frame, "standard")) throw std::runtime_error("something standard");
    if (chosen(frame, "memory")) throw std::bad_alloc();
    if (chosen(frame, "number")) throw 42;
    if (chosen(frame, "dtype")) frame.input<float>(0);
    if (chosen(frame, "position")) frame.output<double>(7);
    if (chosen(frame, "log")) frame.log(TESSERACT_LOG_WARNING, "a line");
    while (chosen(frame, "wait")) frame.check_cancelled();
    const auto x = frame.input<double>(0);
    if (const auto y = frame.output<double>(0)) {
      for (std::size_t i = 0; i < y.size(); ++i) y(i) = 2 * x(i);
    }
    if (frame.output_wanted(1)) {
      const auto grown = frame.allocate<std::int32_t>(1, {2, 3});
      for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 3; ++j) grown(i, j) = 10 * i + j;
      }
    }
    frame.output_json(R"({"seen": )" + std::string(frame.json()) + "}");
  }

 private:
  static bool chosen(const tesseract::Frame &frame, std::string_view behaviour) {
    return frame.json().find("\"" + std::string(behaviour) + "\"") != std::string_view::npos;
  }
};

}  // namespace

TESSERACT_PLUGIN(Behaviours);
