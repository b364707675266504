#include "attention_plasticity/cli/signals.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>

namespace attention_plasticity {
namespace {

bool comes_true(const auto& condition) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition() && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return condition();
}

bool is_blocked(int signal) {
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  return sigismember(&blocked, signal) == 1;
}

TEST(StopOnSignal, FirstSignalRequestsAStop) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    std::atomic<int> told = 0;
    const StopOnSignal stop([&] { ++told; });
    EXPECT_FALSE(stop.token().stop_requested());
    EXPECT_EQ(stop.signal(), 0);
    ::kill(::getpid(), signal);
    EXPECT_TRUE(comes_true([&] { return stop.token().stop_requested() && told == 1; }));
    EXPECT_EQ(stop.signal(), signal);
  }
}

TEST(StopOnSignal, IsToldBeforeAnythingStops) {
  std::atomic<bool> goes_on = false;
  const StopOnSignal stop([&] { comes_true([&] { return goes_on.load(); }); });
  ::kill(::getpid(), SIGINT);
  EXPECT_TRUE(comes_true([&] { return stop.signal() == SIGINT; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(stop.token().stop_requested());
  goes_on = true;
  EXPECT_TRUE(comes_true([&] { return stop.token().stop_requested(); }));
}

TEST(StopOnSignal, SignalsHaveTheirUsualMeaningAfterwards) {
  {
    const StopOnSignal stop([] {});
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) EXPECT_TRUE(is_blocked(signal)) << signal;
  }
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) EXPECT_FALSE(is_blocked(signal)) << signal;
}

TEST(StopOnSignal, EndsWithoutWaiting) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 200; ++i) const StopOnSignal stop([] {});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));  // 10 s when each waits for 50 ms
}

TEST(StopOnSignal, WithoutASignalNothingIsTold) {
  bool told = false;
  {
    const StopOnSignal stop([&] { told = true; });
  }
  EXPECT_FALSE(told);
}

class StopOnSignalDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(StopOnSignalDeathTest, SecondSignalEndsTheProgram) {
  const auto twice = [](int signal) {
    const StopOnSignal stop([] {});
    ::kill(::getpid(), signal);
    comes_true([&] { return stop.token().stop_requested(); });
    ::kill(::getpid(), signal);
    comes_true([] { return false; });
  };
  EXPECT_EXIT(twice(SIGINT), ::testing::KilledBySignal(SIGINT), "");
  EXPECT_EXIT(twice(SIGTERM), ::testing::KilledBySignal(SIGTERM), "");
}

// A terminal that closes may send SIGHUP twice, and each line to a lost reader brings a SIGPIPE.
TEST_F(StopOnSignalDeathTest, FurtherHangUpsAndLostReadersDoNotEndTheProgram) {
  const auto many = [] {
    const StopOnSignal stop([] {});
    ::kill(::getpid(), SIGHUP);
    comes_true([&] { return stop.token().stop_requested(); });
    for (const int signal : {SIGHUP, SIGPIPE, SIGPIPE}) ::kill(::getpid(), signal);
    comes_true([] {
      sigset_t pending;
      sigpending(&pending);
      return sigismember(&pending, SIGHUP) == 0 && sigismember(&pending, SIGPIPE) == 0;
    });
    EXPECT_EQ(stop.signal(), SIGHUP);
    ::kill(::getpid(), SIGTERM);
    comes_true([] { return false; });
  };
  EXPECT_EXIT(many(), ::testing::KilledBySignal(SIGTERM), "");
}

TEST_F(StopOnSignalDeathTest, ClosedStandardStreamsAreNotUsedForFiles) {
  const auto closed = [] {
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(fd);
    prepare_standard_streams();
    const int file = ::open("/dev/null", O_WRONLY);
    const bool fails = ::write(STDOUT_FILENO, "x", 1) == -1 && ::write(STDERR_FILENO, "x", 1) == -1;
    ::_exit(file > STDERR_FILENO && fails ? 0 : 1);
  };
  EXPECT_EXIT(closed(), ::testing::ExitedWithCode(0), "");
}

TEST_F(StopOnSignalDeathTest, SignalIgnoredBeforeStaysIgnored) {
  const auto ignoring = [] {
    ::signal(SIGINT, SIG_IGN);
    const StopOnSignal stop([] {});
    ::kill(::getpid(), SIGINT);
    ::kill(::getpid(), SIGTERM);
    comes_true([&] { return stop.token().stop_requested(); });
    ::_exit(stop.signal() == SIGTERM ? 0 : 1);
  };
  EXPECT_EXIT(ignoring(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace attention_plasticity
