// Modules that do what they must not: a clear error, with the traceback where there is one; the
// process, the component, where it opened at all, and the other components go on.
#include <unistd.h>

#include <fstream>

#include "component.h"

namespace loader_test {
namespace {

using testing::HasSubstr;

// Another component, opened before, works.
void expect_others_work(const Component &other) {
  const Application application(other, {{1.0, 3.0}});
  EXPECT_EQ(application.failure.status, TESSERACT_OK) << application.failure.message;
  EXPECT_EQ(application.output(), (std::vector<double>{2.0, 18.0}));
}

struct Bad {
  const char *name;
  int32_t status;  // TESSERACT_OK: what it does is harmless
  const char *message;
  const char *traceback;
};

std::string name_of(const testing::TestParamInfo<Bad> &info) {
  return info.param.name;
}

// ---- When they are opened -----------------------------------------------------------------------

class Opening : public testing::TestWithParam<Bad> {};

TEST_P(Opening, Fails) {
  const Bad &bad = GetParam();
  const Component other("scale");
  for (const char *options : {"{}", R"({"threads": "owner"})"}) {
    for (int i = 0; i < 2; i++) {
      const Component component(std::string("bad/") + bad.name, options);
      EXPECT_EQ(component.opened.status, bad.status) << component.opened.message;
      EXPECT_THAT(component.opened.message, HasSubstr(bad.message));
      EXPECT_THAT(component.opened.message, HasSubstr(bad.name)) << "where it is";
      EXPECT_THAT(component.opened.traceback, HasSubstr(bad.traceback));
    }
  }
  expect_others_work(other);
}

INSTANTIATE_TEST_SUITE_P(
    Modules, Opening,
    testing::Values(Bad{"no_input_schema", TESSERACT_ERROR_COMPONENT, "InputSchema", ""},
                    Bad{"no_output_schema", TESSERACT_ERROR_COMPONENT, "OutputSchema", ""},
                    Bad{"schema_is_no_model", TESSERACT_ERROR_COMPONENT, "InputSchema", ""},
                    Bad{"apply_is_no_function", TESSERACT_ERROR_COMPONENT, "apply", ""},
                    Bad{"own_base_exception_at_import", TESSERACT_ERROR_COMPONENT,
                        "Abandoned: the licence server left",
                        "raise Abandoned(\"the licence server left\")"}),
    name_of);

// ---- When they are called -----------------------------------------------------------------------

class Calling : public testing::TestWithParam<Bad> {};

TEST_P(Calling, FailsOrIsHarmless) {
  const Bad &bad = GetParam();
  const Component other("scale");
  for (const char *options : {"{}", R"({"threads": "owner"})", R"({"strict": true})"}) {
    Component component(std::string("bad/") + bad.name, options);
    ASSERT_EQ(component.opened.status, TESSERACT_OK) << component.opened.message;
    const bool keeps = bad.name == std::string("starts_threads");
    if (keeps && options == std::string(R"({"strict": true})")) continue;  // see escapes
    for (int i = 0; i < 4; i++) {
      std::vector<double> memory = {double(i), 2.0, 3.0};
      const Application application(component, {memory});
      EXPECT_EQ(application.failure.status, bad.status) << application.failure.message;
      EXPECT_THAT(application.failure.message, HasSubstr(bad.message));
      EXPECT_THAT(application.failure.traceback, HasSubstr(bad.traceback));
      EXPECT_EQ(application.output(), bad.status ? std::vector<double>{} : memory) << i;
    }
    expect_others_work(other);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Modules, Calling,
    testing::Values(
        Bad{"apply_without_arguments", TESSERACT_ERROR_COMPONENT, "TypeError: apply() takes 0",
            "TypeError"},
        Bad{"writes_inputs", TESSERACT_ERROR_COMPONENT, "read-only", "inputs.x[0] = 7.0"},
        Bad{"returns_a_list", TESSERACT_ERROR_COMPONENT, "OutputSchema", "ValidationError"},
        Bad{"returns_too_much", TESSERACT_ERROR_COMPONENT, "z", "ValidationError"},
        Bad{"returns_text", TESSERACT_ERROR_COMPONENT, "y", "ValidationError"},
        Bad{"own_base_exception", TESSERACT_ERROR_COMPONENT, "Abandoned: the mesh ran away",
            "raise Abandoned(\"the mesh ran away\")"},
        Bad{"recurses_in_a_validator", TESSERACT_ERROR_COMPONENT, "recursion", "deeper"},
        Bad{"returns_inputs", TESSERACT_OK, "", ""}, Bad{"changes_directory", TESSERACT_OK, "", ""},
        Bad{"prints_megabytes", TESSERACT_OK, "", ""}, Bad{"starts_threads", TESSERACT_OK, "", ""},
        Bad{"fails_in_finalizers", TESSERACT_OK, "", ""},
        Bad{"exits_in_a_thread", TESSERACT_OK, "", ""}),
    name_of);

TEST(Calling, KeepsWhatIsPrinted) {
  Component component("bad/prints_megabytes");
  testing::internal::CaptureStdout();
  EXPECT_EQ(Application(component, {{1.0}}).failure.status, TESSERACT_OK);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_GT(component.log.lines.size(), 4'000'000u);
}

TEST(Calling, LogsWhatFinalizersRaise) {
  Component component("bad/fails_in_finalizers");
  testing::internal::CaptureStderr();
  EXPECT_EQ(Application(component, {{1.0}}).failure.status, TESSERACT_OK);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_THAT(component.log.lines, HasSubstr("3 exception ignored in <function Node.__del__"));
  EXPECT_THAT(component.log.lines, HasSubstr("RuntimeError: a finalizer failed"));
}

TEST(Calling, NamesTheArgumentsOfADerivative) {
  const Component component("bad/derivative_with_other_names");
  ASSERT_EQ(component.opened.status, TESSERACT_OK) << component.opened.message;
  double data[] = {1.0, 2.0};
  int64_t shape[] = {2};
  const DLTensor tensor = tesseract_float64(data, 1, shape);
  const tesseract_leaf given = {TESSERACT_STR("x"), &tensor, nullptr};
  const tesseract_leaf seed = {TESSERACT_STR("y"), &tensor, nullptr};
  tesseract_leaves inputs = TESSERACT_LEAVES_INIT, seeds = TESSERACT_LEAVES_INIT;
  inputs.count = seeds.count = 1;
  inputs.items = &given;
  seeds.items = &seed;
  tesseract_result *result = nullptr;
  tesseract_error *error = nullptr;
  const int32_t status =
      tesseract_vjp(component.get(), &inputs, &seeds, nullptr, nullptr, &result, &error);
  const Failure failure(status, error);
  EXPECT_EQ(failure.status, TESSERACT_ERROR_COMPONENT);
  EXPECT_THAT(failure.message, HasSubstr("unexpected keyword argument 'vjp_inputs'"));
  EXPECT_THAT(failure.traceback, HasSubstr("TypeError"));
  EXPECT_EQ(Application(component, {{1.0}}).failure.status, TESSERACT_OK);
}

// Where returned inputs go to a destination that is the input itself, or beside it.
TEST(Calling, ReturnedInputsAreTheCallersOwn) {
  const Component component("bad/returns_inputs");
  std::vector<double> memory = {1.0, 2.0};
  for (int i = 0; i < 3; i++) {
    const Application application(component, {memory}, memory.data(), nullptr);
    ASSERT_EQ(application.failure.status, TESSERACT_OK) << application.failure.message;
    const std::vector<double> before = application.output();
    memory[0] += 1.0;  // a result does not change with its inputs
    EXPECT_EQ(application.output(), before);
  }
}

// ---- When they are edited -----------------------------------------------------------------------

void write_module(const Folder &folder, int version) {
  std::ofstream(folder.path / "helper.py") << "VERSION = " << version << "\n";
  std::ofstream(folder.path / "late.py") << "VERSION = " << version << "\n";
  std::ofstream(folder.path / "tesseract_api.py")
      << "from pydantic import BaseModel\n"
         "import helper\n"
         "class InputSchema(BaseModel): fail: bool = False\n"
         "class OutputSchema(BaseModel): here: int; there: int\n"
         "def apply(inputs):\n"
         "    import helper\n"
      << std::string(static_cast<size_t>(version), '\n')
      << "    if inputs.fail: raise ValueError('version " << version
      << "')\n    return {'here': " << version << ", 'there': helper.VERSION}\n";
}

TEST(Editing, LeavesWhatWasLoaded) {
  const Folder folder;
  write_module(folder, 1);
  const std::string path = folder.path.string();
  const Component before(path);
  ASSERT_EQ(before.opened.status, TESSERACT_OK) << before.opened.message;
  EXPECT_EQ(Application(before, {}).values().at("here"), 1);
  write_module(folder, 2);
  const Component after(path);
  for (int i = 0; i < 2; i++) {
    EXPECT_EQ(Application(before, {}).values(), (nlohmann::json{{"here", 1}, {"there", 1}}));
    EXPECT_EQ(Application(after, {}).values(), (nlohmann::json{{"here", 2}, {"there", 2}}));
  }
  std::ofstream(folder.path / "tesseract_api.py") << "def apply(inputs:\n";
  EXPECT_EQ(Application(before, {}).values().at("here"), 1);
  const Component broken(path);
  EXPECT_EQ(broken.opened.status, TESSERACT_ERROR_COMPONENT);
  std::filesystem::remove(folder.path / "tesseract_api.py");
  EXPECT_EQ(Application(after, {}).values().at("here"), 2);
  const Application failed(after, {{}, R"({"fail": true})"});
  EXPECT_THAT(failed.failure.traceback, HasSubstr("ValueError: version 2"));
}

}  // namespace
}  // namespace loader_test
