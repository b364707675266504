#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace attention_plasticity {

/// Throws Error(output): "cannot <doing>: <the system's reason>", with advice where the disk is full. `file` is what
/// the error names.
[[noreturn]] void fail_output(const std::filesystem::path& file, std::string_view doing, int error);

/// An open file or folder that closes itself. It is never one of the descriptors 0 to 2, which belong to the standard
/// streams even where those are closed, and programs that are started do not inherit it. Calls that a signal
/// interrupts (EINTR) are made again. Members that throw throw Error(output), which names `shown`.
class Descriptor {
 public:
  Descriptor() = default;
  /// `flags` as for open(2), to which O_CLOEXEC is added.
  Descriptor(const std::filesystem::path& file, int flags, std::filesystem::path shown, mode_t mode = 0666);
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();

  int number() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  void write(std::string_view bytes) const;
  /// Flushes content and size to disk. A file system that cannot do that (EINVAL, EROFS) is not an error.
  void sync() const;
  /// Some file systems report a failed write only here.
  void close();
  /// The same without telling of failures: for a file that was synced, or is not needed.
  void close_quietly() noexcept;

 private:
  std::filesystem::path shown_;
  int fd_ = -1;
};

/// A new file that is written piece by piece, through a buffer.
class FileWriter {
 public:
  FileWriter() = default;
  explicit FileWriter(Descriptor file) : file_(std::move(file)) {}

  const Descriptor& descriptor() const { return file_; }
  void append(std::string_view bytes);
  /// Writes what is in the buffer and flushes the file to disk. It stays open.
  void sync();
  /// Writes what is in the buffer and closes the file.
  void close();
  /// Closes the file without telling of failures, and forgets what is in the buffer.
  void close_quietly() noexcept { file_.close_quietly(); }

 private:
  void write_buffer();

  Descriptor file_;
  std::string buffer_;
};

/// Flushes the names in a folder to disk: files that were renamed, linked or removed stay so after a loss of power.
void sync_folder(const std::filesystem::path& folder);

/// 16 random hexadecimal digits, the same for no two files, processes, containers or machines.
std::string random_name();

}  // namespace attention_plasticity
