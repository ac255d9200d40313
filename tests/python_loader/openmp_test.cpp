// Calls from the threads of an OpenMP program, which the runtime makes and keeps.
#include <omp.h>

#include "component.h"

namespace loader_test {
namespace {

TEST(OpenMP, ThreadsMayCallOneComponent) {
  for (const char *options : {"{}", R"({"threads": "concurrent"})", R"({"threads": "owner"})"}) {
    const Component component("scale", options);
    ASSERT_EQ(component.opened.status, TESSERACT_OK) << component.opened.message;
    int wrong = 0;
#pragma omp parallel for num_threads(4) schedule(dynamic) reduction(+ : wrong)
    for (int i = 0; i < 200; i++) {
      const Application application(component, {{double(i)}});
      wrong += application.output() != std::vector<double>{2.0 * i * i};
    }
    EXPECT_EQ(wrong, 0) << options;
  }
}

TEST(OpenMP, ThreadsMayHaveTheirComponents) {
  int wrong = 0;
#pragma omp parallel num_threads(3) reduction(+ : wrong)
  {
    const Component component("scale");
    for (int i = 0; i < 20; i++) {
      const Application application(component, {{double(omp_get_thread_num())}});
      const double x = omp_get_thread_num();
      wrong += application.output() != std::vector<double>{2.0 * x * x};
    }
  }
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace loader_test
