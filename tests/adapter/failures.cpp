// What is wrong with a call, and in which words that is told.
#include <atomic>
#include <chrono>
#include <thread>

#include "../native/puppet.h"
#include "frame.h"

namespace {

using namespace test;

const char *const puppet_id = "my-solver-0123456789abcdef-01234567-0";
const char *const puppet_apply =
    R"({"inputs":["x"],"of":["y"],"operands":["float64:1"],"results":["float64:1"]})";

class Failures : public testing::Test {
 protected:
  Component square = component("square");
  Doubles x{1.0, 2.0, 3.0}, a = scalar(2.0), y = zeros({3});

  std::unique_ptr<xla_error> called(std::string spec, std::string endpoint = "apply") {
    Frame frame(square_id, std::move(endpoint), std::move(spec));
    frame.in(x).in(a).out(y);
    return frame.call();
  }
};

// ---- Components ---------------------------------------------------------------------------------

TEST_F(Failures, OfAComponentNobodyOpened) {
  Frame frame("my-solver-0123456789abcdef-01234567-0", "apply", square_apply);
  EXPECT_TRUE(fails(frame.call(), XLA_FAILED_PRECONDITION,
                    {"'my-solver'", "open it", "apply_tesseract", "tesseract_host.jax.register"}));
}

TEST_F(Failures, OfIdentitiesOfAnotherForm) {
  for (const char *identity : {"", "plain", "-", "---", "a-b-c"}) {
    Frame frame(identity, "apply", square_apply);
    EXPECT_TRUE(fails(frame.call(), XLA_FAILED_PRECONDITION, {identity}));
  }
}

TEST_F(Failures, OfAComponentThatWasRemoved) {
  {
    const Added added(square_id, square);
    ASSERT_TRUE(succeeds(called(square_apply)));
  }
  EXPECT_EQ(tesseract_jax_prepared(), 0u);
  EXPECT_TRUE(fails(called(square_apply), XLA_FAILED_PRECONDITION, {"'square'"}));
  const Added again(square_id, square);
  EXPECT_TRUE(succeeds(called(square_apply)));
}

TEST_F(Failures, OfAComponentThatWasClosed) {
  const Added added(square_id, square);
  ASSERT_TRUE(succeeds(called(square_apply)));
  square.reset();
  EXPECT_TRUE(succeeds(called(square_apply))) << "prepared calls stay usable";
  EXPECT_TRUE(fails(called(R"({"inputs":["x","a"],"json":{},"of":["y"],)"
                           R"("operands":["float64:1","float64:0"],"results":["float64:1"]})"),
                    XLA_FAILED_PRECONDITION, {"square"}));
}

TEST_F(Failures, NoneWhereAnotherTakesTheIdentity) {
  const Added added(square_id, square);
  ASSERT_TRUE(succeeds(called(square_apply)));
  Puppet puppet;
  puppet.description = R"({"name": "other",
    "inputs": [{"path": "x", "dtype": "float64", "shape": ["n"]},
               {"path": "a", "dtype": "float64", "shape": []}],
    "outputs": [{"path": "y", "dtype": "float64", "shape": ["n"]}]})";
  const Component other = puppet.opened();
  const Added instead(square_id, other);
  ASSERT_TRUE(succeeds(called(square_apply)));
  EXPECT_EQ(y.values, x.values);
  EXPECT_EQ(tesseract_jax_prepared(), 1u);
}

TEST_F(Failures, NoneWhereTheSameIsAddedTwice) {
  const Added added(square_id, square);
  ASSERT_TRUE(succeeds(called(square_apply)));
  EXPECT_EQ(tesseract_jax_add(square_id, TESSERACT_NTS, square.get()), TESSERACT_OK);
  ASSERT_TRUE(succeeds(called(square_apply)));
  EXPECT_EQ(statistics_of(square).prepared, 1u);
}

