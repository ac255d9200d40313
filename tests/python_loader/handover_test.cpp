// Large results that only the call knows are handed over without a copy; all others are copied.
#include <memory>
#include <thread>

#include "component.h"

namespace loader_test {
namespace {

constexpr size_t kLarge = 1 << 14;  // elements

struct Way {
  const char *name;
  bool is_handed_over;
  size_t length = kLarge;
};

class Handover : public testing::TestWithParam<Way> {};

// The first calls take other ways through the loader than later ones.
TEST_P(Handover, OfResults) {
  const Component component("makes");
  ASSERT_EQ(component.opened.status, TESSERACT_OK);
  const std::string json = nlohmann::json{{"way", GetParam().name}}.dump();
  std::vector<std::unique_ptr<Application>> results;
  for (int i = 0; i < 4; i++) {
    const std::vector<double> x(GetParam().length, 1.0 + i);
    results.push_back(std::make_unique<Application>(component, Inputs{x, json}));
    const Application &result = *results.back();
    ASSERT_EQ(result.failure.status, TESSERACT_OK) << result.failure.message;
    const auto made = result.values()["address"].get<uintptr_t>();
    EXPECT_EQ(result.address() == made, GetParam().is_handed_over) << "call " << i;
  }
  // They live as long as the results, whatever the module does meanwhile.
  for (size_t i = 0; i < results.size(); i++) {
    const double expected =
        (std::string(GetParam().name) == "input" ? 1.0 : 2.0) * (1.0 + static_cast<double>(i));
    EXPECT_EQ(results[i]->output(), std::vector<double>(GetParam().length, expected));
  }
  std::thread([&] { results.clear(); }).join();
}

INSTANTIATE_TEST_SUITE_P(All, Handover,
                         testing::Values(Way{"dict", true}, Way{"instance", true},
                                         Way{"whole view", true}, Way{"frozen", true},
                                         Way{"dict", false, 16}, Way{"part", false},
                                         Way{"kept", false}, Way{"kept view", false},
                                         Way{"kept base", false}, Way{"kept buffer", false},
                                         Way{"kept weakly", false}, Way{"kept container", false},
                                         Way{"input", false}, Way{"foreign", false}),
                         [](const auto &tested) {
                           std::string name = tested.param.name;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name + (tested.param.length == kLarge ? "" : "_small");
                         });

// The address of the gradient's memory, as the module has noted it.
uintptr_t last_gradient(const Component &component) {
  const Application asked(component, {{1.0}, R"({"way": "last"})"});
  EXPECT_EQ(asked.failure.status, TESSERACT_OK) << asked.failure.message;
  return asked.values()["address"].get<uintptr_t>();
}

TEST(HandoverOfGradients, IsAsThatOfResults) {
  const Component component("makes");
  std::vector<double> x(kLarge, 1.0), seed(kLarge, 3.0);
  int64_t shape[1] = {static_cast<int64_t>(kLarge)};
  const DLTensor x_tensor = tesseract_float64(x.data(), 1, shape);
  const DLTensor seed_tensor = tesseract_float64(seed.data(), 1, shape);
  const tesseract_leaf given = {TESSERACT_STR("x"), &x_tensor, nullptr};
  const tesseract_leaf seeds = {TESSERACT_STR("y"), &seed_tensor, nullptr};
  for (const bool kept : {false, true}) {
    for (int i = 0; i < 4; i++) {
      tesseract_leaves inputs = TESSERACT_LEAVES_INIT, cotangents = TESSERACT_LEAVES_INIT;
      inputs.count = cotangents.count = 1;
      inputs.items = &given;
      cotangents.items = &seeds;
      if (kept) inputs.json = TESSERACT_STR("{\"way\": \"kept\"}");
      tesseract_result *result = nullptr;
      tesseract_error *error = nullptr;
      const int32_t status =
          tesseract_vjp(component.get(), &inputs, &cotangents, nullptr, nullptr, &result, &error);
      ASSERT_EQ(Failure(status, error).status, TESSERACT_OK);
      const DLTensor *gradient = tesseract_result_tensor(result, 0);
      const auto *data = static_cast<const double *>(gradient->data);
      EXPECT_EQ(data[0], 6.0);
      EXPECT_EQ(data[kLarge - 1], 6.0);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(data) == last_gradient(component), !kept) << i;
      tesseract_result_free(result);
    }
  }
}

}  // namespace
}  // namespace loader_test
