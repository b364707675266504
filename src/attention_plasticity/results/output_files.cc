#include "attention_plasticity/results/output_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "attention_plasticity/base/error.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& file, std::string_view doing, int error) {
  const char* advice = error == ENOSPC || error == EDQUOT ? "; free some space or choose another --output_dir" : "";
  throw Error(ErrorKind::output, fmt::format("cannot {}: {}{}", doing, std::strerror(error), advice), file.string());
}

void make_folder(const fs::path& target) {
  const fs::path folder = target.parent_path();
  if (folder.empty()) return;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail(folder, "make this folder", error.value());
}

// Renamed onto /dev/null, a table would take the place of the device.
void refuse_other_than_file(const fs::path& target) {
  std::error_code unknown;
  const fs::file_status status = fs::status(target, unknown);
  if (fs::is_directory(status)) fail(target, "write this file", EISDIR);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    throw Error(ErrorKind::output, "is a device or a pipe, and outputs are files that replace older ones",
                target.string());
  }
}

// A file descriptor that closes itself; `close` reports what the system kept for the end.
class Descriptor {
 public:
  explicit Descriptor(const fs::path& file)
      : fd_(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
    if (fd_ < 0) fail(file, "create this file", errno);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }

  int get() const { return fd_; }
  int close() { return ::close(std::exchange(fd_, -1)); }

 private:
  int fd_;
};

void write_and_flush(const fs::path& file, const fs::path& target, std::string_view content) {
  Descriptor out(file);
  while (!content.empty()) {
    const ssize_t written = ::write(out.get(), content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(target, "write this file", errno);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fsync(out.get()) != 0 && errno != EINVAL && errno != EROFS) fail(target, "flush this file to disk", errno);
  if (out.close() != 0) fail(target, "write this file", errno);
}

// Unique to the process, so that two runs into one folder do not write into each other's files.
fs::path temporary_name(const fs::path& target) {
  fs::path name = target;
  name += fmt::format(".{}.tmp", ::getpid());
  return name;
}

}  // namespace

OutputFiles::~OutputFiles() {
  std::error_code ignored;
  for (const Staged& file : staged_) fs::remove(file.temporary, ignored);
}

void OutputFiles::stage(const fs::path& target, std::string_view content) {
  make_folder(target);
  refuse_other_than_file(target);
  staged_.push_back({temporary_name(target), target});
  write_and_flush(staged_.back().temporary, target, content);
}

void OutputFiles::commit() {
  for (const Staged& file : staged_) {
    std::error_code error;
    fs::rename(file.temporary, file.target, error);
    if (error) fail(file.target, "replace this file", error.value());
  }
  staged_.clear();
}

void check_writable(const fs::path& target) {
  make_folder(target);
  refuse_other_than_file(target);
  const fs::path probe = temporary_name(target);
  {
    const Descriptor created(probe);
  }
  std::error_code ignored;
  fs::remove(probe, ignored);
}

fs::path partial_name(const fs::path& target) {
  fs::path name = target;
  name.replace_extension();
  name += ".partial";
  name += target.extension();
  return name;
}

}  // namespace attention_plasticity
