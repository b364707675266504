#pragma once

#include <filesystem>
#include <stop_token>

namespace attention_plasticity {

/// Holds a lock file, as other programs that share the cache do (flock), until it goes. The file stays: removing it
/// would let two programs hold two files of one name. Where the file system has no such locks, nothing is held.
class FileLock {
 public:
  /// Waits for it. Throws Stopped after a stop request, Error(output) when the file cannot be made.
  FileLock(const std::filesystem::path& file, const std::stop_token& stop);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace attention_plasticity
