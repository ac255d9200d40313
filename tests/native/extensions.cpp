// Extensions by id, in both directions, and calls of their functions.
#include <tesseract_host/ext/nested.h>
#include <tesseract_host/ext/reference.h>

#include <thread>

#include "puppet.h"

namespace {

using namespace test;

TEST(Extension, OfTheHost) {
  const auto *nested = static_cast<const tesseract_nested_table *>(
      tesseract_host_extension(TESSERACT_NESTED_ID, TESSERACT_NTS));
  ASSERT_NE(nested, nullptr);
  EXPECT_GE(nested->size, sizeof(tesseract_nested_table));
  EXPECT_EQ(nested->open, &tesseract_open);
  EXPECT_EQ(nested->call_run, &tesseract_call_run);
  EXPECT_EQ(nested->error_free, &tesseract_error_free);
  const std::string longer = std::string(TESSERACT_NESTED_ID) + "9";
  EXPECT_EQ(tesseract_host_extension(longer.data(), longer.size() - 1), nested) << "by length";
}

TEST(Extension, ThatTheHostHasNot) {
  for (const char *id : {"", "tesseract-host.nested", "tesseract-host.nested/2", "no.such/1"})
    EXPECT_EQ(tesseract_host_extension(id, TESSERACT_NTS), nullptr) << id;
  EXPECT_EQ(tesseract_host_extension(nullptr, 0), nullptr);
  EXPECT_EQ(tesseract_host_extension(nullptr, TESSERACT_NTS), nullptr);
  EXPECT_EQ(tesseract_host_extension("\xff\0\xfe", 3), nullptr);
}

TEST(Extension, IsTheSameForComponents) {
  Puppet puppet;
  puppet.apply = [](tesseract_frame *frame) {
    EXPECT_EQ(frame->host->extension(TESSERACT_NESTED_ID, TESSERACT_NTS),
              tesseract_host_extension(TESSERACT_NESTED_ID, TESSERACT_NTS));
    EXPECT_EQ(frame->host->extension("no.such/1", TESSERACT_NTS), nullptr);
    return Puppet::copy_first(frame);
  };
  EXPECT_TRUE(identity_works(puppet.opened()));
}

TEST(Extension, OfAComponent) {
  static const int table = 0;
  Puppet puppet;
  puppet.table.extension = [](void *instance, const char *id, uint64_t length) -> const void * {
    EXPECT_NE(length, TESSERACT_NTS) << "lengths are written";
    return instance && std::string_view(id, length) == "puppet.strings/1" ? &table : nullptr;
  };
  const auto opened = puppet.opened();
  EXPECT_EQ(tesseract_component_extension(opened.get(), "puppet.strings/1", TESSERACT_NTS), &table);
  EXPECT_EQ(tesseract_component_extension(opened.get(), "puppet.strings/12", 16), &table);
  EXPECT_EQ(tesseract_component_extension(opened.get(), "puppet.strings/2", TESSERACT_NTS),
            nullptr);
  EXPECT_EQ(tesseract_component_extension(opened.get(), nullptr, 0), nullptr);
  EXPECT_EQ(tesseract_component_extension(nullptr, "puppet.strings/1", TESSERACT_NTS), nullptr);
  EXPECT_EQ(
      tesseract_component_extension(component("square").get(), "puppet.strings/1", TESSERACT_NTS),
      nullptr);
}

// ---- tesseract_call_with ------------------------------------------------------------------------

using Body = std::function<int32_t(void *, tesseract_frame *)>;

Outcome<Result> call_with(const Component &component, Body body, Options options = nullptr) {
  return outcome_of<Result>([&](auto **, auto **error) {
    return tesseract_call_with(
        component.get(),
        [](void *instance, tesseract_frame *frame, void *data) {
          return (*static_cast<Body *>(data))(instance, frame);
        },
        &body, options, error);
  });
}

TEST(Reference, KeepsAComponentThatIsClosed) {
  const auto *references = static_cast<const tesseract_reference_table *>(
      tesseract_host_extension(TESSERACT_REFERENCE_ID, TESSERACT_NTS));
  ASSERT_NE(references, nullptr);
  EXPECT_EQ(references->size, sizeof *references);
  static int destroyed;
  destroyed = 0;
  Puppet puppet;
  puppet.table.destroy = [](void *) { destroyed++; };
  Component opened = puppet.opened();
  tesseract_component *held = opened.get();
  references->hold(held);
  opened.reset();
  EXPECT_EQ(destroyed, 0);
  tesseract_call *call = nullptr;
  Leaves inputs{"x"};
  const auto asked = signature(TESSERACT_ENDPOINT_APPLY, inputs);
  EXPECT_EQ(tesseract_prepare(held, &asked, &call, nullptr), TESSERACT_ERROR_UNAVAILABLE);
  references->drop(held);
  EXPECT_EQ(destroyed, 1);
  references->hold(nullptr);
  references->drop(nullptr);
}

TEST(CallWith, GivesInstanceAndFrame) {
  Puppet puppet;
  const auto opened = puppet.opened();
  bool ran = false;
  ASSERT_TRUE(succeeds(call_with(opened, [&](void *instance, tesseract_frame *frame) {
    ran = true;
    EXPECT_EQ(instance, &puppet);
    EXPECT_NE(frame->host, nullptr);
    EXPECT_EQ(frame->host->cancelled(frame), 0);
    return TESSERACT_OK;
  })));
  EXPECT_TRUE(ran);
}

TEST(CallWith, ReportsErrors) {
  Puppet puppet;
  const auto opened = puppet.opened();
  EXPECT_TRUE(fails(call_with(opened,
                              [](void *, tesseract_frame *frame) {
                                return tesseract_fail(frame, TESSERACT_ERROR_OUT_OF_DOMAIN, "x",
                                                      "not here");
                              }),
                    TESSERACT_ERROR_OUT_OF_DOMAIN, {"puppet", "not here"}));
  EXPECT_TRUE(fails(call_with(opened,
                              [](void *, tesseract_frame *) -> int32_t {
                                throw std::runtime_error("thrown by the body");
                              }),
                    TESSERACT_ERROR_COMPONENT, {"thrown by the body"}));
  EXPECT_TRUE(identity_works(opened));
}

TEST(CallWith, CanBeCancelled) {
  Puppet puppet;
  const auto opened = puppet.opened();
  const Cancel cancel = make_cancel();
  tesseract_cancel_request(cancel.get());
  tesseract_call_options options = TESSERACT_CALL_OPTIONS_INIT;
  options.cancel = cancel.get();
  EXPECT_TRUE(fails(call_with(
                        opened,
                        [](void *, tesseract_frame *frame) {
                          return frame->host->cancelled(frame) ? TESSERACT_ERROR_CANCELLED
                                                               : TESSERACT_OK;
                        },
                        &options),
                    TESSERACT_ERROR_CANCELLED));
}

TEST(CallWith, KeepsTheThreadingClass) {
  Puppet puppet;
  const auto opened = puppet.opened();
  int inside = 0;  // guarded by the component's class
  const auto work = [&] {
    for (int i = 0; i < 200; i++)
      EXPECT_TRUE(succeeds(call_with(opened, [&](void *, tesseract_frame *) {
        EXPECT_EQ(++inside, 1);
        std::this_thread::yield();
        --inside;
        return TESSERACT_OK;
      })));
  };
  std::thread other(work);
  work();
  other.join();
}

TEST(CallWith, ArgumentsAreChecked) {
  Puppet puppet;
  const auto opened = puppet.opened();
  const auto body = [](void *, tesseract_frame *, void *) -> int32_t { return TESSERACT_OK; };
  EXPECT_EQ(tesseract_call_with(nullptr, body, nullptr, nullptr, nullptr),
            TESSERACT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(tesseract_call_with(opened.get(), nullptr, nullptr, nullptr, nullptr),
            TESSERACT_ERROR_INVALID_ARGUMENT);
}

}  // namespace
