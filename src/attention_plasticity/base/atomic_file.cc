#include "attention_plasticity/base/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& file, std::string_view doing, int error) {
  const char* advice = error == ENOSPC || error == EDQUOT ? "; free some space or choose another folder" : "";
  throw Error(ErrorKind::output, fmt::format("cannot {}: {}{}", doing, std::generic_category().message(error), advice),
              file.string());
}

void make_folder_of(const fs::path& target) {
  const fs::path folder = target.parent_path();
  if (folder.empty()) return;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail(folder, "make this folder", error.value());
}

void require_file_or_nothing(const fs::path& target) {
  std::error_code unknown;
  const fs::file_status status = fs::status(target, unknown);
  if (fs::is_directory(status)) fail(target, "write this file", EISDIR);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    throw Error(ErrorKind::output, "is a device or a pipe, and only a regular file can be replaced", target.string());
  }
}

fs::path temporary_name(const fs::path& target) {
  static std::atomic<unsigned> count = 0;
  fs::path name = target;
  name += fmt::format(".{}-{}.tmp", ::getpid(), count++);
  return name;
}

// A file descriptor that closes itself. `target` is the file that errors name.
class Descriptor {
 public:
  Descriptor(const fs::path& file, int flags, const fs::path& target)
      : target_(target), fd_(::open(file.c_str(), flags, 0666)) {
    if (fd_ < 0) fail(target_, "create this file", errno);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }

  void write(std::string_view content) {
    while (!content.empty()) {
      const ssize_t written = ::write(fd_, content.data(), content.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail(target_, "write this file", errno);
      content.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  void flush() {
    // EINVAL and EROFS say that the file system cannot flush a file. That is not an error of the file.
    const bool flushed = ::fsync(fd_) == 0 || errno == EINVAL || errno == EROFS;
    if (!flushed) fail(target_, "flush this file to disk", errno);
  }

  // Some file systems report a failed write only here.
  void close() {
    if (::close(std::exchange(fd_, -1)) != 0) fail(target_, "write this file", errno);
  }

 private:
  const fs::path& target_;
  int fd_;
};

}  // namespace

AtomicFile::AtomicFile(fs::path target) : target_(std::move(target)), temporary_(temporary_name(target_)) {
  make_folder_of(target_);
  require_file_or_nothing(target_);
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      is_flushed_(other.is_flushed_) {}

AtomicFile::~AtomicFile() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove(temporary_, ignored);
}

void AtomicFile::write(std::string_view content) {
  Descriptor out(temporary_, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, target_);
  out.write(content);
  out.flush();
  out.close();
  is_flushed_ = true;
}

void AtomicFile::commit() {
  if (!is_flushed_) Descriptor(temporary_, O_RDONLY | O_CLOEXEC, target_).flush();
  std::error_code error;
  fs::rename(temporary_, target_, error);
  if (error) fail(target_, "replace this file", error.value());
  temporary_.clear();
}

void write_file_atomically(const fs::path& target, std::string_view content) {
  AtomicFile file(target);
  file.write(content);
  file.commit();
}

}  // namespace attention_plasticity
