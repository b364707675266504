#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "attention_plasticity/dump/input_file.h"

namespace attention_plasticity {

class Store;
class StoredFile;
class StoreAddress;
class TailGuess;

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
  /// What is known of a file without reading it; none: nothing, or there is no such file.
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

  /// What paths of files begin with: the address without credentials and options.
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
