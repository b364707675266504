#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

#include "attention_plasticity/base/byte_range.h"

namespace attention_plasticity {

/// Tells one file from another, and one state of a file from the next.
struct FileIdentity {
  std::uint64_t device = 0;  ///< 0 in a store
  std::uint64_t inode = 0;   ///< likewise
  std::uint64_t bytes = 0;
  std::int64_t modified = 0;  ///< nanoseconds since 1970

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// A file that is open for reading, on disk or in a store. A file that cannot be read is not called damaged.
class InputFile {
 public:
  virtual ~InputFile() = default;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const FileIdentity& identity() const { return identity_; }  ///< when it was opened
  std::uint64_t size() const { return identity_.bytes; }      ///< when it was opened

  /// Fills `out` with the bytes from `offset` on. Throws when the file ends before.
  virtual void read(std::uint64_t offset, std::span<std::uint8_t> out) const = 0;

  /// Throws Error(input) when the file is another one than `expected`, or has changed since.
  void require_same(const FileIdentity& expected) const;
  /// Throws Error(input) when the file has changed since it was opened.
  virtual void require_unchanged() const = 0;

  /// True: every read may be a request over a network, so that no byte is read that is not needed.
  virtual bool is_remote() const { return false; }
  /// All that will be read from now on, so that a remote file can ask for it at once.
  virtual void expect(std::span<const ByteRange>) const {}
  /// What the store calls the content that was read; empty: not known.
  virtual std::string etag() const { return {}; }

 protected:
  explicit InputFile(std::filesystem::path path, FileIdentity identity = {})
      : path_(std::move(path)), identity_(identity) {}

  std::filesystem::path path_;
  FileIdentity identity_;
};

/// A regular file on disk. Failures of the system are Error(input) in the system's words.
class DiskFile : public InputFile {
 public:
  /// Throws Error(input) for a missing file, a broken link, a folder, a file without permission and the like.
  explicit DiskFile(std::filesystem::path file);
  ~DiskFile() override;

  void read(std::uint64_t offset, std::span<std::uint8_t> out) const override;
  void require_unchanged() const override;

 private:
  FileIdentity current_identity() const;

  int descriptor_;
};

}  // namespace attention_plasticity
