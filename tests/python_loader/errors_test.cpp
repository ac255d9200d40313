// What modules do wrong becomes an error of the call, and the component can be called again.
#include <fstream>

#include "component.h"
#include "folder.h"

namespace loader_test {
namespace {

using testing::HasSubstr;

Failure opening(const std::string &name) {
  return Component(name).opened;
}

Failure calling(const Component &component, const std::string &how) {
  return Application(component, {{}, "{\"how\": \"" + how + "\"}"}).failure;
}

TEST(Opening, TellsWhereTheSyntaxIsWrong) {
  const Folder folder;
  const std::string file = folder.path / "syntax_error.py";
  std::ofstream(file) << "def apply(inputs:\n";
  const Failure failure = Component(file).opened;
  EXPECT_EQ(failure.status, TESSERACT_ERROR_COMPONENT);
  EXPECT_THAT(failure.message, HasSubstr("syntax_error.py"));
  EXPECT_THAT(failure.traceback, HasSubstr("SyntaxError"));
}

TEST(Opening, GivesTheTracebackOfTheImport) {
  const Failure failure = opening("broken/raises.py");
  EXPECT_EQ(failure.status, TESSERACT_ERROR_COMPONENT);
  EXPECT_THAT(failure.message, HasSubstr("no licence found"));
  EXPECT_THAT(failure.traceback, HasSubstr("raise RuntimeError(\"no licence found\")"));
}

TEST(Opening, NamesAMissingPackage) {
  const Failure failure = opening("broken/missing_import.py");
  EXPECT_EQ(failure.status, TESSERACT_ERROR_COMPONENT);
  EXPECT_THAT(failure.message, HasSubstr("a_package_that_nobody_has"));
}

TEST(Opening, SurvivesAModuleThatExits) {
  const Failure failure = opening("broken/exits.py");
  EXPECT_EQ(failure.status, TESSERACT_ERROR_COMPONENT);
  EXPECT_THAT(failure.message, HasSubstr("SystemExit: 4"));
  EXPECT_THAT(failure.traceback, HasSubstr("SystemExit"));
}

TEST(Opening, SurvivesAKeyboardInterrupt) {
  const Failure failure = opening("broken/interrupts.py");
  EXPECT_EQ(failure.status, TESSERACT_ERROR_COMPONENT);
  EXPECT_THAT(failure.traceback, HasSubstr("KeyboardInterrupt"));
}

TEST(Opening, SurvivesEndlessRecursion) {
  const Failure failure = opening("broken/recurses.py");
  EXPECT_EQ(failure.status, TESSERACT_ERROR_COMPONENT);
  EXPECT_THAT(failure.message + failure.traceback, HasSubstr("recursion"));
}

TEST(Opening, NamesAMissingApply) {
  const Failure failure = opening("broken/no_apply.py");
  EXPECT_NE(failure.status, TESSERACT_OK);
  EXPECT_THAT(failure.message, HasSubstr("apply"));
}

TEST(Opening, NamesAMissingFile) {
  const Failure failure = opening("broken/nowhere.py");
  EXPECT_EQ(failure.status, TESSERACT_ERROR_NOT_FOUND);
  EXPECT_THAT(failure.message, HasSubstr("nowhere.py"));
}

TEST(Opening, TakesAFileOfAnyNameWhenToldItIsAModule) {
  const Folder folder;
  const std::string file = folder.path / "a model, version 2.txt";
  std::ofstream(file) << std::ifstream(module_path("scale/tesseract_api.py")).rdbuf();
  const Component component(file, "{}", tesseract_from_tesseract_api);
  ASSERT_EQ(component.opened.status, TESSERACT_OK) << component.opened.message;
  EXPECT_EQ(Application(component, {{1.0, 3.0}}).output(), (std::vector<double>{2.0, 18.0}));
}

TEST(Opening, NamesAFolderWithoutAModule) {
  const Component component("broken", "{}", tesseract_from_tesseract_api);
  EXPECT_EQ(component.opened.status, TESSERACT_ERROR_NOT_FOUND);
  EXPECT_THAT(component.opened.message, HasSubstr("tesseract_api.py"));
}

TEST(Opening, RefusesUnknownOptions) {
  const Component component("scale", R"({"colour": "green"})");
  EXPECT_EQ(component.opened.status, TESSERACT_ERROR_INVALID_ARGUMENT);
  EXPECT_THAT(component.opened.message, HasSubstr("colour"));
  for (const char *known : {" gpu_transport,", " loader,", " python,", " strict,", " threads"}) {
    EXPECT_THAT(component.opened.message, HasSubstr(known));
  }
}

TEST(Opening, RefusesWrongTypesOfOwnOptions) {
  for (const char *options : {R"({"strict": 1})", R"({"python": 3})", R"({"python": ""})"}) {
    EXPECT_EQ(Component("scale", options).opened.status, TESSERACT_ERROR_INVALID_ARGUMENT)
        << options;
  }
}

TEST(Opening, CanBeTriedAgainAfterAFailure) {
  ASSERT_NE(opening("broken/raises.py").status, TESSERACT_OK);
  const Component component("scale");
  ASSERT_EQ(component.opened.status, TESSERACT_OK) << component.opened.message;
  EXPECT_EQ(Application(component, {{1.0, 3.0}}).output(), (std::vector<double>{2.0, 18.0}));
}

// Each way of failing, on one component, which must still work afterwards.
class Calling : public testing::TestWithParam<std::pair<const char *, const char *>> {};

TEST_P(Calling, FailsWithATracebackAndWorksAgain) {
  const auto [how, expected] = GetParam();
  const Component component("misbehaving");
  ASSERT_EQ(component.opened.status, TESSERACT_OK) << component.opened.message;
  for (int i = 0; i < 3; i++) {
    const Failure failure = calling(component, how);
    EXPECT_NE(failure.status, TESSERACT_OK);
    EXPECT_THAT(failure.message + failure.traceback, HasSubstr(expected));
  }
  EXPECT_EQ(calling(component, "not").status, TESSERACT_OK);
}

INSTANTIATE_TEST_SUITE_P(
    Ways, Calling,
    testing::Values(std::pair("raise", "the mesh is tangled"), std::pair("exit", "SystemExit"),
                    std::pair("interrupt", "KeyboardInterrupt"), std::pair("recurse", "recursion"),
                    std::pair("memory", "MemoryError"), std::pair("shape", "y"),
                    std::pair("none", "OutputSchema"), std::pair("unprintable", "Unprintable")),
    [](const auto &way) { return std::string(way.param.first); });

TEST(Calling, TracebackNamesTheLineInTheModule) {
  const Component component("misbehaving");
  const Failure failure = calling(component, "raise");
  EXPECT_EQ(failure.status, TESSERACT_ERROR_COMPONENT);
  EXPECT_THAT(failure.traceback, HasSubstr("in unhappy_helper"));
  EXPECT_THAT(failure.traceback, HasSubstr("misbehaving/tesseract_api.py"));
}

TEST(Calling, ReportsLackOfMemoryAsSuch) {
  const Component component("misbehaving");
  EXPECT_EQ(calling(component, "memory").status, TESSERACT_ERROR_OUT_OF_MEMORY);
}

TEST(Calling, HandsPrintedTextToTheLog) {
  Component component("misbehaving");
  testing::internal::CaptureStdout();
  EXPECT_EQ(calling(component, "print").status, TESSERACT_OK);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_THAT(component.log.lines, HasSubstr("5 a word from the module"));
}

TEST(Calling, HandsWarningsToTheLog) {
  Component component("misbehaving");
  testing::internal::CaptureStderr();
  EXPECT_EQ(calling(component, "warn").status, TESSERACT_OK);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_THAT(component.log.lines, HasSubstr("3 UserWarning: the mesh is coarse ("));
}

TEST(Isolation, GivesEachModuleItsOwnHelper) {
  const Component one("helper_one"), two("helper_two");
  ASSERT_EQ(one.opened.status, TESSERACT_OK) << one.opened.message;
  ASSERT_EQ(two.opened.status, TESSERACT_OK) << two.opened.message;
  for (int i = 0; i < 2; i++) {
    EXPECT_EQ(Application(one, {}).values().at("in_call"), "one");
    EXPECT_EQ(Application(two, {}).values().at("in_call"), "two");
  }
  EXPECT_EQ(Application(one, {}).values().at("at_import"), "one");
  EXPECT_EQ(Application(two, {}).values().at("at_import"), "two");
}

}  // namespace
}  // namespace loader_test
