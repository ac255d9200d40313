// The handlers alone: what they read from a frame, and what they refuse.  In place of the adapter
// stands a function that keeps what it was asked.
#include "../../python/adapter/dtypes.h"
#include "../../python/adapter/execute.h"
#include "frame.h"

namespace {

using namespace test;

struct Asked {
  std::string identity, endpoint, spec;
  uint64_t key, stream;
  DLDevice device;
  std::vector<DLTensor> in, out;
};
std::vector<Asked> asked;
int32_t answer;
const char *answered_text;

std::string text_of(tesseract_string string) {
  return {string.data, string.length};
}

}  // namespace

int32_t tesseract_jax_execute(const tesseract_jax_request *request, char **message) {
  Asked one{text_of(request->identity),
            text_of(request->endpoint),
            text_of(request->spec),
            request->key,
            request->stream,
            request->device,
            {},
            {}};
  for (int64_t i = 0; i < request->n_in; i++) one.in.push_back(*request->in[i]);
  for (int64_t i = 0; i < request->n_out; i++) one.out.push_back(*request->out[i]);
  asked.push_back(one);
  if (answer && answered_text) *message = strdup(answered_text);
  return answer;
}

void tesseract_jax_free(char *message) {
  free(message);
}

namespace {

class Handler : public testing::Test {
 protected:
  Handler() {
    asked.clear();
    answer = TESSERACT_OK;
    answered_text = nullptr;
  }
  Frame frame{"some-tesseract", "apply", "{}"};
  Doubles x{1.0, 2.0, 3.0}, y = zeros({3});
};

// ---- Registration -------------------------------------------------------------------------------

struct Metadata {
  xla_metadata metadata{};
  unsigned char behind[16];
  xla_metadata_extension extension{};
  xla_frame frame{};

