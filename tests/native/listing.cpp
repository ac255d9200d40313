// Listing: texts from the description file beside a library, without running its code.
#include <nlohmann/json.hpp>

#include "support.h"

namespace {

using namespace test;
using nlohmann::json;

Outcome<Component> list(std::string_view source) {
  tesseract_open_options options = TESSERACT_OPEN_OPTIONS_INIT;
  options.flags = TESSERACT_OPEN_LISTING;
  return open(source, &options);
}

// The library ends the process when it is loaded.
TEST(Listing, RunsNoCode) {
  const auto listed = list(library("runs_code"));
  ASSERT_TRUE(succeeds(listed));
  EXPECT_EQ(text_of(listed.value, TESSERACT_TEXT_NAME), "listed");
  const json text = json::parse(text_of(listed.value, TESSERACT_TEXT_DESCRIPTION));
  EXPECT_EQ(text["inputs"][0]["path"], "x");
  EXPECT_EQ(text["threads"], "serial-per-instance") << "completed";
  EXPECT_FALSE(text_of(listed.value, TESSERACT_TEXT_OPENAPI).empty());
}

TEST(Listing, CanOnlyBeAskedForTexts) {
  const auto listed = list(library("runs_code"));
  Doubles x{1.0};
  Leaves inputs;
  inputs.add("x", x);
  const std::vector<int32_t> refused = {TESSERACT_ERROR_UNSUPPORTED, TESSERACT_ERROR_UNAVAILABLE};
  EXPECT_TRUE(fails(evaluate(listed.value, inputs), refused, {"listed"}));
  EXPECT_TRUE(fails(jacobian(listed.value, inputs), refused, {"listed"}));
  EXPECT_TRUE(fails(prepare(listed.value, signature(TESSERACT_ENDPOINT_APPLY, inputs)), refused,
                    {"listed"}));
}

TEST(Listing, NeedsTheFile) {
  EXPECT_TRUE(fails(list(library("square")),
                    {TESSERACT_ERROR_NOT_FOUND, TESSERACT_ERROR_UNSUPPORTED},
                    {"libsquare.so.json"}));
  EXPECT_TRUE(fails(list("/no/such/libthing.so"), TESSERACT_ERROR_NOT_FOUND, {"libthing.so"}));
}

TEST(Listing, OfAFolder) {
  const Folder folder;
  folder.copy("runs_code", "libthing.so");
  folder.write("libthing.so.json", R"({"name": "in a folder"})");
  const auto listed = list(folder.path());
  ASSERT_TRUE(succeeds(listed));
  EXPECT_EQ(text_of(listed.value, TESSERACT_TEXT_NAME), "in a folder");
}

TEST(Listing, BrokenFiles) {
  const Folder folder;
  const std::string library = folder.copy("runs_code", "libthing.so");
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  for (const std::string &text :
       {std::string(), std::string("{"), std::string("[]"), std::string("{\"thread\": 1}"),
        "{\"x-a\": " + deep + "}", std::string("{\"name\": \"\xff\"}")}) {
    folder.write("libthing.so.json", text);
    EXPECT_TRUE(fails(list(library), TESSERACT_ERROR_COMPONENT, {"libthing.so"}))
        << text.substr(0, 40);
  }
  folder.write("libthing.so.json", "{}");
  EXPECT_TRUE(succeeds(list(library)));
}

TEST(Listing, FileThatIsAFolder) {
  const Folder folder;
  const std::string library = folder.copy("runs_code", "libthing.so");
  std::filesystem::create_directory(library + ".json");
  EXPECT_FALSE(list(library).ok());
}

}  // namespace
