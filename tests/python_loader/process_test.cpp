// What the loader leaves alone in a process, and how processes with Python in them end.
#include "program.h"

namespace loader_test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Outcome ending(const std::string &verb, const std::string &leave) {
  return embed({verb, module_path("ending"), "{}", "{\"leave\": \"" + leave + "\"}"});
}

TEST(Ending, WithAnOpenComponent) {
  EXPECT_EQ(ending("leave", "nothing").code, 0);
}

TEST(Ending, WithBusyDaemonThreads) {
  const Outcome run = ending("leave", "daemon");
  EXPECT_EQ(run.code, 0) << run.output;
}

TEST(Ending, AfterClosing) {
  EXPECT_EQ(ending("json", "daemon").code, 0);
}

#ifdef __SANITIZE_ADDRESS__
constexpr bool kAddressSanitizer = true;
#else
constexpr bool kAddressSanitizer = false;
#endif

// Three threads call on and on, in a body that sleeps, computes, or is left at once.
class Busy : public testing::TestWithParam<std::pair<const char *, const char *>> {
 protected:
  static std::string inputs() { return GetParam().second; }
};

TEST_P(Busy, ProcessEnds) {
  const Outcome run = embed({"leave-busy", module_path("threads"), "{}", inputs()});
  EXPECT_EQ(run.code, 0) << run.output;
  EXPECT_EQ(run.output, "");
}

TEST_P(Busy, ProcessEndsWhereComponentsHaveThreads) {
  const std::string options = R"({"threads": "owner"})";
  const Outcome run = embed({"leave-busy", module_path("threads"), options, inputs()});
  EXPECT_EQ(run.code, 0) << run.output;
  EXPECT_EQ(run.output, "");
}

TEST_P(Busy, ShutdownWaitsForRunningCalls) {
  const Outcome run = embed({"shutdown-busy", module_path("threads"), "{}", inputs()});
  EXPECT_EQ(run.code, 0) << run.output;
  EXPECT_THAT(run.output, StartsWith("shut down\nerror 11:"));
}

TEST_P(Busy, InterpreterOfTheProgramEnds) {
  if (kAddressSanitizer)
    GTEST_SKIP() << "the sanitizer aborts where Python unwinds threads by force";
  Variables variables = clean_variables();
  variables["PYTHONPATH"] = ask_python("sysconfig.get_path('purelib')");
  const Outcome run =
      embed({"finalize-busy", module_path("threads"), "{}", library_of_tested_python(), inputs()},
            variables);
  EXPECT_EQ(run.code, 0) << run.output;
  EXPECT_THAT(run.output, StartsWith("finalized 0\nerror 11:"));
}

INSTANTIATE_TEST_SUITE_P(Bodies, Busy,
                         testing::Values(std::pair("Short", R"({"x": [1.0]})"),
                                         std::pair("Sleeping", R"({"x": [1.0], "pause": 0.2})"),
                                         std::pair("Computing", R"({"x": [1.0], "spin": 2.0})")),
                         [](const auto &body) { return body.param.first; });

TEST(Shutdown, FlushesAndRunsAtexitFunctions) {
  const Outcome run = ending("shutdown", "text and atexit");
  EXPECT_EQ(run.code, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("buffered text\n"));
  EXPECT_THAT(run.output, HasSubstr("atexit ran\n"));
  EXPECT_THAT(run.output, HasSubstr("shut down\n"));
}

TEST(Shutdown, JoinsThreads) {
  const Outcome run = ending("shutdown", "thread");
  EXPECT_EQ(run.code, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("thread finished\n"));
}

TEST(Shutdown, EndsIdlePoolsAndLeavesDaemonsAlone) {
  const Outcome run = ending("shutdown", "pool and daemon");
  EXPECT_EQ(run.code, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("shut down\n"));
}

TEST(Shutdown, IsBoundedAndNamesThreadsThatDoNotEnd) {
  const Outcome run = ending("shutdown", "endless");
  EXPECT_EQ(run.code, 1) << run.output;
  EXPECT_THAT(run.output, HasSubstr("error 11:"));
  EXPECT_THAT(run.output, HasSubstr("endless"));
}

TEST(Process, KeepsItsSignalHandlers) {
  const Outcome run = embed({"signal", module_path("scale")});
  EXPECT_EQ(run.code, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("handled 1\n"));
  EXPECT_THAT(run.output, Not(HasSubstr("changed")));
  EXPECT_THAT(run.output, Not(HasSubstr("KeyboardInterrupt")));
}

class Multiprocessing : public testing::TestWithParam<const char *> {};

TEST_P(Multiprocessing, WorksInModules) {
  const std::string method = GetParam();
  const std::string inputs = R"({"numbers": [1, 2, 3], "method": ")" + method + "\"}";
  for (const char *options : {"{}", R"({"threads": "owner"})"}) {
    // Processes of Python's own can't load a library that needs the sanitizer's runtime.
    const Outcome run =
        embed({"json", module_path("processes"), options, inputs},
              {{"PYTHONPATH", ""}, {"TESSERACT_HOST_ENGINE", kAddressSanitizer ? "0" : "1"}});
    EXPECT_EQ(run.code, 0) << run.output;
    EXPECT_THAT(run.output, HasSubstr(R"({"squares":[1,4,9],"cubes":[1,8,27]})"));
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, Multiprocessing, testing::Values("fork", "spawn", "forkserver"));

TEST(Process, ForkedChildIsRefusedAndTheParentGoesOn) {
  const Outcome run = embed({"fork", module_path("environment"), "{}", "{}"});
  EXPECT_EQ(run.code, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("error 11:"));
  EXPECT_THAT(run.output, HasSubstr("child ended with 0\n"));
  EXPECT_THAT(run.output, HasSubstr("\"prefix\""));
}

// The GIL's holder does not exist in the child, where nothing may wait for it.  Each of the two
// instances registers its function to run at the end of the parent.
TEST(Process, ForkedChildFreesWithoutPython) {
  const Outcome run = embed({"fork-end", module_path("gil")});
  EXPECT_EQ(run.code, 0) << run.output;
  EXPECT_EQ(run.output, "child ended with 0\n{\"held\":true}\natexit ran\natexit ran\nshut down\n");
}

}  // namespace
}  // namespace loader_test
