// A caller and a component of the next version of the headers, in this host and in one built with
// them: `newer_member` is what this host does not know.
#include "../native/puppet.h"

namespace {

using namespace test;

const bool knows = tesseract_host_abi()->max == TESSERACT_ABI_MAX;

class Newer : public testing::Test {
 protected:
  Component square = component("square");
  Doubles x{1.0, 2.0};
  Leaves inputs;

  void SetUp() override { inputs.add("x", x); }
  void TearDown() override { EXPECT_TRUE(usable(square)); }

  // What is unknown is refused and what is known is accepted.
  template <class Handle>
  void expect_asked(const Outcome<Handle> &outcome) {
    EXPECT_TRUE(knows ? succeeds(outcome) : fails(outcome, TESSERACT_ERROR_VERSION));
  }
};

TEST_F(Newer, HostIsTheOneOfThisTest) {
  EXPECT_EQ(TESSERACT_ABI_MAX, 2u);
  EXPECT_EQ(tesseract_host_abi()->max, uint32_t{HOST_ABI_MAX});
}

TEST_F(Newer, MembersLeftZeroAreAccepted) {
  const tesseract_call_options options = TESSERACT_CALL_OPTIONS_INIT;
  const tesseract_open_options opening = TESSERACT_OPEN_OPTIONS_INIT;
  EXPECT_TRUE(succeeds(evaluate(square, inputs, nullptr, &options)));
  EXPECT_TRUE(succeeds(open(library("square"), &opening)));
  EXPECT_TRUE(succeeds(prepare(square, signature(TESSERACT_ENDPOINT_APPLY, inputs))));
}

TEST_F(Newer, MembersSetAreNeverIgnored) {
  tesseract_call_options options = TESSERACT_CALL_OPTIONS_INIT;
  options.newer_member = 1;
  expect_asked(evaluate(square, inputs, nullptr, &options));
  tesseract_open_options opening = TESSERACT_OPEN_OPTIONS_INIT;
  opening.newer_member = 1;
  expect_asked(open(library("square"), &opening));
  auto asked = signature(TESSERACT_ENDPOINT_APPLY, inputs);
  asked.newer_member = 1;
  expect_asked(prepare(square, asked));
  inputs.raw.newer_member = 1;
  expect_asked(evaluate(square, inputs));
}

TEST_F(Newer, ComponentThatServesBothVersions) {
  Puppet puppet;
  EXPECT_EQ(puppet.table.abi.max, 2u);
  EXPECT_TRUE(identity_works(puppet.opened()));
}

TEST_F(Newer, ComponentThatServesTheNextVersionOnly) {
  Puppet puppet;
  puppet.table.abi = {2, 2};
  const auto outcome = puppet.open();
  EXPECT_TRUE(knows ? succeeds(outcome)
                    : fails(outcome, TESSERACT_ERROR_VERSION, {puppet.path, "2 to 2", "1 to 1"}));
}

TEST_F(Newer, StatisticsAreWrittenAsFarAsTheyAreKnown) {
  tesseract_statistics statistics = TESSERACT_STATISTICS_INIT;
  statistics.newer_member = 77;
  ASSERT_EQ(tesseract_component_statistics(square.get(), &statistics), TESSERACT_OK);
  EXPECT_EQ(statistics.calls, 0u);
  EXPECT_EQ(statistics.newer_member, knows ? 0u : 77u);
}

}  // namespace
