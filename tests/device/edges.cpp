// Uses of devices that are rare: streams of a thread, owners, captures, several devices at once.
#include <tesseract_host/ext/adopt.h>

#include <atomic>
#include <thread>

#include "support.h"

namespace {

using namespace test;

class Edges : public DeviceTest {
 protected:
  Puppet puppet;
  Component component;
  DeviceArray x{1.0, 2.0, 3.0}, y{0.0, 0.0, 0.0};
  Stream stream;

  void open(const std::string &properties) {
    puppet.description = description_with(properties);
    component = puppet.opened();
  }
  static constexpr uint64_t per_thread = 2;
};

// ---- Owners

TEST_F(Edges, StagedInputsHaveNoOwner) {
  int references = 0;
  bool seen = false;
  const tesseract_owner owner = {&references, [](void *count) { ++*static_cast<int *>(count); },
                                 [](void *count) { --*static_cast<int *>(count); }};
  puppet.apply = [&](tesseract_frame *frame) {
    seen = frame->owners && frame->owners[0];
    return double_on_host(frame);
  };
  open("");
  const Call call = prepared(component, x.tensor, y.tensor);
  const tesseract_owner *owners[] = {&owner};
  stream.options.owners = owners;
  ASSERT_TRUE(succeeds(run(call.get(), {&x.tensor}, {&y.tensor}, &stream.options)));
  EXPECT_FALSE(seen) << "what the component got is not what the owner keeps alive";
  Doubles host{1.0, 2.0, 3.0};
  const Call there = prepared(component, host.tensor, y.tensor);
  ASSERT_TRUE(succeeds(run(there.get(), {&host.tensor}, {&y.tensor}, &stream.options)));
  EXPECT_TRUE(seen);
}

}  // namespace
