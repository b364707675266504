#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attention_plasticity/base/byte_range.h"

namespace attention_plasticity {

class Store;
class StoredFile;
class StoreAddress;
class TailGuess;

/// Tells one file from another, and one state of a file from the next.
struct FileIdentity {
  std::uint64_t device = 0;  ///< 0 in a store
  std::uint64_t inode = 0;   ///< 0 in a store
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
  /// The store's name for the content that was read; empty if it is not known.
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

/// Opens the files of a dump, wherever it lies. Thread-safe.
class DumpFiles {
 public:
  virtual ~DumpFiles() = default;

  /// Throws Error as DiskFile and Store do.
  virtual std::shared_ptr<const InputFile> open(const std::filesystem::path& file) const = 0;
  /// True also for a link whose file is missing.
  virtual bool exists(const std::filesystem::path& file) const = 0;
  /// The whole of a small file that exists. Throws Error.
  virtual std::string text(const std::filesystem::path& file) const = 0;
  /// True: files are read over a network.
  virtual bool are_remote() const { return false; }
  /// The identity of a file as far as it is known without reading it. Null if nothing is known or there is no such
  /// file.
  virtual std::optional<FileIdentity> listed(const std::filesystem::path&) const { return std::nullopt; }
  /// Frees what was fetched of a file. Reading it again is possible.
  virtual void release(const std::filesystem::path&) const {}
};

/// Files on disk.
const DumpFiles& disk_files();

/// The files below an address of an object store. They are listed once, and known by that listing from then on.
class StoredFiles : public DumpFiles {
 public:
  /// Lists the files. Throws Error as Store does.
  explicit StoredFiles(const StoreAddress& address);
  ~StoredFiles() override;

  /// The beginning of the paths of files: the address without credentials and options.
  const std::filesystem::path& root() const { return root_; }
  /// The paths below the root, with slashes.
  std::vector<std::string> paths() const;

  std::shared_ptr<const InputFile> open(const std::filesystem::path& file) const override;
  bool exists(const std::filesystem::path& file) const override;
  std::string text(const std::filesystem::path& file) const override;
  bool are_remote() const override { return true; }
  std::optional<FileIdentity> listed(const std::filesystem::path& file) const override;
  void release(const std::filesystem::path& file) const override;

 private:
  std::string name(const std::filesystem::path& file) const;

  std::unique_ptr<Store> store_;
  std::unique_ptr<TailGuess> guess_;
  std::filesystem::path root_;
  std::map<std::string, std::shared_ptr<const StoredFile>> files_;  // by path below the root
};

}  // namespace attention_plasticity
