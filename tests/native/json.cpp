// JSON in and out: values that are no arrays, arrays within JSON, and texts that are broken.
#include <cmath>
#include <nlohmann/json.hpp>

#include "puppet.h"

namespace {

using namespace test;
using nlohmann::json;

class Values : public testing::Test {
 protected:
  Component values = component("values");

  // What the component saw of its inputs, as the text that came back.
  std::string seen(std::string_view text) {
    Leaves inputs;
    const auto outcome = evaluate(values, inputs.json(text));
    EXPECT_TRUE(succeeds(outcome)) << text.substr(0, 60);
    uint64_t length = 0;
    const char *result = tesseract_result_json(outcome.get(), &length);
    return result ? std::string(result, length) : "";
  }
  json parsed(std::string_view text) { return json::parse(seen(text))["seen"]; }
  Outcome<Result> given(std::string_view text) {
    Leaves inputs;
    return evaluate(values, inputs.json(text));
  }
  void expect_refused(std::string_view text, std::initializer_list<std::string_view> named) {
    EXPECT_TRUE(
        fails(given(text), {TESSERACT_ERROR_SCHEMA, TESSERACT_ERROR_INVALID_ARGUMENT}, named))
        << text.substr(0, 60);
  }
  void TearDown() override { EXPECT_EQ(parsed(R"({"method": "heun"})")["method"], "heun"); }
};

TEST_F(Values, DefaultsAreFilledIn) {
  EXPECT_EQ(parsed("{}"), json::parse(R"({"method": "euler"})"));
  EXPECT_EQ(parsed(""), json::parse(R"({"method": "euler"})"));
}

TEST_F(Values, NestAsPathsDo) {
  EXPECT_EQ(parsed(R"({"solver": {"steps": 4}})"),
            json::parse(R"({"method": "euler", "solver": {"steps": 4}})"));
}

TEST_F(Values, OutputsNest) {
  Puppet puppet;
  puppet.description = R"({"name": "puppet", "outputs": [
    {"path": "report.note", "type": "string"}, {"path": "report.steps", "type": "integer"}]})";
  puppet.apply = [](tesseract_frame *frame) {
    return frame->host->output_json(frame, R"({"report": {"note": "ok", "steps": 3}})",
                                    TESSERACT_NTS);
  };
  const auto opened = puppet.opened();
  const auto outcome = evaluate(opened, nullptr);
  EXPECT_EQ(tesseract_result_count(outcome.get()), 0);
  EXPECT_EQ(json::parse(tesseract_result_json(outcome.get(), nullptr)),
            json::parse(R"({"report": {"note": "ok", "steps": 3}})"));
}

TEST_F(Values, IntegersAreExactTo64Bits) {
  for (const char *number :
       {"9223372036854775807", "-9223372036854775808", "9007199254740993", "18446744073709551615"})
    EXPECT_NE(seen(std::string(R"({"anything": )") + number + "}").find(number), std::string::npos)
        << number;
}

TEST_F(Values, FloatsComeBackAsTheyWere) {
  for (const double number : {0.1, 1e308, 5e-324, 1.0 / 3.0}) {
    char text[64];
    std::snprintf(text, sizeof text, R"({"anything": %.17g})", number);
    const double back = parsed(text)["anything"].get<double>();
    EXPECT_EQ(back, number);
  }
  EXPECT_TRUE(std::signbit(parsed(R"({"anything": -0.0})")["anything"].get<double>()));
}

TEST_F(Values, NonFiniteNumbersAreAccepted) {
  const std::string text = seen(R"({"anything": [NaN, Infinity, -Infinity]})");
  EXPECT_NE(text.find("NaN"), std::string::npos) << text;
  EXPECT_NE(text.find("-Infinity"), std::string::npos) << text;
}

TEST_F(Values, TextIsUtf8) {
  EXPECT_EQ(parsed(R"({"anything": "\u00e9 \ud83d\ude00 \" \\ \u0000"})")["anything"],
            std::string("\u00e9 \U0001F600 \" \\ \0", 13));
  EXPECT_EQ(parsed("{\"anything\": \"\u00e9\"}")["anything"], "\u00e9");
  EXPECT_EQ(parsed(R"({"anything": "\\u0001"})")["anything"], "\\u0001");
}

TEST_F(Values, AnyKindOfValue) {
  EXPECT_EQ(parsed(R"({"anything": {"a": [1, {"b": null}], "": true}})")["anything"],
            json::parse(R"({"a": [1, {"b": null}], "": true})"));
}

