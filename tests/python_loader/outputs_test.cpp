// Outputs that a call may leave out, and those that only a call can name.
#include <map>
#include <optional>

#include "component.h"

namespace loader_test {
namespace {

using Json = nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;
using Vector = std::vector<double>;

std::string request(const std::vector<std::string> &parts, int count = 0) {
  return Json{{"parts", parts}, {"count", count}}.dump();
}

// What a call of the module "outputs" returns.
class Answer {
 public:
  using Paths = std::vector<std::string>;

  // Without `of` all outputs are asked for.
  Answer(const Component &component, const std::string &json,
         const std::optional<Paths> &of = std::nullopt, double *perhaps = nullptr) {
    int64_t shape[1] = {2};
    const DLTensor destination = tesseract_float64(perhaps, 1, shape);
    std::vector<tesseract_leaf> items;
    const Paths paths = of.value_or(Paths());
    for (const std::string &path : paths) {
      const bool given = perhaps && path == "perhaps";
      items.push_back({{path.data(), path.size()}, given ? &destination : nullptr, nullptr});
    }
    tesseract_leaves wanted = TESSERACT_LEAVES_INIT;
    wanted.count = static_cast<int64_t>(items.size());
    wanted.items = items.data();
    const tesseract_leaves inputs = inputs_of(json);
    tesseract_error *error = nullptr;
    const int32_t status = tesseract_apply(component.get(), &inputs, of ? &wanted : nullptr,
                                           nullptr, &result_, &error);
    failure = Failure(status, error);
  }
  Answer(const Answer &) = delete;
  Answer &operator=(const Answer &) = delete;
  ~Answer() { tesseract_result_free(result_); }

  static tesseract_leaves inputs_of(const std::string &json) {
    tesseract_leaves inputs = TESSERACT_LEAVES_INIT;
    inputs.json = {json.data(), json.size()};
    return inputs;
  }

  Failure failure{TESSERACT_OK, nullptr};

  Json values() const {
    const char *text = tesseract_result_json(result_, nullptr);
    return Json::parse(text ? text : "null");
  }

  // All tensors; nothing for those left out.
  std::map<std::string, std::optional<Vector>> tensors() const {
    std::map<std::string, std::optional<Vector>> found;
    for (int64_t i = 0; i < tesseract_result_count(result_); i++) {
      auto &entry = found[tesseract_result_path(result_, i, nullptr)];
      const DLTensor *tensor = tesseract_result_tensor(result_, i);
      if (!tensor) continue;
      const auto *data = static_cast<const double *>(tensor->data);
      const int64_t length = tensor->ndim ? tensor->shape[0] : 1;
      entry = length ? Vector(data, data + length) : Vector();
    }
    return found;
  }

