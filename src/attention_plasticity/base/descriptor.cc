#include "attention_plasticity/base/descriptor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <random>
#include <system_error>
#include <utility>

#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

// The result of a system call that is made again while signals interrupt it.
template <class Call>
auto uninterrupted(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

// The same open file under a number above those of the standard streams.
int above_standard_streams(int fd) {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error = errno;
  ::close(fd);
  errno = error;
  return moved;
}

}  // namespace

void fail_output(const fs::path& file, std::string_view doing, int error) {
  const char* advice = error == ENOSPC || error == EDQUOT ? "; free some space or choose another folder" : "";
  throw Error(ErrorKind::output, fmt::format("cannot {}: {}{}", doing, std::generic_category().message(error), advice),
              file.string());
}

Descriptor::Descriptor(const fs::path& file, int flags, fs::path shown, mode_t mode)
    : shown_(std::move(shown)),
      // NOLINTNEXTLINE(bugprone-signed-bitwise): open(2) takes flags as int
      fd_(above_standard_streams(uninterrupted([&] { return ::open(file.c_str(), flags | O_CLOEXEC, mode); }))) {
  // NOLINTNEXTLINE(bugprone-signed-bitwise): likewise
  if (fd_ < 0) fail_output(shown_, (flags & O_CREAT) != 0 ? "create this file" : "open this", errno);
}

Descriptor::Descriptor(Descriptor&& other) noexcept
    : shown_(std::move(other.shown_)), fd_(std::exchange(other.fd_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    close_quietly();
    shown_ = std::move(other.shown_);
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

Descriptor::~Descriptor() { close_quietly(); }

void Descriptor::write(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t written = uninterrupted([&] { return ::write(fd_, bytes.data(), bytes.size()); });
    if (written < 0) fail_output(shown_, "write this file", errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void Descriptor::sync() const {
  const bool synced = uninterrupted([&] { return ::fsync(fd_); }) == 0 || errno == EINVAL || errno == EROFS;
  if (!synced) fail_output(shown_, "flush this file to disk", errno);
}

// On Linux a descriptor is closed even where close(2) says EINTR; another call could close a file of another thread.
void Descriptor::close() {
  if (fd_ >= 0 && ::close(std::exchange(fd_, -1)) != 0 && errno != EINTR) {
    fail_output(shown_, "write this file", errno);
  }
}

void Descriptor::close_quietly() noexcept {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void FileWriter::append(std::string_view bytes) {
  constexpr std::size_t large = std::size_t{1} << 20U;
  if (buffer_.size() + bytes.size() < large) {
    buffer_ += bytes;
    return;
  }
  write_buffer();
  file_.write(bytes);
}

void FileWriter::write_buffer() { file_.write(std::exchange(buffer_, {})); }

void FileWriter::sync() {
  write_buffer();
  file_.sync();
}

void FileWriter::close() {
  write_buffer();
  file_.close();
}

void sync_folder(const fs::path& folder) {
  const fs::path path = folder.empty() ? fs::path(".") : folder;
  Descriptor(path, O_RDONLY | O_DIRECTORY, path).sync();
}

std::string random_name() {
  std::uint64_t bits = 0;
  if (uninterrupted([&] { return ::getrandom(&bits, sizeof bits, 0); }) != sizeof bits) {
    std::random_device device;
    bits = (std::uint64_t{device()} << 32U) | device();
  }
  return fmt::format("{:016x}", bits);
}

}  // namespace attention_plasticity
