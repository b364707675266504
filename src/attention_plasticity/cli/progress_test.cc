#include "attention_plasticity/cli/progress.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace attention_plasticity {
namespace {

constexpr Terminal pipe{false, false};
constexpr Terminal colored{true, true};
constexpr Terminal plain{true, false};

std::string progress_bar(std::size_t ended, std::size_t total, double seconds, std::size_t width,
                         const std::string& unit) {
  const double share = total > 0 ? static_cast<double>(ended) / static_cast<double>(total) : 1;
  return bar_line(share, progress_figures(ended, total, seconds, unit), width);
}

/// What `action` writes to standard error.
template <class Action>
std::string told(Action action) {
  ::testing::internal::CaptureStderr();
  action();
  return ::testing::internal::GetCapturedStderr();
}

TEST(ProgressBar, ShowsCountRateAndTimeLeft) {
  EXPECT_EQ(progress_bar(23, 60, 2.0, 55, "heads"), "[########---------------] 23/60 heads, 12/s, 0:04 left");
  EXPECT_EQ(progress_bar(5, 10, 2.0, 200, "files"),
            "[####################--------------------] 5/10 files, 2.5/s, 0:02 left");
}

TEST(ProgressBar, IsFullAtTheEnd) {
  EXPECT_EQ(progress_bar(4, 4, 1.0, 100, "heads"),
            "[########################################] 4/4 heads, 4.0/s, 0:00 left");
}

TEST(ProgressBar, TellsLongTimesInHours) {
  const std::string bar = progress_bar(1, 1001, 4.0, 100, "heads");
  EXPECT_TRUE(bar.ends_with(" 1/1001 heads, 0.2/s, 1:06:40 left")) << bar;
}

TEST(ProgressBar, KnowsNoRateBeforeAnythingIsKnown) {
  EXPECT_TRUE(progress_bar(0, 8, 1.0, 60, "heads").ends_with("] 0/8 heads"));
  EXPECT_TRUE(progress_bar(1, 8, 0.0, 60, "heads").ends_with("] 1/8 heads"));
}

TEST(ProgressBar, NothingToDoIsDone) { EXPECT_EQ(progress_bar(0, 0, 1.0, 23, "x"), "[##############] 0/0 x"); }

TEST(ProgressBar, KeepsTheFiguresWhereThereIsNoRoomForABar) {
  EXPECT_EQ(progress_bar(3, 8, 3.0, 30, "heads"), "3/8 heads, 1.0/s, 0:05 left");
  EXPECT_EQ(progress_bar(3, 8, 3.0, 10, "heads"), "3/8 heads");
}

RC_GTEST_PROP(ProgressBar, LeavesTheLastColumnFree, ()) {
  const auto total = *rc::gen::inRange<std::size_t>(0, 100000);
  const auto ended = *rc::gen::inRange<std::size_t>(0, total + 1);
  const auto width = *rc::gen::inRange<std::size_t>(1, 300);
  const double seconds = *rc::gen::inRange(0, 1000000) / 7.0;
  RC_ASSERT(progress_bar(ended, total, seconds, width, "heads").size() < width);
}

TEST(Progress, PlainTellsEveryLine) {
  EXPECT_EQ(told([] {
              Progress progress(Verbosity::plain, pipe, "heads");
              progress.note("a note");
              progress.advance(1, 2, "first");
              progress.failure("second failed");
            }),
            "a note\nfirst\nsecond failed\n");
}

TEST(Progress, QuietTellsFailuresOnly) {
  EXPECT_EQ(told([] {
              Progress progress(Verbosity::quiet, pipe, "heads");
              progress.note("a note");
              progress.advance(1, 2, "first");
              progress.failure("second failed");
            }),
            "second failed\n");
}

TEST(Progress, BarGivesWayToLinesAndIsCleared) {
  const std::string text = told([] {
    Progress progress(Verbosity::bar, plain, "heads");
    progress.advance(1, 3, "not shown");
    progress.note("a note");
    progress.failure("second failed");
    progress.advance(3, 3, "not shown");
  });
  EXPECT_TRUE(text.starts_with("\r[")) << text;
  EXPECT_NE(text.find(" 1/3 heads"), std::string::npos);
  EXPECT_NE(text.find("\r\x1b[Ka note\nsecond failed\n\r["), std::string::npos) << text;
  EXPECT_NE(text.find(" 3/3 heads"), std::string::npos);
  EXPECT_TRUE(text.ends_with("\r\x1b[K")) << text;
  EXPECT_EQ(text.find("not shown"), std::string::npos);
}

TEST(Progress, BarIsNotRedrawnForEveryItem) {
  const std::string text = told([] {
    Progress progress(Verbosity::bar, plain, "items");
    for (std::size_t i = 1; i <= 10000; ++i) progress.advance(i, 10000, "");
  });
  EXPECT_LT(std::count(text.begin(), text.end(), '['), 2000) << "a terminal need not show 10000 bars";
  EXPECT_NE(text.find(" 10000/10000 items"), std::string::npos) << "the last one is always shown";
}

TEST(Progress, FailuresAreRedWhereColorsAreShown) {
  const auto fail_on = [](const Terminal& terminal) {
    return told([&] { Progress(Verbosity::bar, terminal, "heads").failure("failed"); });
  };
  EXPECT_EQ(fail_on(colored), "\x1b[31mfailed\x1b[0m\n");
  EXPECT_EQ(fail_on(plain), "failed\n");
}

}  // namespace
}  // namespace attention_plasticity
