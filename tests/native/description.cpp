// What a component says about itself: the texts, and descriptions that break docs/description.md.
#include <nlohmann/json.hpp>

#include "puppet.h"

namespace {

using namespace test;
using nlohmann::json;

json description_of(const Component &component) {
  return json::parse(text_of(component, TESSERACT_TEXT_DESCRIPTION));
}

TEST(Description, IsCompleted) {
  const auto square = component("square");
  const json text = description_of(square);
  EXPECT_EQ(text["name"], "square");
  EXPECT_EQ(text["threads"], "concurrent");
  EXPECT_EQ(text["reentrant"], false);
  EXPECT_EQ(text["floating_point"], "caller");
  EXPECT_EQ(text["overlap"], false);
  EXPECT_EQ(text["devices"], json::array({"cpu"}));
  EXPECT_EQ(text["stream_ordered"], true);
  EXPECT_EQ(text["capture_safe"], false);
  EXPECT_EQ(text["multi_device"], false);
  EXPECT_EQ(text["checks"], "host");
  ASSERT_EQ(text["inputs"].size(), 2u);
  ASSERT_EQ(text["outputs"].size(), 1u);
  const json &x = text["inputs"][0], &a = text["inputs"][1];
  EXPECT_EQ(x["path"], "x");
  EXPECT_EQ(x["dtype"], "float64");
  EXPECT_EQ(x["shape"], json::array({"n"}));
  EXPECT_EQ(x["differentiable"], true);
  EXPECT_EQ(x["required"], true);
  EXPECT_EQ(x["layout"], "row-major");
  EXPECT_EQ(x["alignment"], 8);
  EXPECT_EQ(a["required"], false);
  EXPECT_EQ(a["default"], 1.0);
  EXPECT_EQ(a["shape"], json::array());
}

TEST(Description, ListsEndpoints) {
  // Names stand in the text of the member, whatever its form.
  const auto endpoints = [](std::string_view name) {
    return description_of(component(name))["endpoints"].dump();
  };
  EXPECT_NE(endpoints("square").find("apply"), std::string::npos);
  EXPECT_NE(endpoints("square").find("vjp"), std::string::npos);
  EXPECT_NE(endpoints("only_jacobian").find("jvp"), std::string::npos) << "derived ones too";
  EXPECT_NE(endpoints("only_jacobian"), endpoints("square")) << "and marked as derived";
  EXPECT_EQ(endpoints("apply_only").find("vjp"), std::string::npos);
}

TEST(Description, TextsAreStable) {
  const auto square = component("square");
  for (const int32_t which :
       {TESSERACT_TEXT_DESCRIPTION, TESSERACT_TEXT_OPENAPI, TESSERACT_TEXT_NAME}) {
    const char *first = nullptr, *again = nullptr;
    uint64_t length = 0;
    ASSERT_EQ(tesseract_component_text(square.get(), which, &first, &length, nullptr),
              TESSERACT_OK);
    ASSERT_EQ(tesseract_component_text(square.get(), which, &again, nullptr, nullptr),
              TESSERACT_OK);
    EXPECT_EQ(first, again);
    EXPECT_EQ(first[length], '\0');
    EXPECT_EQ(std::string_view(first).size(), length);
  }
}

TEST(Description, OpenapiNamesEveryLeaf) {
  const json text = json::parse(text_of(component("values"), TESSERACT_TEXT_OPENAPI));
  const std::string all = text.dump();
  for (const char *name : {"x", "method", "steps", "seen", "euler"})
    EXPECT_NE(all.find('"' + std::string(name) + '"'), std::string::npos) << name;
  EXPECT_TRUE(text.contains("paths"));
}

TEST(Description, NameIsTheFilesByDefault) {
  Puppet puppet;
  puppet.description = "{}";
  EXPECT_NE(text_of(puppet.opened(), TESSERACT_TEXT_NAME).find("puppet"), std::string::npos);
}

TEST(Description, TextArgumentsAreChecked) {
  const auto square = component("square");
  const char *text = nullptr;
  EXPECT_EQ(tesseract_component_text(nullptr, TESSERACT_TEXT_NAME, &text, nullptr, nullptr),
            TESSERACT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(tesseract_component_text(square.get(), TESSERACT_TEXT_NAME, nullptr, nullptr, nullptr),
            TESSERACT_ERROR_INVALID_ARGUMENT);
  for (const int32_t which : {0, -1, 99})
    EXPECT_EQ(tesseract_component_text(square.get(), which, &text, nullptr, nullptr),
              TESSERACT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(text, nullptr);
}

// ---- Accepted -----------------------------------------------------------------------------------

TEST(Description, OfANewerKindIsAccepted) {
  Puppet puppet;
  puppet.description = R"({"name": "puppet", "x-ours": {"any": "thing"}, "version": "3",
    "description": "Ünïcode", "inputs": [{"path": "x", "dtype": "float64", "shape": ["n"],
      "units": "m", "description": "where", "x-mine": 1, "alignment": 64}],
    "outputs": [{"path": "y", "dtype": "float64", "shape": ["n"]}]})";
  EXPECT_TRUE(identity_works(puppet.opened()));
}

TEST(Description, EveryDtype) {
  for (const char *dtype : {"float16", "bfloat16", "float32", "float64", "int8", "int16", "int32",
                            "int64", "uint8", "uint16", "uint32", "uint64", "bool", "complex64",
                            "complex128", "float8_e4m3fn", "float8_e5m2"}) {
    Puppet puppet;
    puppet.description =
        std::string(R"({"inputs": [{"path": "x", "shape": [], "dtype": ")") + dtype + R"("}]})";
    EXPECT_TRUE(succeeds(puppet.open())) << dtype;
  }
}

TEST(Description, EveryKindOfShape) {
  for (const char *shape : {"[]", "[3]", "[0]", "[\"n\", \"n\"]", "[null, 3]", "null"}) {
    Puppet puppet;
    puppet.description =
        std::string(R"({"inputs": [{"path": "x", "dtype": null, "shape": )") + shape + "}]}";
    EXPECT_TRUE(succeeds(puppet.open())) << shape;
  }
}

// ---- Refused ------------------------------------------------------------------------------------

struct Broken {
  std::string what;
  std::string text;
  std::string named;  // in the message
};

void PrintTo(const Broken &broken, std::ostream *out) {
  *out << broken.text.substr(0, 100);
}

class BrokenDescription : public testing::TestWithParam<Broken> {};

TEST_P(BrokenDescription, IsRefused) {
  Puppet puppet;
  puppet.description = GetParam().text;
  EXPECT_TRUE(fails(puppet.open(), TESSERACT_ERROR_COMPONENT, {puppet.path, GetParam().named}));
  // The host is as before.
  EXPECT_TRUE(usable(component("square")));
}

// A description with one input of these members.
std::string input(const std::string &members) {
  return "{\"inputs\": [{" + members + "}]}";
}
std::string output(const std::string &members) {
  return "{\"outputs\": [{" + members + "}]}";
}
std::string x(const std::string &members) {
  return input(R"("path": "x", "dtype": "float64", )" + members);
}
std::string nested(size_t depth) {
  return "{\"x-deep\": " + std::string(depth, '[') + std::string(depth, ']') + "}";
}

INSTANTIATE_TEST_SUITE_P(
    Json, BrokenDescription,
    testing::Values(Broken{"Empty", "", ""}, Broken{"Cut", "{\"name\": \"x", ""},
                    Broken{"List", "[]", "object"}, Broken{"Number", "3", "object"},
                    Broken{"Null", "null", "object"}, Broken{"Trailing", "{} {}", ""},
                    Broken{"Deep", nested(100000), ""},
                    Broken{"NoUtf8", "{\"name\": \"\xff\"}", ""},
                    Broken{"Nul", std::string("{\"name\": \"a\0b\"}", 15), ""}),
    [](const auto &tested) { return tested.param.what; });

INSTANTIATE_TEST_SUITE_P(
    Component, BrokenDescription,
    testing::Values(Broken{"UnknownKey", "{\"thread\": \"concurrent\"}", "thread"},
                    Broken{"NameNoText", "{\"name\": 3}", "name"},
                    Broken{"Threads", "{\"threads\": \"many\"}", "many"},
                    Broken{"ThreadsNoText", "{\"threads\": 4}", "threads"},
                    Broken{"Reentrant", "{\"reentrant\": \"yes\"}", "reentrant"},
                    Broken{"FloatingPoint", "{\"floating_point\": \"fast\"}", "fast"},
                    Broken{"Overlap", "{\"overlap\": 1}", "overlap"},
                    Broken{"Devices", "{\"devices\": [\"abacus\"]}", "abacus"},
                    Broken{"DevicesNoList", "{\"devices\": \"cpu\"}", "devices"},
                    Broken{"StreamOrderedNoFlag", "{\"stream_ordered\": 1}", "stream_ordered"},
                    Broken{"CaptureSafeNoFlag", "{\"capture_safe\": \"yes\"}", "capture_safe"},
                    Broken{"CaptureSafeUnordered",
                           "{\"stream_ordered\": false, \"capture_safe\": true}", "capture_safe"},
                    Broken{"MultiDeviceNoFlag", "{\"multi_device\": []}", "multi_device"},
                    Broken{"Checks", "{\"checks\": \"nobody\"}", "nobody"},
                    Broken{"InputsNoList", "{\"inputs\": {}}", "inputs"},
                    Broken{"LeafNoObject", "{\"outputs\": [\"y\"]}", "outputs"}),
    [](const auto &tested) { return tested.param.what; });

INSTANTIATE_TEST_SUITE_P(
    Leaf, BrokenDescription,
    testing::Values(
        Broken{"NoPath", input(R"("dtype": "float64", "shape": [])"), "path"},
        Broken{"BadPath", input(R"("path": "a..b", "dtype": "float64", "shape": [])"), "a..b"},
        Broken{"OpenIndex", input(R"("path": "a.[0", "dtype": "float64", "shape": [])"), "a.[0"},
        Broken{"OpenKey", input(R"("path": "a.{k", "dtype": "float64", "shape": [])"), "a.{k"},
        Broken{"PathNoText", input(R"("path": 3, "dtype": "float64", "shape": [])"), "path"},
        Broken{"Pattern", input(R"("path": "xs.[]", "dtype": "float64", "shape": [])"), "xs.[]"},
        Broken{"HugeIndex", input(R"("path": "xs.[300000000]", "dtype": "float64", "shape": [])"),
               "300000000"},
        Broken{"EmptyPath", input(R"("path": "", "dtype": "float64", "shape": [])"), "path"},
        Broken{"DuplicatePath",
               R"({"inputs": [{"path": "twin", "dtype": "float64", "shape": []},
                          {"path": "twin", "dtype": "float32", "shape": []}]})",
               "twin"},
        Broken{"PathInsideAnother",
               R"({"inputs": [{"path": "tree", "dtype": "float64", "shape": []},
                          {"path": "tree.leaf", "dtype": "float32", "shape": []}]})",
               "tree"},
        Broken{"KeyAndFieldAtOnePlace",
               R"({"inputs": [{"path": "a.b", "dtype": "float64", "shape": []},
                          {"path": "a.{b}", "dtype": "float32", "shape": []}]})",
               "a.{b}"},
        Broken{"NoDtype", input(R"("path": "x", "shape": [])"), "dtype"},
        Broken{"Dtype", input(R"("path": "x", "dtype": "float63", "shape": [])"), "float63"},
        Broken{"DtypesAreListed", input(R"("path": "x", "shape": [], "dtype": "single")"),
               "float16"},
        Broken{"DtypeNoText", input(R"("path": "x", "dtype": 64, "shape": [])"), "dtype"},
        Broken{"DtypeAndType", x(R"("shape": [], "type": "number")"), "type"},
        Broken{"NoShape", input(R"("path": "x", "dtype": "float64")"), "shape"},
        Broken{"ShapeNoList", x(R"("shape": 3)"), "shape"},
        Broken{"NegativeLength", x(R"("shape": [-1])"), "-1"},
        Broken{"FractionalLength", x(R"("shape": [1.5])"), "1.5"},
        Broken{"HugeLength", x(R"("shape": [18446744073709551615])"), "shape"},
        Broken{"OverflowingLengths", x(R"("shape": [4294967296, 4294967296, 4294967296])"),
               "shape"},
        Broken{"LengthNoNumber", x(R"("shape": [true])"), "shape"},
        Broken{"LengthWithoutName", x(R"("shape": [""])"), "shape"},
        Broken{"UnknownKey", x(R"("shape": [], "diferentiable": true)"), "diferentiable"},
        Broken{"Differentiable", x(R"("shape": [], "differentiable": 1)"), "differentiable"},
        Broken{"Required", x(R"("shape": [], "required": "no")"), "required"},
        Broken{"DefaultText", x(R"("shape": [], "default": "one")"), "default"},
        Broken{"DefaultRank", x(R"("shape": [], "default": [1, 2])"), "default"},
        Broken{"DefaultShape", x(R"("shape": [3], "default": [1, 2])"), "default"},
        Broken{"DefaultRagged", x(R"("shape": ["n", "m"], "default": [[1, 2], [3]])"), "default"},
        Broken{"DefaultRange",
               input(R"("path": "x", "dtype": "int8", "shape": [], "default": 300)"), "default"},
        Broken{"DefaultOfOutput",
               output(R"("path": "y", "dtype": "float64", "shape": [], "default": 1)"), "default"},
        Broken{"Layout", x(R"("shape": [], "layout": "diagonal")"), "diagonal"},
        Broken{"AlignmentNoPower", x(R"("shape": [], "alignment": 24)"), "24"},
        Broken{"AlignmentZero", x(R"("shape": [], "alignment": 0)"), "alignment"},
        Broken{"AlignmentNegative", x(R"("shape": [], "alignment": -8)"), "alignment"},
        Broken{"Type", input(R"("path": "s", "type": "text")"), "text"},
        Broken{"NoTypes", input(R"("path": "s", "type": [])"), "type"},
        Broken{"Enum", input(R"("path": "s", "type": "string", "enum": "a")"), "enum"}),
    [](const auto &tested) { return tested.param.what; });

TEST(Description, HugeButSoundIsServed) {
  Puppet puppet;
  puppet.description.pop_back();
  puppet.description += ", \"description\": \"" + std::string(4 << 20, 'x') + "\"}";
  EXPECT_TRUE(identity_works(puppet.opened()));
}

TEST(Description, ManyLeaves) {
  Puppet puppet;
  std::string leaves;
  for (int i = 0; i < 5000; i++)
    leaves += (i ? ", " : "") + std::string(R"({"path": "x)") + std::to_string(i) +
              R"(", "dtype": "float64", "shape": [], "default": 1})";
  puppet.description = "{\"inputs\": [" + leaves +
                       R"(], "outputs": [{"path": "n", "dtype": "int64", "shape": []}]})";
  puppet.apply = [](tesseract_frame *frame) {
    int64_t given = 0;
    for (uint64_t i = 0; i < frame->n_inputs; i++) given += frame->inputs[i] != nullptr;
    *static_cast<int64_t *>(frame->outputs[0]->data) = given;
    return TESSERACT_OK;
  };
  const auto component = puppet.opened();
  EXPECT_EQ(values_of<int64_t>(evaluate(component, nullptr)), std::vector<int64_t>{5000});
}

}  // namespace
