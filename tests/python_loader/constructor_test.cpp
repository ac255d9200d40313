// Instances of output classes, which the module makes: the module "constructs" compares them with
// those of pydantic's.
#include "component.h"

namespace loader_test {
namespace {

class Instances : public testing::TestWithParam<const char *> {};

TEST_P(Instances, AreThoseOfPydantic) {
  const Component component("constructs");
  ASSERT_EQ(component.opened.status, TESSERACT_OK) << component.opened.message;
  for (int i = 0; i < 3; i++) {
    const std::string json = std::string("{\"how\": \"") + GetParam() + "\"}";
    const Application application(component, {{}, json});
    ASSERT_EQ(application.failure.status, TESSERACT_OK)
        << application.failure.message << application.failure.traceback;
    EXPECT_EQ(application.values().at("problems"), nlohmann::json::array());
  }
}

INSTANTIATE_TEST_SUITE_P(Classes, Instances, testing::Values("all", "change"));

// Classes end with their modules.
TEST(ClassesWithInstances, MayComeAndGo) {
  for (int i = 0; i < 20; i++) {
    const Component component("constructs");
    const Application application(component, {{}, "{}"});
    EXPECT_EQ(application.values().at("problems"), nlohmann::json::array());
  }
}

}  // namespace
}  // namespace loader_test
