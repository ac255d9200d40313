// Calls the component given: what a test of it does.
#include <array>
#include <cstdio>
#include <tesseract_host/tesseract.hpp>

int main(int argc, char **argv) try {
  if (argc != 2) return 2;
  const tesseract::Component drag(argv[1]);
  const std::array v{-1.0, 2.0}, dv{1.0, 0.5};

  const auto result = drag.apply({{"v", v}});
  const auto force = result.view<double>("force");
  std::printf("force: %.2f %.2f\n", force(0), force(1));

  const auto derivative = drag.jvp({{"v", v}}, {{"v", dv}});
  const auto tangent = derivative.view<double>("force");
  std::printf("its tangent: %.2f %.2f\n", tangent(0), tangent(1));

  try {
    drag.apply({{"v", v}, {"c", -1.0}});
  } catch (const tesseract::OutOfDomain &error) {
    std::printf("out of domain: %s\n", error.path().c_str());
  }
  return 0;
} catch (const std::exception &error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
