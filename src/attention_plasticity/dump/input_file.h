#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

namespace attention_plasticity {

/// Tells one file from another, and one state of a file from the next.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  std::int64_t modified = 0;  ///< nanoseconds since 1970

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// A regular file that is open for reading. Failures of the system are Error(input) in the system's words; a file that
/// cannot be read is not called damaged.
class InputFile {
 public:
  /// Throws Error(input) for a missing file, a broken link, a folder, a file without permission and the like.
  explicit InputFile(std::filesystem::path file);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const FileIdentity& identity() const { return identity_; }  ///< when it was opened
  std::uint64_t size() const { return identity_.bytes; }      ///< when it was opened

  /// Fills `out` with the bytes from `offset` on. Throws when the file ends before.
  void read(std::uint64_t offset, std::span<std::uint8_t> out) const;

  /// Throws Error(input) when the file is another one than `expected`, or has changed since.
  void require_same(const FileIdentity& expected) const;
  /// Throws Error(input) when the file has changed since it was opened.
  void require_unchanged() const;

 private:
  FileIdentity current_identity() const;

  std::filesystem::path path_;
  int descriptor_;
  FileIdentity identity_;
};

}  // namespace attention_plasticity
