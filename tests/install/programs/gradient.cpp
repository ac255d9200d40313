// Opens each source given and prints y and dy/dx of its component at x = (1, 2, 3), a = 2.
#include <cstdio>
#include <exception>
#include <tesseract_host/tesseract.hpp>
#include <vector>

namespace {

void print(const char *name, const tesseract::View<const double> &values) {
  std::printf("%s %g %g %g\n", name, values(0), values(1), values(2));
}

}  // namespace

int main(int argc, char **argv) try {
  const std::vector<double> x = {1.0, 2.0, 3.0}, seed = {1.0, 1.0, 1.0};
  for (int i = 1; i < argc; i++) {
    const tesseract::Component component(argv[i]);
    const tesseract::Result value = component.apply({{"x", x}, {"a", 2.0}});
    print("y", value.view<double>("y"));
    const tesseract::Result gradient = component.vjp({{"x", x}, {"a", 2.0}}, {{"y", seed}}, {"x"});
    print("dy/dx", gradient.view<double>("x"));
  }
  return 0;
} catch (const std::exception &failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 1;
}
