// Arrays of every kind, and the state of the processor, on their way through the adapter.
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "../native/puppet.h"
#include "frame.h"

namespace {

using namespace test;

const char *const typed_id = "typed-0-0-0";
const char *const puppet_id = "puppet-0-0-0";

std::string one_to_one(const std::string &in, const std::string &out, const std::string &type) {
  return R"({"inputs":[")" + in + R"("],"of":[")" + out + R"("],"operands":[")" + type +
         R"("],"results":[")" + type + R"("]})";
}

TEST(Arrays, OfEachType) {
  const Component typed = component("typed");
  const Added added(typed_id, typed);
  const std::tuple<const char *, const char *, int32_t, size_t> types[] = {
      {"f32", "float32:1", XLA_F32, 4},    {"i8", "int8:1", XLA_S8, 1},
      {"i64", "int64:1", XLA_S64, 8},      {"u64", "uint64:1", XLA_U64, 8},
      {"flag", "bool:1", XLA_PRED, 1},     {"c64", "complex64:1", XLA_C64, 8},
      {"bf16", "bfloat16:1", XLA_BF16, 2},
  };
  for (const auto &[path, type, number, size] : types) {
    Frame frame(typed_id, "apply", one_to_one(path, path, type));
    std::vector<unsigned char> x(2 * size, 1), y(2 * size, 0);
    frame.in(number, x.data(), {2}).out(number, y.data(), {2});
    EXPECT_TRUE(succeeds(frame.call())) << path;
    EXPECT_EQ(x, y) << path;
  }
}

TEST(Arrays, GivenInAnotherTypeAreConverted) {
  const Component square = component("square");
  const Added added(square_id, square);
  Frame frame(square_id, "apply",
              R"({"inputs":["x"],"of":["y"],"operands":["float32:1"],"results":["float64:1"]})");
  Array<float> x{1, 2, 3};
  Doubles y = zeros({3});
  frame.in(x).out(y);
  ASSERT_TRUE(succeeds(frame.call()));
  EXPECT_EQ(y.values, (std::vector<double>{1, 4, 9}));
  EXPECT_EQ(statistics_of(square).dtype_copies, 1u);
}

TEST(Arrays, WantedInAnotherTypeAreRefused) {
  const Component square = component("square");
  const Added added(square_id, square);
  Frame frame(square_id, "apply", one_to_one("x", "y", "float32:1"));
  Array<float> x{1, 2, 3}, y{0, 0, 0};
  frame.in(x).out(y);
  EXPECT_TRUE(fails(frame.call(), XLA_INVALID_ARGUMENT, {"square", "y", "float64", "float32"}));
}

TEST(Arrays, AreEmpty) {
  const Component square = component("square");
  const Added added(square_id, square);
  Frame frame(square_id, "apply", one_to_one("x", "y", "float64:1"));
  frame.in(XLA_F64, nullptr, {0}).out(XLA_F64, nullptr, {0});
  EXPECT_TRUE(succeeds(frame.call()));
  EXPECT_EQ(statistics_of(square).calls, 1u);
}

TEST(Arrays, WithoutDataAreRefusedUnlessEmpty) {
  const Component square = component("square");
  const Added added(square_id, square);
  Frame frame(square_id, "apply", one_to_one("x", "y", "float64:1"));
  Doubles y = zeros({3});
  frame.in(XLA_F64, nullptr, {3}).out(y);
  EXPECT_TRUE(fails(frame.call(), XLA_INVALID_ARGUMENT, {"x"}));
}

TEST(Arrays, HaveTheLengthsOfTheBuffers) {
  const Component square = component("square");
  const Added added(square_id, square);
  for (const int64_t n : {1, 7, 0, 100}) {
    Frame frame(square_id, "apply", one_to_one("x", "y", "float64:1"));
    Doubles x = zeros({n}), y = zeros({n});
    for (double &value : x.values) value = 3.0;
    frame.in(x).out(y);
    EXPECT_TRUE(succeeds(frame.call()));
    for (const double value : y.values) EXPECT_EQ(value, 9.0);
  }
  EXPECT_EQ(statistics_of(square).prepared, 1u);
}

TEST(Arrays, OfLengthsThatContradict) {
  const Component square = component("square");
  const Added added(square_id, square);
  Frame frame(square_id, "apply", one_to_one("x", "y", "float64:1"));
  Doubles x = zeros({3}), y = zeros({4});
  frame.in(x).out(y);
  EXPECT_TRUE(fails(frame.call(), XLA_INVALID_ARGUMENT, {"square", "apply", "y"}));
}

TEST(Arrays, PassStraightThrough) {
  Puppet puppet;
  const void *seen_in = nullptr, *seen_out = nullptr;
  puppet.apply = [&](tesseract_frame *frame) {
    seen_in = frame->inputs[0]->data;
    seen_out = frame->outputs[0]->data;
    return TESSERACT_OK;
  };
  const Component opened = puppet.opened();
  const Added added(puppet_id, opened);
  Frame frame(puppet_id, "apply", one_to_one("x", "y", "float64:1"));
  Doubles x{1.0}, y{0.0};
  frame.in(x).out(y);
  ASSERT_TRUE(succeeds(frame.call()));
  EXPECT_EQ(seen_in, x.values.data());
  EXPECT_EQ(seen_out, y.values.data());
}

// ---- Inputs that are no arrays ------------------------------------------------------------------

