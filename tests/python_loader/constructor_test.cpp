// Instances of output classes, which the module makes: the module "constructs" compares them with
// those of pydantic's.
#include "prepared.h"

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

// The module "remakes" looks at each instance, and at what it has kept of earlier ones; it keeps or
// changes it in one of `ways`, made of arrays of several `kinds`.
TEST(InstancesOfPreparedCalls, AreNewEachTime) {
  constexpr int ways = 14, kinds = 5;
  const Component component("remakes");
  ASSERT_EQ(component.opened.status, TESSERACT_OK) << component.opened.message;
  Prepared call(component, TESSERACT_ENDPOINT_APPLY, {"code", "x"}, {"y"});
  double first = 0;
  const auto run = [&](int way, int kind, size_t length) {
    const Numbers code(100.0 * kind + way), x(Vector(length, ++first));
    Numbers y(Vector(length, 0.0));
    ASSERT_EQ(call.run({&code.tensor, &x.tensor}, {&y.tensor}), TESSERACT_OK)
        << way << " " << kind << call.failure.message << call.failure.traceback;
    EXPECT_EQ(y.values(), Vector(length, 2 * first)) << way << " " << kind;
  };
  for (int way = 0; way < ways; way++) {
    for (int kind = 0; kind < kinds; kind++) {
      for (const size_t length : {3u, 3u, 2u, 3u}) run(way, kind, length);
      run(0, kind, 3);
      run(0, 0, 3);
    }
  }
}

// The same of the dict of cotangents.
TEST(VectorsOfPreparedCalls, AreNewEachTime) {
  const Component component("remakes");
  ASSERT_EQ(component.opened.status, TESSERACT_OK) << component.opened.message;
  Prepared call(component, TESSERACT_ENDPOINT_VJP, {"code", "x"}, {"y"}, {"x"});
  double first = 0;
  for (const double way : {0, 0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0, 4, 0, 0, 4, 0, 0}) {
    const size_t length = static_cast<size_t>(first) % 4 == 3 ? 2 : 3;
    const Numbers code(way), x(Vector(length, 1.0)), seed(Vector(length, ++first));
    Numbers gradient(Vector(length, 0.0));
    ASSERT_EQ(call.run({&code.tensor, &x.tensor, &seed.tensor}, {&gradient.tensor}), TESSERACT_OK)
        << way << call.failure.message << call.failure.traceback;
    EXPECT_EQ(gradient.values(), Vector(length, 2 * first)) << way;
  }
}

}  // namespace
}  // namespace loader_test
