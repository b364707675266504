#include "attention_plasticity/hub/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

#include "attention_plasticity/error.h"
#include "attention_plasticity/hub/http.h"

namespace attention_plasticity {
namespace {

constexpr auto between_attempts = std::chrono::milliseconds(50);
constexpr mode_t shared_with_group = 0664;  // users who share a cache wait for each other

int open_lock_file(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, shared_with_group);
  if (descriptor < 0) {
    throw Error(ErrorKind::output, std::generic_category().message(errno) + "; the cache must be writable",
                file.string());
  }
  return descriptor;
}

// False when another program removed the file after we opened it and before we locked it.
bool is_still_there(int descriptor, const std::filesystem::path& file) {
  struct stat held{};
  struct stat named{};
  return ::fstat(descriptor, &held) == 0 && ::stat(file.c_str(), &named) == 0 && held.st_ino == named.st_ino &&
         held.st_dev == named.st_dev;
}

}  // namespace

FileLock::FileLock(const std::filesystem::path& file, const std::stop_token& stop) {
  std::error_code failed;
  std::filesystem::create_directories(file.parent_path(), failed);
  if (failed) throw Error(ErrorKind::output, failed.message(), file.parent_path().string());
  while (true) {
    if (descriptor_ < 0) descriptor_ = open_lock_file(file);
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0) {
      if (is_still_there(descriptor_, file)) return;
      ::close(descriptor_);
      descriptor_ = -1;
      continue;
    }
    if (errno != EWOULDBLOCK && errno != EACCES && errno != EINTR) return;  // no locks on this file system
    if (stop.stop_requested()) {
      ::close(descriptor_);
      throw Stopped();
    }
    std::this_thread::sleep_for(between_attempts);
  }
}

FileLock::~FileLock() { ::close(descriptor_); }

}  // namespace attention_plasticity
