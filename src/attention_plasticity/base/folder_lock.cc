#include "attention_plasticity/base/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <map>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "attention_plasticity/base/atomic_file.h"
#include "attention_plasticity/base/stop_scope.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

enum class Attempt { locked, taken_by_another, not_supported };

Attempt try_lock(const Descriptor& file, const fs::path& shown) {
  int result = ::flock(file.number(), LOCK_EX | LOCK_NB);
  while (result != 0 && errno == EINTR) result = ::flock(file.number(), LOCK_EX | LOCK_NB);
  if (result == 0) return Attempt::locked;
  switch (errno) {
    case EWOULDBLOCK:
      return Attempt::taken_by_another;
    case EBADF:  // NFS locks only what is open for writing, and a folder never is
    case EISDIR:
    case EINVAL:
    case ENOLCK:
    case ENOSYS:
    case ENOTSUP:
      return Attempt::not_supported;
    default:
      fail_output(shown, "lock this", errno);
  }
}

[[noreturn]] void refuse(const fs::path& folder, const std::string& field) {
  throw Error(ErrorKind::output,
              "another run is writing here; wait until it has ended, or choose another `" + field + "`",
              folder.string());
}

// Checks that the name still belongs to the open file: its last owner may have removed it.
bool is_still_there(const Descriptor& file, const fs::path& name) {
  struct stat open{};
  struct stat named{};
  return ::fstat(file.number(), &open) == 0 && ::stat(name.c_str(), &named) == 0 && open.st_dev == named.st_dev &&
         open.st_ino == named.st_ino;
}

}  // namespace

FolderLock::FolderLock(fs::path folder, std::string field) : folder_(std::move(folder)), field_(std::move(field)) {
  if (!lock_folder()) lock_hidden_file();
}

FolderLock::~FolderLock() {
  if (is_held() && !hidden_file_.empty()) ::unlink(hidden_file_.c_str());
}

bool FolderLock::lock_folder() {
  Descriptor folder(folder_, O_RDONLY | O_DIRECTORY, folder_);
  const Attempt attempt = try_lock(folder, folder_);
  if (attempt == Attempt::taken_by_another) refuse(folder_, field_);
  if (attempt == Attempt::locked) lock_ = std::move(folder);
  return attempt == Attempt::locked;
}

void FolderLock::lock_hidden_file() {
  const fs::path name = folder_ / ".attention-plasticity.lock";
  while (true) {
    Descriptor file(name, O_RDWR | O_CREAT | O_NOFOLLOW, name);
    const Attempt attempt = try_lock(file, folder_);
    if (attempt == Attempt::taken_by_another) refuse(folder_, field_);
    if (attempt == Attempt::not_supported) {
      ::unlink(name.c_str());
      return;
    }
    if (!is_still_there(file, name)) continue;
    hidden_file_ = name;
    lock_ = std::move(file);
    return;
  }
}

std::vector<FolderLock> lock_folders(const std::vector<fs::path>& folders) {
  std::map<std::pair<dev_t, ino_t>, fs::path> each;
  for (const fs::path& given : folders) {
    const fs::path folder = given.empty() ? fs::path(".") : given;
    make_output_folder(folder);
    struct stat known{};
    if (::stat(folder.c_str(), &known) != 0) fail_output(folder, "lock this folder", errno);
    each.emplace(std::pair(known.st_dev, known.st_ino), folder);
  }
  std::vector<FolderLock> locks;
  locks.reserve(each.size());
  for (const auto& [id, folder] : each) locks.emplace_back(folder);
  return locks;
}

FileLock::FileLock(const fs::path& file, const std::stop_token& stop) {
  constexpr auto between_attempts = std::chrono::milliseconds(50);
  constexpr mode_t shared_with_group = 0664;  // users who share a cache wait for each other
  std::error_code failed;
  fs::create_directories(file.parent_path(), failed);
  if (failed) fail_output(file.parent_path(), "create this folder", failed.value());
  while (true) {
    Descriptor opened(file, O_RDWR | O_CREAT, file, shared_with_group);
    Attempt attempt = try_lock(opened, file);
    while (attempt == Attempt::taken_by_another) {
      throw_if_stopped(stop);
      std::this_thread::sleep_for(between_attempts);
      attempt = try_lock(opened, file);
    }
    if (attempt == Attempt::locked && !is_still_there(opened, file)) continue;
    lock_ = std::move(opened);
    return;
  }
}

}  // namespace attention_plasticity