TEST(Inputs, GivenAsJson) {
  const Component square = component("square");
  const Added added(square_id, square);
  Frame frame(square_id, "apply",
              R"({"inputs":["x"],"json":{"a":3},"of":["y"],"operands":["float64:1"],)"
              R"("results":["float64:1"]})");
  Doubles x{1.0, 2.0}, y = zeros({2});
  frame.in(x).out(y);
  ASSERT_TRUE(succeeds(frame.call()));
  EXPECT_EQ(y.values, (std::vector<double>{3.0, 12.0}));
}

TEST(Inputs, ReachTheComponentAsTheyStandInTheSpec) {
  Puppet puppet;
  puppet.description = R"({"name": "puppet",
    "inputs": [{"path": "x", "dtype": "float64", "shape": []}], "outputs": []})";
  puppet.apply = [](tesseract_frame *frame) {
    return *static_cast<const double *>(frame->inputs[0]->data) == 0.1 ? TESSERACT_OK
                                                                       : TESSERACT_ERROR_COMPONENT;
  };
  const Component opened = puppet.opened();
  const Added added(puppet_id, opened);
  Frame frame(puppet_id, "apply", R"({"json":{"x":0.1000000000000000055511151231257827}})");
  EXPECT_TRUE(succeeds(frame.call()));
}

TEST(Inputs, MayBeNotFinite) {
  const Component square = component("square");
  const Added added(square_id, square);
  Frame frame(square_id, "apply",
              R"({"inputs":["x"],"json":{"a":Infinity},"of":["y"],"operands":["float64:1"],)"
              R"("results":["float64:1"]})");
  Doubles x{1.0, 2.0}, y = zeros({2});
  frame.in(x).out(y);
  ASSERT_TRUE(succeeds(frame.call()));
  EXPECT_EQ(y.values[1], std::numeric_limits<double>::infinity());
}

// ---- The processor's state ----------------------------------------------------------------------

#if defined(__x86_64__)
class Flushing {
 public:
  Flushing() { _mm_setcsr(flushing); }
  ~Flushing() { _mm_setcsr(before_); }
  Flushing(const Flushing &) = delete;
  Flushing &operator=(const Flushing &) = delete;

  static constexpr uint32_t flushing = 0x9FC0;  // denormals are zero, and flushed to it

 private:
  uint32_t before_ = _mm_getcsr();
};

TEST(Denormals, AreNotFlushedInsideAComponent) {
  Puppet puppet;
  puppet.description = R"({"name": "puppet",
    "inputs": [{"path": "x", "dtype": "float32", "shape": ["n"]}],
    "outputs": [{"path": "y", "dtype": "float32", "shape": ["n"]}]})";
  puppet.apply = [](tesseract_frame *frame) {
    const volatile float *x = static_cast<const float *>(frame->inputs[0]->data);
    const volatile float one = 1.0F;
    *static_cast<float *>(frame->outputs[0]->data) = x[0] * one;
    return TESSERACT_OK;
  };
  const Component opened = puppet.opened();
  const Added added(puppet_id, opened);
  for (const char *batch : {"", R"("batch":[[1]],)"}) {
    std::string spec = one_to_one("x", "y", "float32:1");
    spec.insert(1, batch);
    Frame frame(puppet_id, "apply", spec);
    Array<float> x({1, 1}, {1e-40F}), y({1, 1}, {0.0F});
    const std::vector<int64_t> shape(*batch ? 2 : 1, 1);
    frame.in(XLA_F32, x.values.data(), shape).out(XLA_F32, y.values.data(), shape).finish();
    xla_error *error = nullptr;
    uint32_t after = 0;
    {
      const Flushing here;
      error = tesseract_jax_cpu(&frame.raw);
      after = _mm_getcsr();
    }
    EXPECT_TRUE(succeeds(std::unique_ptr<xla_error>(error)));
    uint32_t bits = 0;
    memcpy(&bits, y.values.data(), sizeof bits);
    EXPECT_NE(bits, 0u);
    EXPECT_EQ(after, Flushing::flushing);
  }
}

TEST(Denormals, TheCallersStateIsBackAfterAnError) {
  const Component square = component("square");
  const Added added(square_id, square);
  Frame frame(square_id, "apply", square_apply);
  Doubles x{1.0}, a = scalar(-1.0), y{0.0};
  frame.in(x).in(a).out(y).finish();
  uint32_t after = 0;
  xla_error *error = nullptr;
  {
    const Flushing here;
    error = tesseract_jax_cpu(&frame.raw);
    after = _mm_getcsr();
  }
  EXPECT_TRUE(fails(std::unique_ptr<xla_error>(error), XLA_INVALID_ARGUMENT));
  EXPECT_EQ(after, Flushing::flushing);
}
#endif

// ---- CUDA ---------------------------------------------------------------------------------------

TEST(Devices, AreRefusedInWords) {
  setenv("TESSERACT_HOST_CUDA_DRIVER", "/there/is/none", 1);
  const Component square = component("square");
  const Added added(square_id, square);
  Frame frame(square_id, "apply", square_apply);
  Doubles x{1.0}, a = scalar(1.0), y{0.0};
  cuda_ordinal = 1;
  frame.in(x).in(a).out(y).finish();
  const std::unique_ptr<xla_error> error(tesseract_jax_cuda(&frame.raw));
  EXPECT_TRUE(fails(error, XLA_FAILED_PRECONDITION, {"square", "not available", "/there/is/none"}));
  EXPECT_TRUE(succeeds(frame.call())) << "the CPU's call of the same key is another";
}

}  // namespace
