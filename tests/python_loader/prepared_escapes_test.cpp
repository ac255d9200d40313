// What a module can do with its inputs beyond reading them, in the middle of a run of prepared
// calls: what it keeps stays as it was, and the next call gets what its caller gave.  Best run
// under AddressSanitizer, too: each call's memory is freed when it has returned.
#include <optional>

#include "prepared.h"

namespace loader_test {
namespace {

struct Way {
  double code;  // its place among the module's
  const char *how;
  std::optional<Vector> kept;  // what the module has of x = [5, 6, 7, 8], s = 2
  bool may_fail = false;       // it can't be given a copy of its own
};

std::ostream &operator<<(std::ostream &out, const Way &way) {
  return out << way.how;
}

const Vector kWhole = {5, 6, 7, 8};

const Way kWays[] = {
    {1, "array", kWhole},
    {2, "slice", Vector{6, 7, 8}},
    {3, "reshape", kWhole},
    {4, "memoryview", kWhole, true},
    {5, "dlpack", kWhole, true},
    {6, "iterator", kWhole, true},
    {7, "generator", kWhole, true},
    {8, "bound method", kWhole},
    {9, "dict", kWhole},
    {10, "names", Vector{1, 4}},
    {11, "scalar", Vector{2}},
    {12, "weakly", Vector{1, 1}},
    {13, "exception", kWhole},
    {14, "instance", kWhole},
    {15, "reshape in place", std::nullopt},
    {16, "strides in place", std::nullopt, true},
    {17, "dtype in place", std::nullopt, true},
    {18, "replace", std::nullopt},
    {19, "swap", std::nullopt},
    {20, "delete", std::nullopt},
    {21, "forget name", std::nullopt},
    {22, "containers", std::nullopt, true},
};

class PreparedInputs : public testing::TestWithParam<Way> {
 protected:
  static int32_t run(Prepared &call, double code, const Vector &x) {
    const Numbers number(code), first(x), second(Vector(x.size(), 1.0)), factor(2.0);
    return call.run({&number.tensor, &first.tensor, &second.tensor, &factor.tensor});
  }

  static void expect_right(Prepared &call) {
    for (double i = 0; i < 3; i++) {
      ASSERT_EQ(run(call, 0, {i, 1, 2, 3}), TESSERACT_OK) << call.failure.message;
      EXPECT_EQ(call.output(), (Vector{2 * i + 1, 3, 5, 7}));
    }
  }
};

void expect_kept(Prepared &call, const Way &way) {
  const bool once = std::string(way.how) == "iterator" || std::string(way.how) == "generator";
  const Numbers number(-1.0), x({0, 0, 0, 0}), z({0, 0, 0, 0}), s(2.0);
  for (int i = 0; i < (once ? 1 : 2); i++) {
    ASSERT_EQ(call.run({&number.tensor, &x.tensor, &z.tensor, &s.tensor}), TESSERACT_OK)
        << call.failure.message;
    EXPECT_EQ(call.output(), *way.kept);
  }
}

TEST_P(PreparedInputs, MayBeKeptOrChanged) {
  const Way &way = GetParam();
  for (const int calls_before : {0, 4}) {
    const Component component("prepared");
    ASSERT_EQ(component.opened.status, TESSERACT_OK) << component.opened.message;
    Prepared call(component, TESSERACT_ENDPOINT_APPLY, {"code", "x", "z", "s"}, {"y"});
    for (int i = 0; i < calls_before; i++) run(call, 0, {1, 2, 3, 4});
    const int32_t status = run(call, way.code, kWhole);
    if (way.may_fail && status != TESSERACT_OK) {
      if (call.failure.path == "x") {
        EXPECT_EQ(run(call, 0, kWhole), TESSERACT_ERROR_UNAVAILABLE);
      } else {
        expect_right(call);
      }
      continue;
    }
    ASSERT_EQ(status, TESSERACT_OK) << call.failure.message;
    EXPECT_EQ(call.output(), (Vector{11, 13, 15, 17}));
    if (way.kept) expect_kept(call, way);
    expect_right(call);
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, PreparedInputs, testing::ValuesIn(kWays), [](const auto &each) {
  std::string name = each.param.how;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
});

TEST(PreparedCalls, DoNotMixTheirInputs) {
  const Component component("prepared");
  Prepared call(component, TESSERACT_ENDPOINT_APPLY, {"code", "x", "z", "s"}, {"y"});
  const Numbers z({0, 0}), s(1.0), plain(0.0), keeps(14.0), kept(-1.0);
  for (double i = 0; i < 5; i++) {
    const Numbers x({i, i});
    ASSERT_EQ(call.run({i == 3 ? &keeps.tensor : &plain.tensor, &x.tensor, &z.tensor, &s.tensor}),
              TESSERACT_OK);
  }
  const Numbers x({0, 0});
  ASSERT_EQ(call.run({&kept.tensor, &x.tensor, &z.tensor, &s.tensor}), TESSERACT_OK);
  EXPECT_EQ(call.output(), (Vector{3, 3}));
}

}  // namespace
}  // namespace loader_test
