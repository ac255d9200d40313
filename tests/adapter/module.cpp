// The library as it is built: what Python and XLA find in it.
#include <dlfcn.h>

#include "frame.h"

namespace {

using namespace test;

TEST(Module, ServesCallsAndNothingElse) {
  void *library = dlopen(TEST_MODULE, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  for (const char *name :
       {"tesseract_jax_add", "tesseract_jax_calls", "tesseract_jax_cpu", "tesseract_jax_cuda",
        "tesseract_jax_cuda_captured", "tesseract_jax_free", "tesseract_jax_on_difference",
        "tesseract_jax_prepare", "tesseract_jax_prepared", "tesseract_jax_remove",
        "tesseract_jax_run"})
    EXPECT_NE(dlsym(library, name), nullptr) << name;
  EXPECT_EQ(dlsym(library, "tesseract_jax_execute"), nullptr);
  EXPECT_EQ(dlsym(library, "tesseract_jax_dtypes"), nullptr);

  const auto add =
      reinterpret_cast<decltype(&tesseract_jax_add)>(dlsym(library, "tesseract_jax_add"));
  const auto cpu =
      reinterpret_cast<decltype(&tesseract_jax_cpu)>(dlsym(library, "tesseract_jax_cpu"));
  const auto remove =
      reinterpret_cast<decltype(&tesseract_jax_remove)>(dlsym(library, "tesseract_jax_remove"));
  const Component square = component("square");
  ASSERT_EQ(add(square_id, TESSERACT_NTS, square.get()), TESSERACT_OK);
  Frame frame(square_id, "apply", square_apply);
  Doubles x{1.0, 2.0}, a = scalar(2.0), y = zeros({2});
  frame.in(x).in(a).out(y).finish();
  EXPECT_EQ(cpu(&frame.raw), nullptr);
  EXPECT_EQ(y.values, (std::vector<double>{2.0, 8.0}));
  remove(square_id, TESSERACT_NTS);
  EXPECT_EQ(dlclose(library), 0);
  EXPECT_NE(dlopen(TEST_MODULE, RTLD_NOW | RTLD_NOLOAD), nullptr) << "it was unmapped";
}

}  // namespace
