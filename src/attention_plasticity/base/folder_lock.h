#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "attention_plasticity/base/descriptor.h"

namespace attention_plasticity {

/// The right to write into a folder, which one process (and one object) has at a time. It is a lock of the kernel
/// (flock) on the folder, or on a hidden file in it where the file system cannot lock folders. It ends with the object
/// or with the process, however that ends, and does not depend on process ids. Readers need no lock.
class FolderLock {
 public:
  /// Takes the lock of a folder that exists. Throws Error(output), which names the folder, when another one has it, and
  /// advises to choose another value of `field`.
  explicit FolderLock(std::filesystem::path folder, std::string field = "output_dir");
  FolderLock(FolderLock&&) = default;
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(FolderLock&&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock();

  const std::filesystem::path& folder() const { return folder_; }
  /// False where the file system has no locks at all: then nothing keeps another writer away.
  bool is_held() const { return lock_.is_open(); }

 private:
  bool lock_folder();
  void lock_hidden_file();

  std::filesystem::path folder_;
  std::string field_;
  std::filesystem::path hidden_file_;  // empty: the folder itself is locked
  Descriptor lock_;
};

/// Creates missing folders and takes the locks of all, each once whatever paths lead to it, in an order that all
/// processes share. Throws as FolderLock does, and then holds none.
std::vector<FolderLock> lock_folders(const std::vector<std::filesystem::path>& folders);

/// Holds a lock file with flock until it is destroyed. Other programs may wait for the same file, such as the Python
/// client of the Hub. The file stays: if it were removed, two programs could hold locks on two files of the same name.
/// Holds nothing where the file system has no locks.
class FileLock {
 public:
  /// Creates the file and its folder, and waits for the lock. Throws Stopped after a stop request, Error(output) when
  /// the file cannot be created or locked.
  FileLock(const std::filesystem::path& file, const std::stop_token& stop);

 private:
  Descriptor lock_;
};

}  // namespace attention_plasticity