  Metadata() {
    memset(behind, 0x5A, sizeof behind);
    metadata.size = sizeof metadata;
    metadata.traits = 77;
    extension.base.size = sizeof extension;
    extension.base.type = XLA_EXTENSION_METADATA;
    extension.metadata = &metadata;
    frame.size = sizeof frame;
    frame.extensions = &extension.base;
  }
};

TEST_F(Handler, SaysItsVersionWithoutAnApi) {
  for (auto *handler : {tesseract_jax_cpu, tesseract_jax_cuda}) {
    Metadata query;
    EXPECT_EQ(handler(&query.frame), nullptr);
    EXPECT_EQ(query.metadata.version.major, 0);
    EXPECT_EQ(query.metadata.version.minor, 1);
    EXPECT_EQ(query.metadata.traits, 0u);
    for (const unsigned char byte : query.behind) EXPECT_EQ(byte, 0x5A);
  }
  EXPECT_TRUE(asked.empty());
}

TEST_F(Handler, FindsTheQueryBehindOtherExtensions) {
  Metadata query;
  xla_extension other{sizeof other, 99, &query.extension.base};
  query.frame.extensions = &other;
  query.frame.api = &runtime();
  EXPECT_EQ(tesseract_jax_cpu(&query.frame), nullptr);
  EXPECT_EQ(query.metadata.version.minor, 1);
}

TEST_F(Handler, IgnoresOtherExtensionsOfACall) {
  xla_extension other{sizeof other, 99, nullptr};
  frame.raw.extensions = &other;
  EXPECT_TRUE(succeeds(frame.call()));
  EXPECT_EQ(asked.size(), 1u);
}

// ---- Frames -------------------------------------------------------------------------------------

TEST_F(Handler, HandsOverWhatIsInTheFrame) {
  frame.in(x).out(y);
  ASSERT_TRUE(succeeds(frame.call()));
  ASSERT_EQ(asked.size(), 1u);
  const Asked &one = asked[0];
  EXPECT_EQ(one.identity, "some-tesseract");
  EXPECT_EQ(one.endpoint, "apply");
  EXPECT_EQ(one.spec, "{}");
  EXPECT_EQ(one.key, frame.key());
  EXPECT_EQ(one.stream, 0u);
  EXPECT_EQ(one.device.device_type, kDLCPU);
  ASSERT_EQ(one.in.size(), 1u);
  EXPECT_EQ(one.in[0].data, x.values.data());
  EXPECT_EQ(one.in[0].ndim, 1);
  EXPECT_EQ(one.in[0].strides, nullptr);
  EXPECT_EQ(one.in[0].byte_offset, 0u);
  EXPECT_EQ(one.in[0].device.device_type, kDLCPU);
  ASSERT_EQ(one.out.size(), 1u);
  EXPECT_EQ(one.out[0].data, y.values.data());
}

TEST_F(Handler, TakesLargerFrames) {
  struct {
    xla_frame frame;
    void *future;
  } larger{};
  frame.in(x).out(y).finish();
  larger.frame = frame.raw;
  larger.frame.size = sizeof larger;
  EXPECT_EQ(tesseract_jax_cpu(&larger.frame), nullptr);
  EXPECT_EQ(asked.size(), 1u);
}

TEST_F(Handler, RefusesSmallerFrames) {
  frame.raw.size = sizeof frame.raw - 8;
  EXPECT_TRUE(fails(frame.call(), XLA_UNIMPLEMENTED, {"160 bytes"}));
  EXPECT_TRUE(asked.empty());
}

TEST_F(Handler, RefusesOtherStages) {
  for (const int32_t stage : {0, 1, 2, 4}) {
    frame.raw.stage = stage;
    EXPECT_TRUE(fails(frame.call(), XLA_UNIMPLEMENTED, {"stage " + std::to_string(stage)}));
  }
  EXPECT_TRUE(asked.empty());
}

// ---- Attributes ---------------------------------------------------------------------------------

TEST_F(Handler, FindsAttributesAmongOthersInAnyOrder) {
  frame.attribute("aardvark", "1").attribute("mhlo.frontend", "2").number("zebra", 3);
  for (const bool reversed : {false, true}) {
    frame.finish(reversed);
    EXPECT_EQ(tesseract_jax_cpu(&frame.raw), nullptr);
  }
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_EQ(asked[1].identity, "some-tesseract");
  EXPECT_EQ(asked[1].key, frame.key());
}

TEST_F(Handler, NamesAMissingAttribute) {
  for (const char *name : {"endpoint", "key", "spec", "tesseract"}) {
    Frame lacking("some-tesseract", "apply", "{}");
    lacking.without(name);
    EXPECT_TRUE(fails(lacking.call(), XLA_INVALID_ARGUMENT, {std::string("attribute ") + name}));
  }
}

TEST_F(Handler, RefusesAttributesOfAnotherKind) {
  frame.number("spec", 1);
  EXPECT_TRUE(fails(frame.call(), XLA_INVALID_ARGUMENT, {"attribute spec", "string"}));
  Frame text("some-tesseract", "apply", "{}");
  text.attribute("key", "12");
  EXPECT_TRUE(fails(text.call(), XLA_INVALID_ARGUMENT, {"attribute key", "number"}));
  Frame narrow("some-tesseract", "apply", "{}");
  narrow.number("key", 1, XLA_S32);
  EXPECT_TRUE(fails(narrow.call(), XLA_INVALID_ARGUMENT, {"64 bits"}));
}

TEST_F(Handler, TakesASignedKey) {
  frame.number("key", UINT64_MAX - 1, XLA_S64);
  EXPECT_TRUE(succeeds(frame.call()));
  EXPECT_EQ(asked[0].key, UINT64_MAX - 1);
}

TEST_F(Handler, TakesEmptyTexts) {
  frame.attribute("endpoint", "").attribute("tesseract", "");
  EXPECT_TRUE(succeeds(frame.call()));
  EXPECT_EQ(asked[0].identity, "");
}

// ---- Arrays -------------------------------------------------------------------------------------

TEST_F(Handler, TranslatesElementTypes) {
  const std::tuple<int32_t, int, int> types[] = {
      {1, kDLBool, 8},
      {2, kDLInt, 8},
      {3, kDLInt, 16},
      {4, kDLInt, 32},
      {5, kDLInt, 64},
      {6, kDLUInt, 8},
      {7, kDLUInt, 16},
      {8, kDLUInt, 32},
      {9, kDLUInt, 64},
      {10, kDLFloat, 16},
      {11, kDLFloat, 32},
      {12, kDLFloat, 64},
      {15, kDLComplex, 64},
      {16, kDLBfloat, 16},
      {18, kDLComplex, 128},
      {19, kDLFloat8_e5m2, 8},
      {20, kDLFloat8_e4m3fn, 8},
      {23, kDLFloat8_e4m3b11fnuz, 8},
      {24, kDLFloat8_e5m2fnuz, 8},
      {25, kDLFloat8_e4m3fnuz, 8},
      {28, kDLFloat8_e4m3, 8},
      {29, kDLFloat8_e3m4, 8},
      {33, kDLFloat8_e8m0fnu, 8},
  };
  for (const auto &[xla, code, bits] : types) {
    Frame one("some-tesseract", "apply", "{}");
    one.in(xla, x.values.data(), {1});
    ASSERT_TRUE(succeeds(one.call())) << xla;
    EXPECT_EQ(asked.back().in[0].dtype.code, code) << xla;
    EXPECT_EQ(asked.back().in[0].dtype.bits, bits) << xla;
    EXPECT_EQ(asked.back().in[0].dtype.lanes, 1) << xla;
  }
}

TEST_F(Handler, RefusesOtherElementTypes) {
  for (const int32_t type : {-1, 0, 13, 14, 17, 21, 22, 26, 27, 30, 31, 32, 34, 1000}) {
    Frame one("some-tesseract", "apply", "{}");
    one.in(type, x.values.data(), {1});
    EXPECT_TRUE(fails(one.call(), XLA_UNIMPLEMENTED, {std::to_string(type)})) << type;
  }
  EXPECT_TRUE(asked.empty());
}

TEST_F(Handler, TakesEmptyArraysWithoutData) {
  frame.in(XLA_F64, nullptr, {0, 3}).in(x).out(XLA_F64, nullptr, {0});
  ASSERT_TRUE(succeeds(frame.call()));
  EXPECT_EQ(asked[0].in[0].data, nullptr);
  EXPECT_EQ(asked[0].in[0].shape[1], 3);
  EXPECT_EQ(asked[0].in[1].data, x.values.data());
}

TEST_F(Handler, TakesRankZero) {
  frame.in(XLA_F64, x.values.data(), {});
  ASSERT_TRUE(succeeds(frame.call()));
  EXPECT_EQ(asked[0].in[0].ndim, 0);
}

TEST_F(Handler, TakesNoArrays) {
  ASSERT_TRUE(succeeds(frame.call()));
  EXPECT_TRUE(asked[0].in.empty());
  EXPECT_TRUE(asked[0].out.empty());
}

TEST_F(Handler, TakesArraysWithoutBound) {
  for (const size_t count : {64u, 65u, 200u}) {
    Frame many("some-tesseract", "apply", "{}");
    for (size_t i = 0; i + 1 < count; i++) many.in(x);
    many.out(y);
    ASSERT_TRUE(succeeds(many.call()));
    ASSERT_EQ(asked.back().in.size(), count - 1);
    EXPECT_EQ(asked.back().in[count - 2].data, x.values.data());
    EXPECT_EQ(asked.back().out[0].data, y.values.data());
  }
}

TEST_F(Handler, RefusesWhatIsNoBuffer) {
  frame.in(x).finish();
  frame.raw.arguments.types[0] = 2;
  const std::unique_ptr<xla_error> error(tesseract_jax_cpu(&frame.raw));
  EXPECT_TRUE(fails(error, XLA_UNIMPLEMENTED, {"no buffer"}));
}

// ---- Errors -------------------------------------------------------------------------------------

TEST_F(Handler, TranslatesStatuses) {
  const std::pair<int32_t, int32_t> codes[] = {
      {TESSERACT_ERROR_INVALID_ARGUMENT, XLA_INVALID_ARGUMENT},
      {TESSERACT_ERROR_SCHEMA, XLA_INVALID_ARGUMENT},
      {TESSERACT_ERROR_OUT_OF_DOMAIN, XLA_INVALID_ARGUMENT},
      {TESSERACT_ERROR_NOT_FOUND, XLA_FAILED_PRECONDITION},
      {TESSERACT_ERROR_UNAVAILABLE, XLA_FAILED_PRECONDITION},
      {TESSERACT_ERROR_VERSION, XLA_FAILED_PRECONDITION},
      {TESSERACT_ERROR_UNSUPPORTED, XLA_UNIMPLEMENTED},
      {TESSERACT_ERROR_DEVICE, XLA_UNIMPLEMENTED},
      {TESSERACT_ERROR_OUT_OF_MEMORY, XLA_RESOURCE_EXHAUSTED},
      {TESSERACT_ERROR_COMPONENT, XLA_INTERNAL},
      {TESSERACT_ERROR_CANCELLED, XLA_INTERNAL},
      {TESSERACT_ERROR_INTERNAL, XLA_INTERNAL},
      {12345, XLA_INTERNAL},
  };
  answered_text = "what went wrong";
  for (const auto &[status, code] : codes) {
    answer = status;
    EXPECT_TRUE(fails(frame.call(), code, {"what went wrong"})) << status;
  }
}

TEST_F(Handler, FailsWithoutAText) {
  answer = TESSERACT_ERROR_OUT_OF_MEMORY;
  EXPECT_TRUE(fails(frame.call(), XLA_RESOURCE_EXHAUSTED, {"out of memory"}));
  answer = TESSERACT_ERROR_INTERNAL;
  EXPECT_TRUE(fails(frame.call(), XLA_INTERNAL, {"failed"}));
}

// ---- CUDA ---------------------------------------------------------------------------------------

TEST_F(Handler, TellsDeviceAndStream) {
  cuda_ordinal = 3;
  cuda_stream = 0xABC0;
  frame.in(x).out(y).finish();
  ASSERT_EQ(tesseract_jax_cuda(&frame.raw), nullptr);
  EXPECT_EQ(asked[0].stream, 0xABC0u);
  EXPECT_EQ(asked[0].device.device_type, kDLCUDA);
  EXPECT_EQ(asked[0].device.device_id, 3);
  EXPECT_EQ(asked[0].in[0].device.device_type, kDLCUDA);
  EXPECT_EQ(asked[0].in[0].device.device_id, 3);
  EXPECT_EQ(asked[0].out[0].device.device_type, kDLCUDA);
  EXPECT_EQ(asked[0].in[0].data, x.values.data());
}

TEST_F(Handler, CallsTheNullStreamTheLegacyDefault) {
  cuda_stream = 0;
  frame.finish();
  ASSERT_EQ(tesseract_jax_cuda(&frame.raw), nullptr);
  EXPECT_EQ(asked[0].stream, 1u);
}

TEST_F(Handler, PassesTheRuntimesErrorsOn) {
  for (const bool of_stream : {true, false}) {
    xla_api api = runtime();
    if (of_stream)
      api.stream_get = [](xla_stream_get *) { return new xla_error{XLA_INTERNAL, "no stream"}; };
    else
      api.ordinal_get = [](xla_ordinal_get *) { return new xla_error{XLA_INTERNAL, "no device"}; };
    frame.finish();
    frame.raw.api = &api;
    const std::unique_ptr<xla_error> error(tesseract_jax_cuda(&frame.raw));
    EXPECT_TRUE(fails(error, XLA_INTERNAL, {of_stream ? "no stream" : "no device"}));
  }
  EXPECT_TRUE(asked.empty());
}

TEST_F(Handler, RefusesARuntimeWithoutDevices) {
  xla_api api = runtime();
  api.size = offsetof(xla_api, ordinal_get);
  frame.finish();
  frame.raw.api = &api;
  const std::unique_ptr<xla_error> error(tesseract_jax_cuda(&frame.raw));
  EXPECT_TRUE(fails(error, XLA_UNIMPLEMENTED, {"device and stream"}));
}

}  // namespace
