#pragma once

#include <filesystem>
#include <stop_token>

namespace attention_plasticity {

/// Holds a lock file with flock, as the Python client does, until it is destroyed. The file itself stays: if it were
/// removed, two programs could hold locks on two files of the same name. Holds nothing where the file system has no
/// locks.
class FileLock {
 public:
  /// Waits for the lock. Throws Stopped after a stop request, Error(output) when the file cannot be created.
  FileLock(const std::filesystem::path& file, const std::stop_token& stop);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace attention_plasticity
