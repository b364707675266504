#include "attention_plasticity/dump/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

constexpr const char* no_permission = "no permission to read the file; change its permissions or those of its folder";

[[noreturn]] void refuse(const fs::path& file, const std::string& message) {
  throw Error(ErrorKind::input, message, file.string());
}

std::string reason(int error_number) { return std::generic_category().message(error_number); }

[[noreturn]] void refuse_reading(const fs::path& file, int error_number) {
  refuse(file, fmt::format("the file cannot be read: {}", reason(error_number)));
}

/// Looks before opening, because opening a pipe would wait for its other end.
void require_regular_file(const fs::path& file) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (status.type() == fs::file_type::not_found) {
    refuse(file, fs::is_symlink(fs::symlink_status(file, error))
                     ? "the file is a broken link; download or capture this head again"
                     : "the file does not exist; download or capture this head again");
  }
  if (error == std::errc::permission_denied) refuse(file, no_permission);
  if (!fs::status_known(status)) refuse(file, fmt::format("the file cannot be read: {}", error.message()));
  if (fs::is_directory(status)) refuse(file, "this is a folder, a Parquet file is needed; capture this head again");
  if (!fs::is_regular_file(status)) refuse(file, "this is not a regular file, a Parquet file is needed");
}

int open_for_reading(const fs::path& file) {
  require_regular_file(file);
  while (true) {
    const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);  // NOLINT(cppcoreguidelines-pro-type-vararg)
    if (descriptor >= 0) return descriptor;
    const int error_number = errno;
    if (error_number == EINTR) continue;
    refuse(file, error_number == EACCES || error_number == EPERM
                     ? no_permission
                     : fmt::format("the file cannot be opened: {}", reason(error_number)));
  }
}

}  // namespace

DiskFile::DiskFile(fs::path file) : InputFile(std::move(file)), descriptor_(open_for_reading(path_)) {
  try {
    identity_ = current_identity();
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

DiskFile::~DiskFile() { close(descriptor_); }

FileIdentity DiskFile::current_identity() const {
  struct stat status{};
  if (fstat(descriptor_, &status) != 0) refuse_reading(path_, errno);
  constexpr std::int64_t second = 1'000'000'000;
  return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
          status.st_mtim.tv_sec * second + status.st_mtim.tv_nsec};
}

void DiskFile::read(std::uint64_t offset, std::span<std::uint8_t> out) const {
  // Some systems take no more than 2 GiB at once.
  constexpr std::size_t most = std::size_t{1} << 30;
  while (!out.empty()) {
    const ssize_t got = pread(descriptor_, out.data(), std::min(out.size(), most), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse_reading(path_, errno);
    if (got == 0) refuse(path_, "the file became shorter while it was read; run again when nothing writes to it");
    out = out.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
}

void InputFile::require_same(const FileIdentity& expected) const {
  if (identity_ != expected) {
    refuse(path_, "the file was replaced or changed after the run began; run again when nothing writes to the dump");
  }
}

void DiskFile::require_unchanged() const {
  if (current_identity() != identity_) {
    refuse(path_, "the file changed while it was read; run again when nothing writes to the dump");
  }
}

}  // namespace attention_plasticity
