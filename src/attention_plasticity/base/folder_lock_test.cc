#include "attention_plasticity/base/folder_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "attention_plasticity/base/stop_scope.h"
#include "attention_plasticity/base/temporary_folder_testing.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

// The folder that an Error(output) names; empty: the locks were taken.
std::string refused_folder(const std::vector<fs::path>& folders) {
  try {
    const std::vector<FolderLock> locks = lock_folders(folders);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::output);
    EXPECT_STREQ(error.what(), "another run is writing here; wait until it has ended, or choose another `output_dir`");
    return error.file();
  }
}

TEST(FolderLock, IsHeldByOneAtATimeAndLeavesNothing) {
  const TemporaryFolder folder;
  {
    const FolderLock lock(folder.path());
    EXPECT_TRUE(lock.is_held());
    EXPECT_EQ(refused_folder({folder.path()}), folder.path().string());
  }
  EXPECT_EQ(refused_folder({folder.path()}), "");
  EXPECT_TRUE(folder.names().empty());
}

TEST(FolderLock, EndsWithItsProcess) {
  const TemporaryFolder folder;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const FolderLock lock(folder.path());
    static_cast<void>(!::write(ready[1], "x", 1));
    while (true) ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_EQ(refused_folder({folder.path()}), folder.path().string());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(refused_folder({folder.path()}), "");
  for (const int fd : ready) ::close(fd);
}

TEST(FolderLocks, TakeAFolderOnceByWhateverPath) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "a");
  fs::create_directory_symlink("a", folder / "link");
  const std::vector<FolderLock> locks =
      lock_folders({folder / "a", folder / "link", folder.path() / "a" / "." / "new"});
  EXPECT_EQ(locks.size(), 2U);
  EXPECT_EQ(refused_folder({folder / "link"}), (folder / "link").string());
  EXPECT_EQ(refused_folder({folder / "b"}), "");
}

TEST(FolderLocks, AreAllOrNone) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "a");
  fs::create_directory(folder / "b");
  for (const auto& [taken, other] : {std::pair("a", "b"), std::pair("b", "a")}) {
    const FolderLock lock(folder / taken);
    EXPECT_EQ(refused_folder({folder / "a", folder / "b"}), (folder / taken).string());
    EXPECT_EQ(refused_folder({folder / other}), "");
  }
}

bool is_free(const fs::path& file) {
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
  fs::remove(file);
  held.reset();
}

TEST(FileLock, TellsWhatCannotBeMade) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "a.lock");
  EXPECT_THROW(FileLock(folder / "a.lock", {}), Error);
}

}  // namespace
}  // namespace attention_plasticity
