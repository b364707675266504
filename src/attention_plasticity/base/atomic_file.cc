#include "attention_plasticity/base/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include "attention_plasticity/base/folder_names.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

// Temporary files are `.attention-plasticity-<16 hexadecimal digits>.tmp`. The length of the target's name does not
// matter, so that every name that the file system allows can be written.
constexpr std::string_view temporary_start = ".attention-plasticity-";
constexpr std::string_view temporary_end = ".tmp";

bool is_temporary_name(std::string_view name) {
  if (!name.starts_with(temporary_start) || !name.ends_with(temporary_end)) return false;
  name.remove_prefix(temporary_start.size());
  name.remove_suffix(temporary_end.size());
  return name.size() == random_name().size() &&
         std::ranges::all_of(name, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

fs::path temporary_beside(const fs::path& target) {
  return target.parent_path() / (std::string(temporary_start) + random_name() + std::string(temporary_end));
}

constexpr mode_t permissions = 0777;

void hand_on_permissions(const struct stat& old, const Descriptor& file, const fs::path& shown) {
  struct stat made{};
  if (::fstat(file.number(), &made) != 0) fail_output(shown, "look at this file", errno);
  mode_t mode = old.st_mode & permissions;
  if (made.st_uid != old.st_uid || made.st_gid != old.st_gid) {
    // Only an administrator may give a file away; others may hand on a group that they belong to. Under another group,
    // the permissions of the old one are not meant for it.
    const bool has_group = ::fchown(file.number(), old.st_uid, old.st_gid) == 0 ||
                           ::fchown(file.number(), static_cast<uid_t>(-1), old.st_gid) == 0;
    if (!has_group) mode &= ~mode_t{070};
  }
  if (mode == (made.st_mode & permissions)) return;
  if (::fchmod(file.number(), mode) != 0 && errno != EPERM && errno != ENOTSUP && errno != ENOSYS) {
    fail_output(shown, "set the permissions of this file", errno);
  }
}

// Creates `file`, which must not exist, with the permissions (and owner, where allowed) of `replaced`, or with the
// usual ones where that does not exist. Errors name `shown`.
Descriptor create_in_place_of(const fs::path& replaced, const fs::path& file, const fs::path& shown) {
  struct stat old{};
  const bool exists = ::stat(replaced.c_str(), &old) == 0;
  Descriptor made(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, shown, exists ? old.st_mode & permissions : 0666);
  if (exists) hand_on_permissions(old, made, shown);
  return made;
}

}  // namespace

void make_output_folder(const fs::path& folder, Durability durability) {
  std::error_code error;
  std::vector<fs::path> missing;
  for (fs::path path = folder; !path.empty() && !fs::exists(path, error); path = path.parent_path()) {
    if (path.has_filename()) missing.push_back(path);
  }
  if (missing.empty() && (folder.empty() || fs::is_directory(folder, error))) return;
  fs::create_directories(folder, error);
  if (error) fail_output(folder, "make this folder", error.value());
  if (durability == Durability::unsynced) return;
  for (const fs::path& made : missing) sync_folder(made.parent_path());
}

fs::path linked_target(const fs::path& target) {
  constexpr int most_links = 40;  // as many as Linux follows
  fs::path path = target;
  for (int link = 0; link < most_links; ++link) {
    std::error_code error;
    const fs::path next = fs::read_symlink(path, error);
    if (error) return path;  // not a link, or nothing
    path = path.parent_path() / next;
  }
  fail_output(target, "create this file", ELOOP);
}

void require_file_or_nothing(const fs::path& file, const fs::path& target) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (fs::is_directory(status)) fail_output(target, "write this file", EISDIR);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    throw Error(ErrorKind::output, "is a device or a pipe, and only a regular file can be replaced", target.string());
  }
  if (status.type() == fs::file_type::none) fail_output(target, "create this file", error.value());
}

void remove_stale_temporary_files(const fs::path& folder) {
  std::error_code unreadable;
  for (const std::string& name : folder_names(folder.empty() ? "." : folder, unreadable)) {
    if (!is_temporary_name(name)) continue;
    const fs::path file = folder / name;
    const int fd = ::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) continue;
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) ::unlink(file.c_str());
    ::close(fd);
  }
}

AtomicFile::AtomicFile(fs::path target, Durability durability)
    : target_(std::move(target)), final_(linked_target(target_)), durability_(durability) {
  make_output_folder(final_.parent_path(), durability_);
  require_file_or_nothing(final_, target_);
  const fs::path temporary = temporary_beside(final_);
  file_ = FileWriter(create_in_place_of(final_, temporary, target_));
  temporary_ = temporary;
  // Tells remove_stale_temporary_files that somebody writes here. Where files cannot be locked, none is ever stale.
  ::flock(file_.descriptor().number(), LOCK_EX | LOCK_NB);
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : target_(std::move(other.target_)),
      final_(std::move(other.final_)),
      temporary_(std::exchange(other.temporary_, {})),
      durability_(other.durability_),
      file_(std::move(other.file_)) {}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::commit() {
  // A synced file stays open, and so locked, until it has its name: closing it has nothing more to report.
  if (durability_ == Durability::synced) {
    file_.sync();
  } else {
    file_.close();
  }
  rename();
  if (durability_ == Durability::synced) sync_folder(folder());
}

void AtomicFile::rename() {
  if (::rename(temporary_.c_str(), final_.c_str()) != 0) fail_output(target_, "replace this file", errno);
  temporary_.clear();
  file_.close_quietly();
}

void write_file_atomically(const fs::path& target, std::string_view content, Durability durability) {
  AtomicFile file(target, durability);
  file.append(content);
  file.commit();
}

}  // namespace attention_plasticity
