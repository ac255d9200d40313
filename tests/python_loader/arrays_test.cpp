// Arrays of every kind on their way into a module and back: y = a * x * x, and its gradient.
#include "component.h"

namespace loader_test {
namespace {

using testing::HasSubstr;

constexpr DLDataType kFloat64 = {kDLFloat, 64, 1};

// An array over memory of the test's.
struct Array {
  Array(DLDataType dtype, void *data, std::vector<int64_t> lengths, std::vector<int64_t> steps = {})
      : shape(std::move(lengths)), strides(std::move(steps)) {
    tensor = tesseract_tensor(dtype, data, static_cast<int32_t>(shape.size()), shape.data());
    if (!strides.empty()) tensor.strides = strides.data();
  }
  Array(const Array &) = delete;
  Array &operator=(const Array &) = delete;

  std::vector<int64_t> shape, strides;
  DLTensor tensor{};
};

using Leaf = std::pair<const char *, const DLTensor *>;

// A list of leaves that owns its items.
struct Leaves {
  explicit Leaves(const std::vector<Leaf> &leaves) {
    for (const auto &[path, tensor] : leaves) {
      items.push_back({{path, TESSERACT_NTS}, tensor, nullptr});
    }
    list.count = static_cast<int64_t>(items.size());
    list.items = items.data();
  }
  Leaves(const Leaves &) = delete;
  Leaves &operator=(const Leaves &) = delete;

  std::vector<tesseract_leaf> items;
  tesseract_leaves list = TESSERACT_LEAVES_INIT;
};

class Arrays : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(component_.opened.status, TESSERACT_OK) << component_.opened.message;
  }
  void TearDown() override { tesseract_result_free(result_); }

  Failure apply(const std::vector<Leaf> &inputs, const DLTensor *destination = nullptr) {
    const Leaves given(inputs), wanted({{"y", destination}});
    tesseract_error *error = nullptr;
    const int32_t status =
        tesseract_apply(component_.get(), &given.list, &wanted.list, nullptr, &result_, &error);
    return {status, error};
  }

  std::vector<double> output(int64_t index = 0) const {
    const DLTensor *tensor = tesseract_result_tensor(result_, index);
    if (!tensor) return {-1.0};
    EXPECT_TRUE(tensor->dtype.code == kDLFloat && tensor->dtype.bits == 64);
    const auto *data = static_cast<const double *>(tensor->data);
    return {data, data + (tensor->ndim ? tensor->shape[0] : 1)};
  }

  const Component component_{"scale"};
  tesseract_result *result_ = nullptr;
};

TEST_F(Arrays, MayHaveStrides) {
  double data[] = {1, -1, 2, -1, 3, -1};
  for (int call = 0; call < 2; call++) {  // a copy, then a view
    const Array x(kFloat64, data, {3}, {2});
    ASSERT_EQ(apply({{"x", &x.tensor}}).status, TESSERACT_OK);
    EXPECT_EQ(output(), (std::vector<double>{2, 8, 18}));
    tesseract_result_free(std::exchange(result_, nullptr));
  }
}

TEST_F(Arrays, MayRunBackwards) {
  double data[] = {1, 2, 3};
  for (int call = 0; call < 2; call++) {
    const Array x(kFloat64, data + 2, {3}, {-1});
    const Failure failure = apply({{"x", &x.tensor}});
    ASSERT_EQ(failure.status, TESSERACT_OK) << failure.message;
    EXPECT_EQ(output(), (std::vector<double>{18, 8, 2}));
    tesseract_result_free(std::exchange(result_, nullptr));
  }
}

TEST_F(Arrays, MayBeginBehindTheirPointer) {
  double data[] = {9, 9, 1, 2};
  Array x(kFloat64, data, {2});
  x.tensor.byte_offset = 2 * sizeof(double);
  ASSERT_EQ(apply({{"x", &x.tensor}}).status, TESSERACT_OK);
  EXPECT_EQ(output(), (std::vector<double>{2, 8}));
}

TEST_F(Arrays, MayBeEmptyWithoutData) {
  const Array x(kFloat64, nullptr, {0});
  ASSERT_EQ(apply({{"x", &x.tensor}}).status, TESSERACT_OK);
  EXPECT_EQ(output(), std::vector<double>{});
}

TEST_F(Arrays, MayHaveRankZero) {
  double data[] = {1, 2}, factor = 3.0;
  const Array x(kFloat64, data, {2}), a(kFloat64, &factor, {});
  ASSERT_EQ(apply({{"x", &x.tensor}, {"a", &a.tensor}}).status, TESSERACT_OK);
  EXPECT_EQ(output(), (std::vector<double>{3, 12}));
}

template <typename Element>
class Elements : public Arrays {};

template <typename Element>
constexpr DLDataType kType = {std::is_same_v<Element, bool>       ? uint8_t{kDLBool}
                              : std::is_floating_point_v<Element> ? uint8_t{kDLFloat}
                              : std::is_signed_v<Element>         ? uint8_t{kDLInt}
                                                                  : uint8_t{kDLUInt},
                              8 * sizeof(Element), 1};

using ElementTypes = testing::Types<bool, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                                    uint32_t, uint64_t, float>;
TYPED_TEST_SUITE(Elements, ElementTypes);

TYPED_TEST(Elements, AreConvertedAsTheSchemaSays) {
  TypeParam data[] = {TypeParam(0), TypeParam(1), TypeParam(1)};
  const Array x(kType<TypeParam>, data, {3});
  const Failure failure = this->apply({{"x", &x.tensor}});
  ASSERT_EQ(failure.status, TESSERACT_OK) << failure.message;
  EXPECT_EQ(this->output(), (std::vector<double>{0, 2, 2}));
}

