// Opening: sources, options, and libraries that are no components.
#include <atomic>
#include <cstdlib>

#include "puppet.h"

namespace {

using namespace test;

TEST(Open, SharedLibrary) {
  const auto square = component("square");
  EXPECT_EQ(text_of(square, TESSERACT_TEXT_NAME), "square");
  EXPECT_TRUE(usable(square));
}

TEST(Open, NulTerminatedSource) {
  tesseract_component *opened = nullptr;
  ASSERT_EQ(tesseract_open(library("square").c_str(), TESSERACT_NTS, nullptr, &opened, nullptr),
            TESSERACT_OK);
  EXPECT_TRUE(usable(Component(opened)));
}

TEST(Open, SourceEndsAtItsLength) {
  const std::string longer = library("square") + "/not/this";
  EXPECT_TRUE(succeeds(open(std::string_view(longer).substr(0, library("square").size()))));
}

TEST(Open, FolderWithALibrary) {
  const Folder folder;
  folder.copy("square", "libsquare.so");
  const auto outcome = open(folder.path());
  ASSERT_TRUE(succeeds(outcome));
  EXPECT_TRUE(usable(outcome.value));
}

TEST(Open, TwiceGivesTwoInstances) {
  const auto one = component("stateful"), two = component("stateful");
  Doubles x{1.0};
  Leaves inputs;
  inputs.add("x", x);
  evaluate(one, inputs);
  EXPECT_EQ(values_of<int64_t>(evaluate(one, inputs), 1), std::vector<int64_t>{2});
  EXPECT_EQ(values_of<int64_t>(evaluate(two, inputs), 1), std::vector<int64_t>{1});
}

TEST(Open, NothingOpenedCanBeClosed) {
  tesseract_close(nullptr);
}

TEST(Open, NullArgumentsAreRefused) {
  tesseract_component *opened = nullptr;
  EXPECT_EQ(tesseract_open(nullptr, 3, nullptr, &opened, nullptr),
            TESSERACT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(tesseract_open(nullptr, TESSERACT_NTS, nullptr, &opened, nullptr),
            TESSERACT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(tesseract_open(library("square").c_str(), TESSERACT_NTS, nullptr, nullptr, nullptr),
            TESSERACT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(opened, nullptr);
}

// ---- Sources that are none ----------------------------------------------------------------------

TEST(Open, MissingFile) {
  EXPECT_TRUE(
      fails(open("/no/such/libthing.so"), TESSERACT_ERROR_NOT_FOUND, {"/no/such/libthing.so"}));
  EXPECT_TRUE(fails(open(""), {TESSERACT_ERROR_NOT_FOUND, TESSERACT_ERROR_INVALID_ARGUMENT}));
}

TEST(Open, FolderWithoutAComponent) {
  const Folder folder;
  EXPECT_TRUE(fails(open(folder.path()), TESSERACT_ERROR_NOT_FOUND, {folder.path()}));
}

TEST(Open, FolderNamedAsALibrary) {
  const Folder folder;
  std::filesystem::create_directory(folder.path("libthing.so"));
  EXPECT_TRUE(fails(open(folder.path("libthing.so")), TESSERACT_ERROR_NOT_FOUND, {"libthing.so"}));
}

TEST(Open, SourceWithANulIsNotCutThere) {
  EXPECT_TRUE(fails(open(library("square") + std::string(1, '\0') + "x"),
                    {TESSERACT_ERROR_NOT_FOUND, TESSERACT_ERROR_INVALID_ARGUMENT}));
}

TEST(Open, SourceThatIsNoUtf8) {
  EXPECT_TRUE(fails(open("/tmp/\xff\xfe.so"),
                    {TESSERACT_ERROR_NOT_FOUND, TESSERACT_ERROR_INVALID_ARGUMENT}));
}

TEST(Open, SourceOfAnyLength) {
  EXPECT_TRUE(fails(open(std::string(1 << 20, 'a') + ".so"),
                    {TESSERACT_ERROR_NOT_FOUND, TESSERACT_ERROR_INVALID_ARGUMENT}));
}

// Which status says "this file is no component" is the loader's choice among these.
const std::vector<int32_t> no_component = {TESSERACT_ERROR_COMPONENT, TESSERACT_ERROR_NOT_FOUND};

TEST(Open, FilesThatAreNoLibraries) {
  const Folder folder;
  const std::string elf =
      "\x7f"
      "ELF\x02\x01\x01";
  const std::pair<const char *, std::string> files[] = {
      {"libempty.so", ""}, {"libtext.so", "not a library\n"}, {"libmagic.so", elf}};
  for (const auto &[name, content] : files)
    EXPECT_TRUE(fails(open(folder.write(name, content)), no_component, {name})) << name;
}

// A copy that broke off halfway, which the dynamic loader maps without looking.
TEST(OpenDeathTest, LibraryThatIsCutOff) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  static const Folder folder;  // removed at exit too
  std::string half(2000, '\0');
  std::ifstream(library("square"), std::ios::binary).read(half.data(), 2000);
  const std::string path = folder.write("libhalf.so", half);
  EXPECT_EXIT(std::exit(fails(open(path), no_component, {"libhalf.so"}) ? 0 : 1),
              testing::ExitedWithCode(0), "");
}

TEST(Open, LibraryWithoutEntry) {
  EXPECT_TRUE(
      fails(open(library("no_entry")), no_component, {"libno_entry.so", "tesseract_plugin_v1"}));
}

TEST(Open, LibraryWithAMissingSymbol) {
  EXPECT_TRUE(fails(open(library("missing_symbol")), no_component,
                    {"libmissing_symbol.so", "function_that_no_library_has"}));
}

TEST(Open, FailuresLeaveTheNextOpenAlone) {
  for (int i = 0; i < 3; i++) {
    EXPECT_FALSE(open(library("no_entry")).ok());
    EXPECT_TRUE(usable(component("square")));
  }
}

// ---- Options ------------------------------------------------------------------------------------

TEST(OpenOptions, ReachTheComponent) {
  const auto stateful = component("stateful", R"({"gain": 3})");
  Doubles x{1.0, 2.0};
  Leaves inputs;
  inputs.add("x", x);
  EXPECT_EQ(values_of(evaluate(stateful, inputs)), (std::vector<double>{3.0, 6.0}));
}

TEST(OpenOptions, UnknownKeyIsRefusedByTheComponent) {
  EXPECT_TRUE(fails(open(library("stateful"), R"({"gian": 3})"), TESSERACT_ERROR_INVALID_ARGUMENT,
                    {"stateful", "gian"}));
}

TEST(OpenOptions, ComponentWithoutCreateTakesNone) {
  EXPECT_TRUE(fails(open(library("square"), R"({"gain": 3})"), TESSERACT_ERROR_INVALID_ARGUMENT,
                    {"square", "options"}));
  EXPECT_TRUE(succeeds(open(library("square"), "{}")));
}

TEST(OpenOptions, LoaderByName) {
  EXPECT_TRUE(succeeds(open(library("square"), R"({"loader": "native"})")));
  EXPECT_TRUE(fails(open(library("square"), R"({"loader": "no-such-loader"})"),
                    TESSERACT_ERROR_NOT_FOUND, {"no-such-loader"}));
  EXPECT_TRUE(fails(open(library("square"), R"({"loader": 1})"), TESSERACT_ERROR_INVALID_ARGUMENT));
}

TEST(OpenOptions, LoaderIsNotPassedOn) {
  EXPECT_TRUE(succeeds(open(library("stateful"), R"({"loader": "native", "gain": 2})")));
}

TEST(OpenOptions, BrokenJson) {
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  for (const std::string &json :
       {std::string("{"), std::string("[]"), std::string("3"), std::string("{\"gain\": 1} x"),
        std::string("{\"gain\": \"\xff\"}"), "{\"gain\": " + deep + "}"})
    EXPECT_TRUE(fails(open(library("stateful"), json), TESSERACT_ERROR_INVALID_ARGUMENT))
        << json.substr(0, 40);
}

TEST(OpenOptions, JsonPointerIsChecked) {
  tesseract_open_options options = TESSERACT_OPEN_OPTIONS_INIT;
  options.json = {nullptr, 2};
  EXPECT_TRUE(fails(open(library("square"), &options), TESSERACT_ERROR_INVALID_ARGUMENT));
}

// ---- The log's owner ----------------------------------------------------------------------------

tesseract_open_options counting(std::atomic<int> &freed) {
  tesseract_open_options options = TESSERACT_OPEN_OPTIONS_INIT;
  options.log = [](void *, int32_t, const char *, uint64_t) {};
  options.log_data = &freed;
  options.log_free = [](void *data) { ++*static_cast<std::atomic<int> *>(data); };
  return options;
}

TEST(OpenOptions, LogIsFreedOnceAfterTheLastReference) {
  std::atomic<int> freed = 0;
  const auto options = counting(freed);
  auto square = open(library("square"), &options);
  ASSERT_TRUE(succeeds(square));
  auto call = prepare(square.value, signature(TESSERACT_ENDPOINT_APPLY, Leaves{"x"}));
  square.value.reset();
  EXPECT_EQ(freed, 0);
  call.value.reset();
  EXPECT_EQ(freed, 1);
}

TEST(OpenOptions, LogIsFreedWhenOpeningFails) {
  std::atomic<int> freed = 0;
  auto options = counting(freed);
  EXPECT_FALSE(open("/no/such/libthing.so", &options).ok());
  EXPECT_EQ(freed, 1);
  EXPECT_FALSE(open(library("no_entry"), &options).ok());
  EXPECT_EQ(freed, 2);
  options.json = TESSERACT_STR("{\"gain\": \"no number\"}");
  EXPECT_FALSE(open(library("stateful"), &options).ok());
  EXPECT_EQ(freed, 3);
}

TEST(OpenOptions, LogFreeMayStandAlone) {
  std::atomic<int> freed = 0;
  auto options = counting(freed);
  options.log = nullptr;
  open(library("square"), &options).value.reset();
  EXPECT_EQ(freed, 1);
}

}  // namespace