TEST_F(Values, HugeTextIsServed) {
  const std::string text(8 << 20, 'x');
  EXPECT_EQ(parsed(R"({"anything": ")" + text + "\"}")["anything"].get<std::string>().size(),
            text.size());
}

TEST_F(Values, AreCheckedAgainstTheirLeaf) {
  expect_refused(R"({"method": 3})", {"values", "apply", "method", "string"});
  expect_refused(R"({"method": "rk4"})", {"values", "apply", "method", "rk4"});
  expect_refused(R"({"solver": {"steps": 1.5}})", {"solver.steps", "integer"});
  expect_refused(R"({"solver": {"steps": "1"}})", {"solver.steps", "integer"});
  expect_refused(R"({"solver": {"steps": true}})", {"solver.steps", "integer"});
  expect_refused(R"({"solver": 3})", {"solver"});
}

TEST_F(Values, UnknownKeys) {
  expect_refused(R"({"mehtod": "heun"})", {"values", "apply", "mehtod"});
  expect_refused(R"({"solver": {"stps": 1}})", {"solver.stps"});
}

TEST(Json, AMisspeltKeyIsToldBeforeWhatIsMissing) {
  Leaves inputs;
  EXPECT_TRUE(fails(evaluate(component("square"), inputs.json(R"({"X": [1.0]})")),
                    TESSERACT_ERROR_SCHEMA, {"X", "unknown", "\"x\""}));
}

TEST_F(Values, BrokenText) {
  const std::string nul = std::string("{\"anything\": \"a\0b\"}", 19);
  for (const std::string &text : {std::string("{"),
                                  std::string("}"),
                                  std::string("[]"),
                                  std::string("3"),
                                  std::string("null"),
                                  std::string("\"x\""),
                                  std::string("{} x"),
                                  std::string("{}{}"),
                                  std::string("{'a': 1}"),
                                  std::string("{\"anything\": }"),
                                  std::string("{\"anything\": 01}"),
                                  std::string("{\"anything\": 1,}"),
                                  std::string("{\"anything\": nan}"),
                                  std::string("{\"anything\": +1}"),
                                  std::string("{\"anything\": \"\xc3(\"}"),
                                  std::string("{\"anything\": \"\xed\xa0\x80\"}"),
                                  std::string("{\"anything\": \"\xff\"}"),
                                  std::string(R"({"anything": "\ud800"})"),
                                  std::string(R"({"anything": "\x"})"),
                                  std::string(R"({"anything": "\u0001"})"),
                                  std::string(R"({"anything": "\u0001NaN"})"),
                                  std::string("{\"anything\": \"a\nb\"}"),
                                  std::string("{\"anything\": \"open"),
                                  nul,
                                  std::string("\xef\xbb\xbf{"),
                                  std::string(" ")})
    expect_refused(text, {"values", "apply"});
}

TEST_F(Values, KeyTwice) {
  expect_refused(R"({"method": "heun", "method": "euler"})", {"method"});
}

TEST_F(Values, DeepText) {
  for (const size_t depth : {size_t{100000}, size_t{5000000}}) {
    expect_refused(R"({"anything": )" + std::string(depth, '[') + std::string(depth, ']') + "}",
                   {"values", "apply"});
    expect_refused(std::string(depth, '['), {"values", "apply"});
    std::string objects;
    for (size_t i = 0; i < depth / 10; i++) objects += "{\"a\":";
    expect_refused(R"({"anything": )" + objects, {"values", "apply"});
  }
}

TEST_F(Values, NullTextOfSomeLength) {
  Leaves inputs;
  inputs.raw.json = {nullptr, 5};
  EXPECT_TRUE(fails(evaluate(values, inputs), TESSERACT_ERROR_INVALID_ARGUMENT, {"values"}));
  inputs.raw.json = {nullptr, TESSERACT_NTS};
  EXPECT_TRUE(fails(evaluate(values, inputs), TESSERACT_ERROR_INVALID_ARGUMENT, {"values"}));
  inputs.raw.json = {R"({"method": "heun"})", TESSERACT_NTS};
  EXPECT_TRUE(succeeds(evaluate(values, inputs)));
}

TEST_F(Values, TensorWhereTheLeafIsNone) {
  Doubles x{1.0};
  Leaves inputs;
  EXPECT_TRUE(fails(evaluate(values, inputs.add("anything", x)), TESSERACT_ERROR_SCHEMA,
                    {"values", "anything"}));
}

