// Opens a component that computes forces, asks for a gradient, and calls it in a time loop.
#include <array>
#include <cstdio>
#include <tesseract_host/tesseract.hpp>

namespace {

using Values = std::array<double, 3>;

void print(const char *name, std::span<const double> values) {
  std::printf("%s:", name);
  for (const double value : values) std::printf(" %.4f", value);
  std::printf("\n");
}

// Prepares the call once and binds its arrays; the runs neither allocate nor copy.
void slow_down(const tesseract::Component &drag, Values &v) {
  Values force{};
  const auto call = drag.prepare_apply({"v"}, {"force"});
  const auto bound = call.bind({v}, {force});
  for (int step = 0; step < 100; ++step) {
    bound.run();
    for (std::size_t i = 0; i < v.size(); ++i) v[i] += 0.01 * force[i];
  }
}

void example(const char *source) {
  const tesseract::Component drag(source);
  Values v{1.0, 2.0, 3.0};
  const Values ones{1.0, 1.0, 1.0};

  const auto result = drag.apply({{"v", v}, {"c", 0.5}});
  print("force", result.view<double>("force").span());

  const auto gradient = drag.vjp({{"v", v}, {"c", 0.5}}, {{"force", ones}}, {"v", "c"});
  print("d sum(force) / dv", gradient.view<double>("v").span());
  print("d sum(force) / dc", gradient.view<double>("c").span());

  slow_down(drag, v);
  print("velocities after 1 s", v);

  try {
    drag.apply({{"v", v}, {"c", -1.0}});
  } catch (const tesseract::Error &error) {  // or OutOfDomain, to try another point
    std::printf("refused: a negative drag factor\n");
    std::fprintf(stderr, "%s\n", error.what());
  }
}

}  // namespace

int main(int argc, char **argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s COMPONENT\n", argv[0]);
    return 2;
  }
  example(argv[1]);
  return 0;
} catch (const std::exception &error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