TEST_F(Failures, OfAddingNothing) {
  EXPECT_EQ(tesseract_jax_add(nullptr, 0, square.get()), TESSERACT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(tesseract_jax_add("", 0, square.get()), TESSERACT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(tesseract_jax_add("id", 2, nullptr), TESSERACT_ERROR_INVALID_ARGUMENT);
  tesseract_jax_remove("not there", TESSERACT_NTS);
  tesseract_jax_remove(nullptr, 0);
  tesseract_jax_free(nullptr);
}

// ---- Specs --------------------------------------------------------------------------------------

TEST_F(Failures, OfSpecsThatAreMalformed) {
  const Added added(square_id, square);
  const std::pair<const char *, const char *> specs[] = {
      {"", "no JSON object"},
      {"[]", "no JSON object"},
      {"{", "no JSON object"},
      {"nan", "no JSON object"},
      {R"({"inputs":["x)", "no JSON object"},
      {R"({"inputs":"x"})", "'inputs' is no list"},
      {R"({"inputs":[1]})", "'inputs'"},
      {R"({"json":[]})", "'json'"},
      {R"({"expect":1})", "'expect'"},
      {R"({"staged":1})", "'staged'"},
      {R"({"batch":[1]})", "'batch'"},
      {R"({"batch":[[2]]})", "'batch'"},
      {R"({"something":1})", "'something'"},
      {R"({"\u0062atch":[[]]})", "plain"},
      {R"({"inputs":["x"]})", "0 operands where there must be 1"},
      {R"({"of":["y"]})", "0 results where there must be 1"},
      {R"({"batch":[[1]]})", "1 flags"},
      {R"({"wrt":["x"]})", "'wrt'"},
      {R"({"inputs":["x"],"operands":["float65:1"]})", "float65:1"},
      {R"({"inputs":["x"],"operands":["float64"]})", "float64"},
      {R"({"inputs":["x"],"operands":["float64:"]})", "float64:"},
      {R"({"inputs":["x"],"operands":["float64:-1"]})", "float64:-1"},
      {R"({"inputs":["x"],"operands":["float64:1x"]})", "float64:1x"},
      {R"({"inputs":["x"],"operands":["float64:99999999999"]})", "float64:99999999999"},
  };
  for (const auto &[spec, text] : specs)
    EXPECT_TRUE(fails(called(spec), XLA_INVALID_ARGUMENT, {"square: apply", text})) << spec;
  const std::string deep = "{\"json\":" + std::string(100000, '[') + std::string(100000, ']') + "}";
  EXPECT_TRUE(fails(called(deep), XLA_INVALID_ARGUMENT, {"no JSON object"}));
}

TEST_F(Failures, OfSpecsThatTheComponentRefuses) {
  const Added added(square_id, square);
  EXPECT_TRUE(fails(called(R"({"inputs":["z"],"operands":["float64:1"]})"), XLA_INVALID_ARGUMENT,
                    {"square", "z"}));
  EXPECT_TRUE(fails(called(R"({"of":["y"],"results":["float64:1"]})"), XLA_INVALID_ARGUMENT,
                    {"square", "x"}));
  EXPECT_TRUE(fails(called(R"({"inputs":["x"],"operands":["float64:2"]})"), XLA_INVALID_ARGUMENT,
                    {"square", "x"}));
  EXPECT_TRUE(fails(called(R"({"inputs":["x"],"operands":["float8_e3m4:1"]})"),
                    XLA_INVALID_ARGUMENT, {"square", "x"}));
}

TEST_F(Failures, OfEndpoints) {
  const Added added(square_id, square);
  for (const char *endpoint : {"", "abstract_eval", "apply2"})
    EXPECT_TRUE(
        fails(called(square_apply, endpoint), XLA_INVALID_ARGUMENT, {endpoint, "jacobian"}));
  const Component only = component("apply_only");
  const Added added_only("apply_only-0-0-0", only);
  Frame frame("apply_only-0-0-0", "vjp", square_vjp);
  EXPECT_TRUE(fails(frame.call(), XLA_UNIMPLEMENTED, {"vjp"}));
}

TEST_F(Failures, OfPreparingBeforehand) {
  std::string text;
  EXPECT_EQ(prepare("nobody-0-0-0", "apply", square_apply, 1, &text), TESSERACT_ERROR_NOT_FOUND);
  EXPECT_NE(text.find("nobody"), std::string::npos) << text;
  const Added added(square_id, square);
  EXPECT_EQ(prepare(square_id, "apply", "{", 1, &text), TESSERACT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(prepare(square_id, "apply", R"({"of":["q"],"results":["float64:1"]})", 1, &text),
            TESSERACT_ERROR_SCHEMA);
  EXPECT_NE(text.find("q"), std::string::npos) << text;
  EXPECT_EQ(tesseract_jax_prepare(square_id, TESSERACT_NTS, "apply", TESSERACT_NTS, "{",
                                  TESSERACT_NTS, 1, nullptr),
            TESSERACT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(tesseract_jax_prepared(), 0u);
}

// ---- Arrays -------------------------------------------------------------------------------------

TEST_F(Failures, OfAnotherNumberOfArrays) {
  const Added added(square_id, square);
  Frame fewer(square_id, "apply", square_apply);
  fewer.in(x).out(y);
  EXPECT_TRUE(fails(fewer.call(), XLA_INVALID_ARGUMENT, {"square: apply", "1 arrays", "2 and 1"}));
  Frame more(square_id, "apply", square_apply);
  more.in(x).in(a).out(y).out(y);
  EXPECT_TRUE(fails(more.call(), XLA_INVALID_ARGUMENT, {"takes 2"}));
}

TEST_F(Failures, OfAnotherTypeOrRank) {
  const Added added(square_id, square);
  Frame type(square_id, "apply", square_apply);
  type.in(XLA_F32, x.values.data(), {3}).in(a).out(y);
  EXPECT_TRUE(fails(type.call(), XLA_INVALID_ARGUMENT,
                    {"square: apply", "operand 0", "float32 of rank 1", "float64 of rank 1"}));
  Frame rank(square_id, "apply", square_apply);
  rank.in(x).in(a).out(XLA_F64, y.values.data(), {1, 3});
  EXPECT_TRUE(fails(rank.call(), XLA_INVALID_ARGUMENT, {"result 0", "rank 2"}));
}

// ---- Keys ---------------------------------------------------------------------------------------

TEST_F(Failures, NoneWhereTwoSpecsHaveOneKey) {
  const Added added(square_id, square);
  Doubles dx{1.0, 1.0, 1.0};
  for (int i = 0; i < 2; i++) {
    Frame apply(square_id, "apply", square_apply), jvp(square_id, "jvp", square_jvp);
    apply.number("key", 7).in(x).in(a).out(y);
    ASSERT_TRUE(succeeds(apply.call()));
    EXPECT_EQ(y.values, (std::vector<double>{2.0, 8.0, 18.0}));
    jvp.number("key", 7).in(x).in(a).in(dx).out(y);
    ASSERT_TRUE(succeeds(jvp.call()));
    EXPECT_EQ(y.values, (std::vector<double>{4.0, 8.0, 12.0}));
  }
  EXPECT_EQ(statistics_of(square).prepared, 2u);
  const DLTensor *in[] = {&x.tensor, &a.tensor};
  DLTensor *out[] = {&y.tensor};
  EXPECT_EQ(tesseract_jax_run(7, in, 2, out, 1, 0, nullptr), TESSERACT_ERROR_INVALID_ARGUMENT);
}

TEST_F(Failures, NoneWithKeysThatFillOnePlace) {
  const Added added(square_id, square);
  for (int round = 0; round < 2; round++) {
    for (uint64_t i = 0; i < 300; i++) {
      Frame frame(square_id, "apply", square_apply);
      frame.number("key", i << 32).in(x).in(a).out(y);
      ASSERT_TRUE(succeeds(frame.call()));
    }
  }
  EXPECT_EQ(statistics_of(square).prepared, 300u);
}

// ---- Running by key -----------------------------------------------------------------------------

TEST_F(Failures, OfRunsByKey) {
  const DLTensor *in[] = {&x.tensor, &a.tensor};
  DLTensor *out[] = {&y.tensor};
  char *message = nullptr;
  EXPECT_EQ(tesseract_jax_run(12345, in, 2, out, 1, 0, &message), TESSERACT_ERROR_NOT_FOUND);
  EXPECT_NE(std::string_view(message).find("12345"), std::string::npos);
  tesseract_jax_free(message);
  {
    const Added added(square_id, square);
    ASSERT_EQ(prepare(square_id, "apply", square_apply, 12345), TESSERACT_OK);
    ASSERT_EQ(tesseract_jax_run(12345, in, 2, out, 1, 0, &message), TESSERACT_OK);
    EXPECT_EQ(message, nullptr);
    EXPECT_EQ(y.values, (std::vector<double>{2.0, 8.0, 18.0}));
    in[0] = nullptr;
    EXPECT_EQ(tesseract_jax_run(12345, in, 2, out, 1, 0, &message),
              TESSERACT_ERROR_INVALID_ARGUMENT);
    tesseract_jax_free(message);
    EXPECT_EQ(tesseract_jax_run(12345, nullptr, 0, nullptr, 0, 0, nullptr),
              TESSERACT_ERROR_INVALID_ARGUMENT);
  }
  in[0] = &x.tensor;
  EXPECT_EQ(tesseract_jax_run(12345, in, 2, out, 1, 0, &message), TESSERACT_ERROR_NOT_FOUND);
  EXPECT_NE(std::string_view(message).find("square"), std::string::npos);
  tesseract_jax_free(message);
}

// ---- What components say ------------------------------------------------------------------------

TEST_F(Failures, OfTheComponent) {
  Puppet puppet;
  int32_t status = TESSERACT_OK;
  const tesseract_host_table *host = nullptr;
  puppet.entry = [&](const tesseract_host_table *given, const tesseract_plugin_table **out) {
    host = given;
    *out = &puppet.table;
    return TESSERACT_OK;
  };
  puppet.apply = [&](tesseract_frame *frame) {
    const std::string_view traceback = "Traceback: line 12";
    host->error_set(frame, status, "x", 1, "it went wrong", 13);
    host->error_detail(frame, TESSERACT_DETAIL_TRACEBACK, traceback.data(), traceback.size());
    return status;
  };
  const Component opened = puppet.opened();
  const Added added(puppet_id, opened);
  Frame frame(puppet_id, "apply", puppet_apply);
  frame.in(x).out(y);
  const std::pair<int32_t, int32_t> codes[] = {
      {TESSERACT_ERROR_COMPONENT, XLA_INTERNAL},
      {TESSERACT_ERROR_OUT_OF_DOMAIN, XLA_INVALID_ARGUMENT},
      {TESSERACT_ERROR_UNAVAILABLE, XLA_FAILED_PRECONDITION},
      {TESSERACT_ERROR_UNSUPPORTED, XLA_UNIMPLEMENTED},
  };
  for (const auto &[given, code] : codes) {
    status = given;
    EXPECT_TRUE(
        fails(frame.call(), code, {"puppet", "apply", "it went wrong", "x", "Traceback: line 12"}));
  }
}

TEST_F(Failures, OfComponentsThatThrow) {
  const Component throws = component("throws");
  const Added added("throws-0-0-0", throws);
  const int32_t codes[] = {0, XLA_INTERNAL, XLA_INTERNAL, XLA_RESOURCE_EXHAUSTED};
  for (int64_t kind = 0; kind < 4; kind++) {
    Frame frame("throws-0-0-0", "apply",
                R"({"inputs":["kind"],"of":["y"],"operands":["int64:0"],"results":["float64:0"]})");
    Array<int64_t> which({}, {kind});
    Doubles result = scalar(0.0);
    frame.in(which).out(result);
    if (kind == 0)
      EXPECT_TRUE(succeeds(frame.call()));
    else
      EXPECT_TRUE(fails(frame.call(), codes[kind])) << kind;
  }
}

// ---- Outputs that are no arrays -----------------------------------------------------------------

std::vector<std::string> differences;

class Expectations : public testing::Test {
 protected:
  Expectations() {
    differences.clear();
    tesseract_jax_on_difference(
        [](const char *text, uint64_t length) { differences.emplace_back(text, length); });
    puppet.entry = [this](const tesseract_host_table *given, const tesseract_plugin_table **out) {
      host = given;
      *out = &puppet.table;
      return TESSERACT_OK;
    };
    puppet.description = R"({"name": "puppet",
      "inputs": [{"path": "x", "dtype": "float64", "shape": ["n"]}],
      "outputs": [{"path": "y", "dtype": "float64", "shape": ["n"]}, {"path": "steps", "type": "any"},
                  {"path": "name", "type": "any"}, {"path": "loss", "type": "any"}]})";
    puppet.apply = [this](tesseract_frame *frame) {
      return host->output_json(frame, json.data(), json.size());
    };
    opened = puppet.opened();
    EXPECT_EQ(tesseract_jax_add(puppet_id, TESSERACT_NTS, opened.get()), TESSERACT_OK);
  }
  ~Expectations() override {
    tesseract_jax_on_difference(nullptr);
    tesseract_jax_remove(puppet_id, TESSERACT_NTS);
  }

  void call(std::string_view expect) {
    std::string spec = puppet_apply;
    Frame frame(puppet_id, "apply", spec.insert(1, "\"expect\":" + std::string(expect) + ","));
    Doubles x{1.0}, y{0.0};
    frame.in(x).out(y);
    EXPECT_TRUE(succeeds(frame.call()));
  }

  Puppet puppet;
  const tesseract_host_table *host = nullptr;
  std::string json = R"({"steps": 3, "name": "NaN", "loss": NaN})";
  Component opened;
};

TEST_F(Expectations, Met) {
  call(R"({"loss":NaN,"name":"NaN","steps":3})");
  call(R"({"loss":NaN,"name":"NaN","steps":3.0})");
  EXPECT_TRUE(differences.empty()) << differences[0];
}

TEST_F(Expectations, NotMet) {
  const std::pair<const char *, const char *> expected[] = {
      {R"({"loss":NaN,"name":"NaN","steps":4})", "'steps' is 3, expected was 4"},
      {R"({"loss":NaN,"name":"NaN"})", "'steps' was not expected"},
      {R"({"loss":NaN,"name":"NaN","steps":3,"more":[1]})", "'more' is missing"},
      {R"({"loss":"NaN","name":"NaN","steps":3})", "'loss'"},
  };
  for (const auto &[expect, text] : expected) {
    differences.clear();
    call(expect);
    call(expect);
    ASSERT_EQ(differences.size(), 1u) << "once for each prepared call";
    EXPECT_NE(differences[0].find(text), std::string::npos) << differences[0];
    EXPECT_NE(differences[0].find("puppet: apply"), std::string::npos) << differences[0];
  }
}

// Whoever is told may be freed then.
TEST_F(Expectations, NobodyIsBeingToldAnyMore) {
  static std::atomic<bool> begun, done;
  begun = done = false;
  tesseract_jax_on_difference([](const char *, uint64_t) {
    begun = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    done = true;
  });
  std::thread thread([this] { call(R"({})"); });
  while (!begun) std::this_thread::yield();
  tesseract_jax_on_difference(nullptr);
  EXPECT_TRUE(done);
  thread.join();
}

TEST_F(Expectations, OfNobody) {
  tesseract_jax_on_difference(nullptr);
  call(R"({})");
  EXPECT_TRUE(differences.empty());
}

}  // namespace