 private:
  tesseract_result *result_ = nullptr;
};

using Tensors = std::map<std::string, std::optional<Vector>>;

TEST(OptionalOutputs, ThatAreNoneAreNull) {
  const Component component("outputs");
  ASSERT_EQ(component.opened.status, TESSERACT_OK) << component.opened.message;
  const Answer answer(component, request({}));
  ASSERT_EQ(answer.failure.status, TESSERACT_OK) << answer.failure.message;
  const Tensors expected = {
      {"always", Vector{1.0}}, {"perhaps", std::nullopt}, {"part.value", std::nullopt}};
  EXPECT_EQ(answer.tensors(), expected);
}

TEST(OptionalOutputs, AreThereWhenGiven) {
  const Component component("outputs");
  const Answer answer(component, request({"perhaps", "part", "note"}));
  ASSERT_EQ(answer.failure.status, TESSERACT_OK) << answer.failure.message;
  const Tensors expected = {
      {"always", Vector{1.0}}, {"perhaps", Vector{2.0, 2.0}}, {"part.value", Vector(3, 3.0)}};
  EXPECT_EQ(answer.tensors(), expected);
  EXPECT_EQ(answer.values().at("note"), "four");
  EXPECT_EQ(answer.values().at("part").at("label"), "three");
}

TEST(OptionalOutputs, MayBeAskedForByName) {
  const Component component("outputs");
  const Answer without(component, request({}), Answer::Paths{"perhaps", "part.value"});
  ASSERT_EQ(without.failure.status, TESSERACT_OK) << without.failure.message;
  EXPECT_EQ(without.tensors(), (Tensors{{"perhaps", std::nullopt}, {"part.value", std::nullopt}}));
  const Answer with(component, request({"perhaps"}), Answer::Paths{"perhaps"});
  EXPECT_EQ(with.tensors(), (Tensors{{"perhaps", Vector{2.0, 2.0}}}));
}

TEST(OptionalOutputs, MustBeThereForADestination) {
  const Component component("outputs");
  double memory[2] = {-1.0, -1.0};
  const Answer with(component, request({"perhaps"}), Answer::Paths{"perhaps"}, memory);
  ASSERT_EQ(with.failure.status, TESSERACT_OK) << with.failure.message;
  EXPECT_THAT(memory, ElementsAre(2.0, 2.0));
  const Answer without(component, request({}), Answer::Paths{"perhaps"}, memory);
  EXPECT_EQ(without.failure.status, TESSERACT_ERROR_SCHEMA);
  EXPECT_EQ(without.failure.path, "perhaps");
}

TEST(ContainersOfUnknownKeys, GiveTheirElementsWhenAllIsAskedFor) {
  const Component component("outputs");
  const Answer answer(component, request({"table", "steps", "pieces", "holes", "more"}, 2));
  ASSERT_EQ(answer.failure.status, TESSERACT_OK) << answer.failure.message;
  const Tensors expected = {{"always", Vector{1.0}},
                            {"perhaps", std::nullopt},
                            {"part.value", std::nullopt},
                            {"table.{a.b}", Vector{5.0, 5.0}},
                            {"table.{\\{c\\}}", Vector(4, 6.0)},
                            {"steps.[0]", Vector{}},
                            {"steps.[1]", Vector{1.0}},
                            {"pieces.[0].value", Vector{7.0}},
                            {"pieces.[1].value", Vector{8.0}},
                            {"holes.[1]", Vector{8.0}},
                            {"more.{d}", Vector{9.0, 9.0}}};
  EXPECT_EQ(answer.tensors(), expected);
}

TEST(ContainersOfUnknownKeys, MayVaryFromCallToCall) {
  const Component component("outputs");
  for (const int count : {3, 0, 1}) {
    const Answer answer(component, request({"steps"}, count));
    ASSERT_EQ(answer.failure.status, TESSERACT_OK) << answer.failure.message;
    EXPECT_EQ(answer.tensors().size(), 3U + static_cast<size_t>(count));
  }
}

TEST(ContainersOfUnknownKeys, GiveTheElementsThatAreNamed) {
  const Component component("outputs");
  const Answer answer(component, request({"table", "steps"}, 2),
                      Answer::Paths{"steps.[1]", "table.{a.b}"});
  ASSERT_EQ(answer.failure.status, TESSERACT_OK) << answer.failure.message;
  EXPECT_EQ(answer.tensors(),
            (Tensors{{"steps.[1]", Vector{1.0}}, {"table.{a.b}", Vector{5.0, 5.0}}}));
}

TEST(ContainersOfUnknownKeys, RefuseElementsThatThereAreNot) {
  const Component component("outputs");
  const Answer answer(component, request({"steps"}, 2), Answer::Paths{"steps.[2]"});
  EXPECT_EQ(answer.failure.status, TESSERACT_ERROR_SCHEMA);
  EXPECT_EQ(answer.failure.path, "steps.[2]");
}

TEST(ContainersOfUnknownKeys, AreEvaluatedAbstractly) {
  const Component component("outputs");
  const std::string json = request({"perhaps", "steps", "table"}, 2);
  const tesseract_leaves inputs = Answer::inputs_of(json);
  tesseract_result *result = nullptr;
  tesseract_error *error = nullptr;
  const int32_t status =
      tesseract_abstract_eval(component.get(), &inputs, nullptr, &result, &error);
  const Failure failure(status, error);
  ASSERT_EQ(failure.status, TESSERACT_OK) << failure.message;
  std::map<std::string, int64_t> lengths;
  for (int64_t i = 0; i < tesseract_result_count(result); i++) {
    const DLTensor *tensor = tesseract_result_tensor(result, i);
    lengths[tesseract_result_path(result, i, nullptr)] = tensor ? tensor->shape[0] : -2;
  }
  const std::map<std::string, int64_t> expected = {
      {"always", 1},    {"perhaps", 2},     {"part.value", -2},    {"steps.[0]", 0},
      {"steps.[1]", 1}, {"table.{a.b}", 2}, {"table.{\\{c\\}}", 4}};
  EXPECT_EQ(lengths, expected);
  tesseract_result_free(result);
}

}  // namespace
}  // namespace loader_test