TEST_F(Values, OfAPreparedCallNeedAResult) {
  Leaves inputs;
  inputs.json(R"({"method": "heun"})");
  const auto call = prepare(values, signature(TESSERACT_ENDPOINT_APPLY, inputs));
  const auto outcome = run_for_result(call.get(), {}, {nullptr});
  EXPECT_EQ(json::parse(tesseract_result_json(outcome.get(), nullptr))["seen"]["method"], "heun");
  Doubles sum = scalar(-1.0);
  EXPECT_TRUE(succeeds(run(call.get(), {}, {&sum.tensor}))) << "without one they are dropped";
  EXPECT_EQ(sum.values[0], 0.0);
}

// ---- Arrays within JSON -------------------------------------------------------------------------

class Encoded : public testing::Test {
 protected:
  Component typed = component("typed");

  template <class T>
  std::vector<T> decoded(const std::string &path, const std::string &value) {
    Leaves inputs;
    return values_of<T>(
        evaluate(typed, inputs.json("{\"" + path + "\": " + value + "}"), Leaves{path}));
  }
  void expect_refused(const std::string &path, const std::string &value) {
    Leaves inputs;
    const auto outcome =
        evaluate(typed, inputs.json("{\"" + path + "\": " + value + "}"), Leaves{path});
    EXPECT_TRUE(fails(outcome, {TESSERACT_ERROR_SCHEMA, TESSERACT_ERROR_INVALID_ARGUMENT},
                      {"typed", "apply", path}))
        << value.substr(0, 80);
    EXPECT_EQ(outcome.detail(TESSERACT_DETAIL_PATH), path);
  }
  static std::string array(const std::string &shape, const std::string &dtype,
                           const std::string &buffer, const std::string &encoding) {
    return R"({"object_type": "array", "shape": )" + shape + R"(, "dtype": ")" + dtype +
           R"(", "data": {"buffer": )" + buffer + R"(, "encoding": ")" + encoding + "\"}}";
  }
  void TearDown() override { EXPECT_EQ(decoded<int8_t>("i8", "[1]"), std::vector<int8_t>{1}); }
};

TEST_F(Encoded, Lists) {
  EXPECT_EQ(decoded<double>("f64", "[[1, 2.5], [-3e2, 4]]"),
            (std::vector<double>{1, 2.5, -300, 4}));
  EXPECT_EQ(decoded<float>("f32", "[1, 0.1]"), (std::vector<float>{1.0F, 0.1F}));
  EXPECT_EQ(decoded<int8_t>("i8", "[-128, 127]"), (std::vector<int8_t>{-128, 127}));
  EXPECT_EQ(decoded<uint8_t>("flag", "[true, false]"), (std::vector<uint8_t>{1, 0}));
  EXPECT_TRUE(decoded<double>("f32", "[]").empty());
  EXPECT_TRUE(decoded<double>("f64", "[[], []]").empty());
}

TEST_F(Encoded, IntegersAreExact) {
  EXPECT_EQ(decoded<int64_t>("i64", "[9223372036854775807, -9223372036854775808]"),
            (std::vector<int64_t>{INT64_MAX, INT64_MIN}));
  EXPECT_EQ(decoded<uint64_t>("u64", "[18446744073709551615, 0]"),
            (std::vector<uint64_t>{UINT64_MAX, 0}));
}

TEST_F(Encoded, NonFiniteNumbersAndNull) {
  const auto values = decoded<double>("f64", "[[NaN, Infinity, -Infinity, null]]");
  ASSERT_EQ(values.size(), 4u);
  EXPECT_TRUE(std::isnan(values[0]));
  EXPECT_EQ(values[1], INFINITY);
  EXPECT_EQ(values[2], -INFINITY);
  EXPECT_TRUE(std::isnan(values[3]));
}

TEST_F(Encoded, JsonBuffers) {
  EXPECT_EQ(decoded<double>("f64", array("[1, 2]", "float64", "[[1.5, 2]]", "json")),
            (std::vector<double>{1.5, 2}));
  EXPECT_EQ(decoded<float>("f32", array("[1]", "float64", "[1.5]", "json")),
            std::vector<float>{1.5F});
}

TEST_F(Encoded, Base64Buffers) {
  // 1.0 and 2.0 as little-endian float64.
  EXPECT_EQ(
      decoded<double>("f64", array("[1, 2]", "float64", "\"AAAAAAAA8D8AAAAAAAAAQA==\"", "base64")),
      (std::vector<double>{1, 2}));
  EXPECT_TRUE(decoded<double>("f64", array("[0, 2]", "float64", "\"\"", "base64")).empty());
}

