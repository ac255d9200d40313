// Structs of other sizes: what an older caller leaves out is its default, what a newer one asks for
// is refused, what a newer one leaves zero is accepted.
#include <cstring>

#include "puppet.h"

namespace {

using namespace test;

// A struct of a newer header: the same with one member more.
template <class Struct>
struct Newer {
  Struct known{};
  uint64_t unknown = 0;

  explicit Newer(const Struct &from, uint64_t value) : known(from), unknown(value) {
    known.size = sizeof(Newer);
  }
};

class Versions : public testing::Test {
 protected:
  Component square = component("square");
  Doubles x{1.0, 2.0, 3.0};
  Leaves inputs;
  void SetUp() override { inputs.add("x", x); }
  void TearDown() override { EXPECT_TRUE(usable(square)); }
};

TEST_F(Versions, LibraryAndAbi) {
  int major = -1, minor = -1, patch = -1;
  EXPECT_EQ(std::sscanf(tesseract_host_version(), "%d.%d.%d", &major, &minor, &patch), 3)
      << tesseract_host_version();
  const tesseract_range *abi = tesseract_host_abi();
  EXPECT_LE(abi->min, TESSERACT_ABI_MIN);
  EXPECT_GE(abi->max, TESSERACT_ABI_MAX);
}

// ---- Newer structs ------------------------------------------------------------------------------

TEST_F(Versions, NewerLeaves) {
  const Newer<tesseract_leaves> zero(inputs.raw, 0), set(inputs.raw, 1);
  EXPECT_TRUE(succeeds(evaluate(square, &zero.known)));
  EXPECT_TRUE(fails(evaluate(square, &set.known), TESSERACT_ERROR_VERSION, {"inputs"}));
  Leaves y{"y"};
  const Newer<tesseract_leaves> of(y.raw, 1);
  EXPECT_TRUE(fails(evaluate(square, inputs, &of.known), TESSERACT_ERROR_VERSION, {"of"}));
}

TEST_F(Versions, NewerCallOptions) {
  const tesseract_call_options plain = TESSERACT_CALL_OPTIONS_INIT;
  const Newer<tesseract_call_options> zero(plain, 0), set(plain, uint64_t{1} << 63);
  EXPECT_TRUE(succeeds(evaluate(square, inputs, nullptr, &zero.known)));
  EXPECT_TRUE(
      fails(evaluate(square, inputs, nullptr, &set.known), TESSERACT_ERROR_VERSION, {"options"}));
  Doubles y = zeros({3});
  const auto call = prepare(square, signature(TESSERACT_ENDPOINT_APPLY, inputs));
  EXPECT_TRUE(succeeds(run(call.get(), {&x.tensor}, {&y.tensor}, &zero.known)));
  EXPECT_TRUE(fails(run(call.get(), {&x.tensor}, {&y.tensor}, &set.known), TESSERACT_ERROR_VERSION,
                    {"options"}));
}

TEST_F(Versions, NewerSignature) {
  const auto plain = signature(TESSERACT_ENDPOINT_APPLY, inputs);
  const Newer<tesseract_signature> zero(plain, 0), set(plain, 7);
  EXPECT_TRUE(succeeds(prepare(square, zero.known)));
  EXPECT_TRUE(fails(prepare(square, set.known), TESSERACT_ERROR_VERSION, {"signature"}));
}

TEST_F(Versions, NewerOpenOptions) {
  const tesseract_open_options plain = TESSERACT_OPEN_OPTIONS_INIT;
  const Newer<tesseract_open_options> zero(plain, 0), set(plain, 7);
  EXPECT_TRUE(succeeds(open(library("square"), &zero.known)));
  EXPECT_TRUE(fails(open(library("square"), &set.known), TESSERACT_ERROR_VERSION, {"options"}));
}

// Every byte beyond what is known counts, the last one of a large struct too.
TEST_F(Versions, LastByteCounts) {
  std::vector<char> bytes(5000);
  auto *options = reinterpret_cast<tesseract_call_options *>(bytes.data());
  options->size = static_cast<uint32_t>(bytes.size());
  EXPECT_TRUE(succeeds(evaluate(square, inputs, nullptr, options)));
  bytes.back() = 1;
  EXPECT_TRUE(fails(evaluate(square, inputs, nullptr, options), TESSERACT_ERROR_VERSION));
}

// ---- Flags and reserved members -----------------------------------------------------------------

TEST_F(Versions, UnknownFlags) {
  for (const uint32_t flag : {4u, 1u << 31}) {
    tesseract_call_options call = TESSERACT_CALL_OPTIONS_INIT;
    call.flags = flag;
    EXPECT_TRUE(fails(evaluate(square, inputs, nullptr, &call), TESSERACT_ERROR_VERSION, {"flag"}));
    EXPECT_TRUE(
        fails(prepare(square, signature(TESSERACT_ENDPOINT_APPLY, inputs, nullptr, nullptr, flag)),
              TESSERACT_ERROR_VERSION, {"flag"}));
    tesseract_open_options opening = TESSERACT_OPEN_OPTIONS_INIT;
    opening.flags = flag;
    EXPECT_TRUE(fails(open(library("square"), &opening), TESSERACT_ERROR_VERSION, {"flag"}));
  }
  inputs.raw.flags = 1;
  EXPECT_TRUE(fails(evaluate(square, inputs), TESSERACT_ERROR_VERSION, {"flag"}));
}

TEST_F(Versions, ReservedMember) {
  auto reserved = signature(TESSERACT_ENDPOINT_APPLY, inputs);
  reserved.reserved = 1;
  EXPECT_TRUE(fails(prepare(square, reserved), TESSERACT_ERROR_VERSION, {"reserved"}));
}

// ---- Shorter structs ----------------------------------------------------------------------------

// A copy that ends where `size` says, so that a read beyond it is a fault of its own.
template <class Struct>
std::unique_ptr<char[]> cut(const Struct &whole, size_t size) {
  auto bytes = std::make_unique<char[]>(size);
  std::memcpy(bytes.get(), &whole, size);
  const auto written = static_cast<uint32_t>(size);
  std::memcpy(bytes.get(), &written, sizeof written);
  return bytes;
}

TEST_F(Versions, ShorterCallOptions) {
  const tesseract_call_options whole = TESSERACT_CALL_OPTIONS_INIT;
  for (const size_t size :
       {offsetof(tesseract_call_options, stream), offsetof(tesseract_call_options, cancel),
        offsetof(tesseract_call_options, owners)}) {
    const auto bytes = cut(whole, size);
    const auto *options = reinterpret_cast<const tesseract_call_options *>(bytes.get());
    EXPECT_TRUE(succeeds(evaluate(square, inputs, nullptr, options))) << size;
  }
}

TEST_F(Versions, ShorterOpenOptions) {
  const tesseract_open_options whole = TESSERACT_OPEN_OPTIONS_INIT;
  for (const size_t size :
       {offsetof(tesseract_open_options, json), offsetof(tesseract_open_options, log)}) {
    const auto bytes = cut(whole, size);
    const auto *options = reinterpret_cast<const tesseract_open_options *>(bytes.get());
    EXPECT_TRUE(succeeds(open(library("square"), options))) << size;
  }
}

TEST_F(Versions, ShorterLeaves) {
  const auto bytes = cut(inputs.raw, offsetof(tesseract_leaves, json));
  EXPECT_TRUE(succeeds(evaluate(square, reinterpret_cast<const tesseract_leaves *>(bytes.get()))));
}

TEST_F(Versions, ShorterSignature) {
  const auto whole = signature(TESSERACT_ENDPOINT_APPLY, inputs);
  const auto bytes = cut(whole, offsetof(tesseract_signature, of));
  EXPECT_TRUE(
      succeeds(prepare(square, *reinterpret_cast<const tesseract_signature *>(bytes.get()))));
}

TEST_F(Versions, StructsWithoutSize) {
  for (const uint32_t size : {0u, 4u, 7u}) {
    tesseract_call_options call = TESSERACT_CALL_OPTIONS_INIT;
    call.size = size;
    EXPECT_TRUE(fails(evaluate(square, inputs, nullptr, &call),
                      {TESSERACT_ERROR_VERSION, TESSERACT_ERROR_INVALID_ARGUMENT}, {"size"}))
        << size;
    tesseract_open_options opening = TESSERACT_OPEN_OPTIONS_INIT;
    opening.size = size;
    EXPECT_TRUE(fails(open(library("square"), &opening),
                      {TESSERACT_ERROR_VERSION, TESSERACT_ERROR_INVALID_ARGUMENT}, {"size"}))
        << size;
  }
}

// ---- Structs that offer -------------------------------------------------------------------------

TEST_F(Versions, LongerPluginTable) {
  Puppet puppet;
  Newer<tesseract_plugin_table> longer(puppet.table, 77);
  puppet.entry = [&](auto, auto out) {
    *out = &longer.known;
    return TESSERACT_OK;
  };
  EXPECT_TRUE(identity_works(puppet.opened()));
}

// No header of this major has a shorter table, so one is served as far as it goes, or refused.
TEST_F(Versions, ShorterPluginTable) {
  Puppet puppet;
  puppet.offer(&tesseract_plugin_table::jvp);
  const auto bytes = cut(puppet.table, offsetof(tesseract_plugin_table, jvp));
  puppet.entry = [&](auto, auto out) {
    *out = reinterpret_cast<const tesseract_plugin_table *>(bytes.get());
    return TESSERACT_OK;
  };
  const auto outcome = puppet.open();
  if (!outcome.ok()) {
    EXPECT_TRUE(fails(outcome, {TESSERACT_ERROR_VERSION, TESSERACT_ERROR_COMPONENT},
                      {puppet.path, "table"}));
    return;
  }
  Leaves seeds;
  EXPECT_TRUE(identity_works(outcome.value));
  EXPECT_TRUE(fails(jvp(outcome.value, inputs, seeds.add("x", x)), TESSERACT_ERROR_UNSUPPORTED));
}

TEST_F(Versions, FrameSaysItsSize) {
  Puppet puppet;
  puppet.apply = [](tesseract_frame *frame) {
    EXPECT_GE(frame->size, sizeof(tesseract_frame));
    EXPECT_GE(frame->host->size, sizeof(tesseract_host_table));
    EXPECT_GE(frame->signature->size, sizeof(tesseract_signature));
    EXPECT_GE(frame->signature->inputs->size, sizeof(tesseract_leaves));
    return Puppet::copy_first(frame);
  };
  EXPECT_TRUE(identity_works(puppet.opened()));
}

// ---- Structs that are filled --------------------------------------------------------------------

TEST_F(Versions, StatisticsAreWrittenAsFarAsTheirSize) {
  std::vector<unsigned char> bytes(sizeof(tesseract_statistics) + 64, 0xAA);
  auto *statistics = reinterpret_cast<tesseract_statistics *>(bytes.data());
  statistics->size = offsetof(tesseract_statistics, layout_copies);
  statistics->flags = 0;
  ASSERT_EQ(tesseract_component_statistics(square.get(), statistics), TESSERACT_OK);
  EXPECT_EQ(statistics->calls, 0u);
  EXPECT_EQ(bytes[offsetof(tesseract_statistics, layout_copies)], 0xAA) << "no further";
  statistics->size = static_cast<uint32_t>(bytes.size());
  ASSERT_EQ(tesseract_component_statistics(square.get(), statistics), TESSERACT_OK);
  EXPECT_EQ(statistics->owned_bytes, 0u);
  EXPECT_LE(statistics->size, bytes.size());
}

TEST_F(Versions, StatisticsArgumentsAreChecked) {
  tesseract_statistics statistics = TESSERACT_STATISTICS_INIT;
  EXPECT_EQ(tesseract_component_statistics(nullptr, &statistics), TESSERACT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(tesseract_component_statistics(square.get(), nullptr),
            TESSERACT_ERROR_INVALID_ARGUMENT);
  statistics.size = 0;
  EXPECT_NE(tesseract_component_statistics(square.get(), &statistics), TESSERACT_OK);
}

}  // namespace
