// The log: from calls, from a component's own threads, and where nobody listens.
#include <mutex>

#include "puppet.h"

namespace {

using namespace test;

struct Lines {
  std::mutex mutex;
  std::vector<std::pair<int32_t, std::string>> lines;

  tesseract_open_options options() {
    tesseract_open_options options = TESSERACT_OPEN_OPTIONS_INIT;
    options.log_data = this;
    options.log = [](void *data, int32_t level, const char *text, uint64_t length) {
      auto *self = static_cast<Lines *>(data);
      EXPECT_EQ(text[length], '\0') << "strings out are NUL-terminated";
      const std::lock_guard lock(self->mutex);
      self->lines.emplace_back(level, std::string(text, length));
    };
    return options;
  }
};

using Line = std::pair<int32_t, std::string>;

TEST(Log, FromAThreadOfTheComponents) {
  Lines log;
  const auto options = log.options();
  auto outcome = open(library("own_thread"), &options);
  ASSERT_TRUE(succeeds(outcome));
  outcome.value.reset();
  ASSERT_EQ(log.lines.size(), 6u);
  const char *const texts[] = {"debug", "info", "warning", "error", "output"};
  for (int32_t i = 0; i < 5; i++)
    EXPECT_EQ(log.lines[static_cast<size_t>(i)], Line(TESSERACT_LOG_DEBUG + i, texts[i]));
  EXPECT_EQ(log.lines[5], Line(TESSERACT_LOG_INFO, "destroyed"));
}

TEST(Log, LengthsAreKept) {
  Lines log;
  const auto options = log.options();
  const auto outcome = open(library("own_thread"), &options);
  evaluate(outcome.value, nullptr);
  const std::lock_guard lock(log.mutex);
  EXPECT_NE(std::find(log.lines.begin(), log.lines.end(), Line(TESSERACT_LOG_INFO, "applied")),
            log.lines.end());
}

TEST(Log, IsDroppedWhereNobodyListens) {
  const auto own_thread = component("own_thread");
  EXPECT_TRUE(succeeds(evaluate(own_thread, nullptr)));
}

TEST(Log, GoesToTheInstance) {
  Lines one, two;
  const auto for_one = one.options(), for_two = two.options();
  auto first = open(library("own_thread"), &for_one),
       second = open(library("own_thread"), &for_two);
  evaluate(first.value, nullptr);
  first.value.reset();
  second.value.reset();
  EXPECT_EQ(one.lines.size(), 7u);
  EXPECT_EQ(two.lines.size(), 6u);
}

TEST(Log, OddLines) {
  Lines log;
  const auto options = log.options();
  Puppet puppet;
  puppet.apply = [](tesseract_frame *frame) {
    frame->host->log(frame->log, TESSERACT_LOG_INFO, nullptr, 0);
    frame->host->log(frame->log, 77, "odd level", TESSERACT_NTS);
    frame->host->log(frame->log, TESSERACT_LOG_INFO, "a\0b", 3);
    const std::string text(1 << 20, 'x');
    frame->host->log(frame->log, TESSERACT_LOG_OUTPUT, text.data(), text.size());
    return Puppet::copy_first(frame);
  };
  const auto outcome = puppet.open(&options);
  ASSERT_TRUE(succeeds(outcome));
  EXPECT_TRUE(identity_works(outcome.value));
  ASSERT_FALSE(log.lines.empty());
  EXPECT_EQ(log.lines.back().second.size(), size_t{1} << 20);
}

TEST(Log, OfOpeningReachesTheCallback) {
  Lines log;
  const auto options = log.options();
  Puppet puppet;
  puppet.table.create = [](const char *, uint64_t, void **, tesseract_frame *frame) {
    frame->host->log(frame->log, TESSERACT_LOG_WARNING, "no licence", TESSERACT_NTS);
    return TESSERACT_ERROR_UNAVAILABLE;
  };
  EXPECT_FALSE(puppet.open(&options).ok());
  ASSERT_EQ(log.lines.size(), 1u);
  EXPECT_EQ(log.lines[0], Line(TESSERACT_LOG_WARNING, "no licence"));
}

// What the callback's data hold is given back, whatever made opening fail.
TEST(Log, IsFreedWhenOpeningFails) {
  int freed = 0;
  tesseract_open_options options = TESSERACT_OPEN_OPTIONS_INIT;
  options.log_data = &freed;
  options.log_free = [](void *data) { ++*static_cast<int *>(data); };
  auto unknown_flags = options;
  unknown_flags.flags = 1u << 31;
  const std::string source = library("square");
  tesseract_component *made = nullptr;
  tesseract_error *error = nullptr;
  const auto fails_and_frees = [&](const char *what, int32_t status,
                                   int32_t expected = TESSERACT_ERROR_INVALID_ARGUMENT) {
    EXPECT_EQ(status, expected) << what;
    EXPECT_EQ(freed, 1) << what;
    EXPECT_EQ(made, nullptr) << what;
    freed = 0;
  };
  fails_and_frees("unknown flags",
                  tesseract_open(source.data(), source.size(), &unknown_flags, &made, nullptr),
                  TESSERACT_ERROR_VERSION);
  fails_and_frees("no component",
                  tesseract_open(source.data(), source.size(), &options, nullptr, nullptr));
  fails_and_frees("no source", tesseract_open(nullptr, 3, &options, &made, nullptr));
  tesseract_open(nullptr, 3, nullptr, &made, &error);
  const Error earlier(error);
  ASSERT_NE(error, nullptr);
  fails_and_frees("an earlier error",
                  tesseract_open(source.data(), source.size(), &options, &made, &error));
  EXPECT_EQ(error, earlier.get());
}

}  // namespace