TEST_F(Encoded, WrongLists) {
  for (const char *value : {"1", "[1]", "[[1], [2, 3]]", "[[1, [2]]]", "[[1], 2]", "[[\"1\"]]",
                            "[[true, {}]]", "\"x\"", "{}", "[[[1]]]"})
    expect_refused("f64", value);
  for (const char *value : {"[128]", "[-129]", "[1.5]", "[1e3]", "[99999999999999999999]", "[null]",
                            "[NaN]", "[\"1\"]"})
    expect_refused("i8", value);
  expect_refused("u64", "[-1]");
  expect_refused("u64", "[18446744073709551616]");
  expect_refused("i64", "[9223372036854775808]");
  expect_refused("f32", "[1e40]");
  expect_refused("flag", "[2]");
}

TEST_F(Encoded, WrongEncodings) {
  const std::string one = "\"AAAAAAAA8D8=\"";
  for (const std::string &value : {
           array("[1, 2]", "float64", one, "base64"),
           array("[1, 1]", "float64", "\"AAAAAAAA8D8\"", "base64"),
           array("[1, 1]", "float64", "\"AAAA*AAA8D8=\"", "base64"),
           array("[1, 1]", "float64", "\"AAAAAAAA8D8=AAAA\"", "base64"),
           array("[1, 1]", "float64", "3", "base64"),
           array("[1, 1]", "float64", one, "rot13"),
           array("[1, 1]", "float63", one, "base64"),
           array("[-1, -1]", "float64", one, "base64"),
           array("[4294967296, 4294967296, 2]", "float64", one, "base64"),
           array("[9223372036854775807, 2]", "float64", one, "base64"),
           array("[1.5, 1]", "float64", one, "base64"),
           array("\"1\"", "float64", one, "base64"),
           array("[1, 2]", "float64", "[[1]]", "json"),
           array("[1]", "float64", "[1]", "json"),
           array("[1, 1]", "complex128", "[[1]]", "json"),
           std::string(R"({"object_type": "array"})"),
           std::string(R"({"object_type": "array", "shape": [1, 1], "dtype": "float64"})"),
           std::string(
               R"({"object_type": "list", "shape": [1, 1], "dtype": "float64", "data": {}})"),
           std::string(R"({"shape": [1, 1]})"),
       })
    expect_refused("f64", value);
}

TEST_F(Encoded, BoolsAreZeroOrOne) {
  EXPECT_EQ(decoded<uint8_t>("flag", array("[2]", "bool", "\"AQA=\"", "base64")),
            (std::vector<uint8_t>{1, 0}));
  expect_refused("flag", array("[1]", "bool", "\"Bw==\"", "base64"));
}

// A short text can't make the host take memory.
TEST_F(Encoded, ShapesThatTheBufferDoesNotHave) {
  const std::pair<const char *, std::string> values[] = {
      {"f32", array("[100000000000000]", "float32", "[]", "json")},
      {"f32", array("[100000000000000]", "float32", "\"\"", "base64")},
      {"f64", array("[10000000, 10000000]", "float64", "[]", "json")},
  };
  for (const auto &[path, value] : values) {
    Leaves inputs;
    const auto outcome =
        evaluate(typed, inputs.json(std::string("{\"") + path + "\": " + value + "}"));
    EXPECT_TRUE(fails(outcome, TESSERACT_ERROR_SCHEMA, {"typed", "apply", path})) << value;
    EXPECT_EQ(outcome.detail(TESSERACT_DETAIL_PATH), path);
  }
}

TEST_F(Encoded, NumbersBeyondAllRange) {
  Leaves inputs;
  EXPECT_TRUE(fails(evaluate(typed, inputs.json(R"({"f64": [[1e400]]})")),
                    {TESSERACT_ERROR_SCHEMA, TESSERACT_ERROR_INVALID_ARGUMENT},
                    {"typed", "apply", "1e400"}));
}

TEST_F(Encoded, DeepLists) {
  Leaves inputs;
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  EXPECT_TRUE(fails(evaluate(typed, inputs.json("{\"f64\": " + deep + "}")),
                    {TESSERACT_ERROR_SCHEMA, TESSERACT_ERROR_INVALID_ARGUMENT},
                    {"typed", "apply"}));
}

TEST_F(Encoded, LargeListsAreServed) {
  std::string list = "[0";
  for (int i = 1; i < 1000000; i++) list += ",1";
  EXPECT_EQ(decoded<float>("f32", list + "]").size(), 1000000u);
}

}  // namespace
