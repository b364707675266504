#include "attention_plasticity/hub/file_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "attention_plasticity/base/temporary_folder_testing.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/hub/http.h"

namespace attention_plasticity {
namespace {

bool is_free(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
  EXPECT_GE(descriptor, 0) << "there is no file to hold";
  const bool free = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
  ::close(descriptor);
  return free;
}

TEST(FileLock, HoldsTheFileAgainstOtherPrograms) {
  const TemporaryFolder folder;
  const auto file = folder / "locks/a.lock";
  {
    const FileLock lock(file, {});
    EXPECT_FALSE(is_free(file));
  }
  EXPECT_TRUE(is_free(file)) << "the file stays, the lock does not";
}

TEST(FileLock, LetsOneThreadThroughAtATime) {
  const TemporaryFolder folder;
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        const FileLock lock(folder / "a.lock", {});
        most = std::max(most.load(), ++inside);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        --inside;
      });
    }
  }
  EXPECT_EQ(most, 1);
}

TEST(FileLock, GivesUpWhenStopped) {
  const TemporaryFolder folder;
  const FileLock held(folder / "a.lock", {});
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(FileLock(folder / "a.lock", stop.get_token()), Stopped);
}

TEST(FileLock, TakesTheFileThatBearsTheNameNow) {
  const TemporaryFolder folder;
  const auto file = folder / "a.lock";
  std::optional<FileLock> held(std::in_place, file, std::stop_token{});
  std::jthread waiter([&] {
    const FileLock lock(file, {});
    EXPECT_FALSE(is_free(file)) << "the removed file was locked in place of the new one";
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(120));
  std::filesystem::remove(file);
  held.reset();
}

TEST(FileLock, TellsWhatCannotBeMade) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "a.lock");
  EXPECT_THROW(FileLock(folder / "a.lock", {}), Error);
}

}  // namespace
}  // namespace attention_plasticity