TEST_F(Arrays, OfATypeTheSchemaRefusesAreErrorsOfTheirLeaf) {
  float data[] = {1, 0, 1, 0};
  const Array x({kDLComplex, 64, 1}, data, {2});
  const Failure failure = apply({{"x", &x.tensor}});
  EXPECT_EQ(failure.status, TESSERACT_ERROR_SCHEMA);
  EXPECT_EQ(failure.path, "x");
}

TEST_F(Arrays, OfATypeNumpyLacksAreErrorsOfTheirLeaf) {
  uint16_t data[] = {0, 0};
  const Array x({kDLBfloat, 16, 1}, data, {2});
  const Failure failure = apply({{"x", &x.tensor}});
  EXPECT_NE(failure.status, TESSERACT_OK);
  EXPECT_EQ(failure.path, "x");
  EXPECT_THAT(failure.message, HasSubstr("x"));
}

TEST_F(Arrays, OfTheWrongRankAreErrorsOfTheirLeaf) {
  double data[] = {1, 2, 3, 4};
  const Array x(kFloat64, data, {2, 2});
  const Failure failure = apply({{"x", &x.tensor}});
  EXPECT_EQ(failure.status, TESSERACT_ERROR_SCHEMA);
  EXPECT_EQ(failure.path, "x");
}

TEST_F(Arrays, GoWhereTheCallerWantsThem) {
  double data[] = {1, 2, 3}, compact[3] = {}, strided[6] = {0, -1, 0, -1, 0, -1};
  const Array x(kFloat64, data, {3});
  const Array first(kFloat64, compact, {3}), second(kFloat64, strided, {3}, {2});
  ASSERT_EQ(apply({{"x", &x.tensor}}, &first.tensor).status, TESSERACT_OK);
  tesseract_result_free(std::exchange(result_, nullptr));
  EXPECT_THAT(compact, testing::ElementsAre(2, 8, 18));
  ASSERT_EQ(apply({{"x", &x.tensor}}, &second.tensor).status, TESSERACT_OK);
  EXPECT_THAT(strided, testing::ElementsAre(2, -1, 8, -1, 18, -1));
}

TEST_F(Arrays, DoNotGoWhereTheShapeIsAnother) {
  double data[] = {1, 2, 3}, memory[4] = {5, 5, 5, 5};
  const Array x(kFloat64, data, {3}), y(kFloat64, memory, {4});
  const Failure failure = apply({{"x", &x.tensor}}, &y.tensor);
  EXPECT_EQ(failure.status, TESSERACT_ERROR_SCHEMA);
  EXPECT_EQ(failure.path, "y");
}

TEST_F(Arrays, HaveGradients) {
  double data[] = {1, 2, 3}, seed_data[] = {1, 10, 100}, factor = 2.0;
  const Array x(kFloat64, data, {3}), a(kFloat64, &factor, {}), seed(kFloat64, seed_data, {3});
  const Leaves inputs({{"x", &x.tensor}, {"a", &a.tensor}});
  const Leaves seeds({{"y", &seed.tensor}}), wrt({{"a", nullptr}, {"x", nullptr}});
  tesseract_error *error = nullptr;
  const Failure failure(tesseract_vjp(component_.get(), &inputs.list, &seeds.list, &wrt.list,
                                      nullptr, &result_, &error),
                        error);
  ASSERT_EQ(failure.status, TESSERACT_OK) << failure.message;
  EXPECT_EQ(output(0), std::vector<double>{1 + 40 + 900});
  EXPECT_EQ(output(1), (std::vector<double>{4, 80, 1200}));
}

// Where the schema has unions: the total that the module "unions" makes of some inputs.
class Unions : public testing::TestWithParam<std::pair<const char *, double>> {};

TEST_P(Unions, TakeEachOfTheirMembersFromJson) {
  const auto [json, total] = GetParam();
  const Component component("unions");
  ASSERT_EQ(component.opened.status, TESSERACT_OK) << component.opened.message;
  const Application application(component, {{}, json});
  ASSERT_EQ(application.failure.status, TESSERACT_OK) << application.failure.message;
  EXPECT_EQ(application.values().at("total"), total);
}

INSTANTIATE_TEST_SUITE_P(
    Members, Unions,
    testing::Values(std::pair(R"({"other": {"value": 2}})", 2.0),
                    std::pair(R"({"part": null, "other": {"value": 2}, "offset": [1, 2]})", 5.0),
                    std::pair(R"({"part": {"x": [1, 2], "factor": 2}, "other": {"x": [1]}})", 7.0),
                    std::pair(R"({"other": {"x": [1, 2]}, "offset": 5})", 8.0)));

TEST(UnionsOfModels, TakeTensors) {
  const Component component("unions");
  double data[] = {1, 2, 3}, offset_data = 10;
  const Array x(kFloat64, data, {3}), offset(kFloat64, &offset_data, {});
  const Leaves inputs({{"part.x", &x.tensor}, {"other.x", &x.tensor}, {"offset", &offset.tensor}});
  tesseract_result *result = nullptr;
  tesseract_error *error = nullptr;
  const Failure failure(
      tesseract_apply(component.get(), &inputs.list, nullptr, nullptr, &result, &error), error);
  EXPECT_EQ(failure.status, TESSERACT_OK) << failure.message;
  EXPECT_STREQ(tesseract_result_json(result, nullptr), R"({"total":22.0})");
  tesseract_result_free(result);
}

}  // namespace
}  // namespace loader_test
