#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/base/atomic_file.h"
#include "attention_plasticity/base/folder_lock.h"
#include "attention_plasticity/results/csv.h"
#include "attention_plasticity/results/folder_commit.h"

namespace attention_plasticity {

/// Files of a run that appear whole and together (results/folder_commit.h): those in the folder of `record`, which is
/// run.json, by one rename. Files in other folders cannot be part of that: each is renamed by itself before it, so that
/// for a moment, or after a kill, the digests in run.json tell that they are of another run. Where a target is a
/// symbolic link, the file that it points to is written and the link stays. All members throw Error(output), naming the
/// file and the system's reason; after that the object can only be destroyed, and earlier files stay as they were.
class OutputFiles {
 public:
  /// The caller holds the locks of all folders that are written to, and has settled them (`lock_outputs`).
  explicit OutputFiles(const std::filesystem::path& record);

  /// Writes what `write` gives to its sink, piece by piece, and returns the SHA-256 of it. Missing folders are made.
  /// What `write` throws is passed on.
  std::string stage(const std::filesystem::path& target, const std::function<void(const Sink&)>& write);
  /// The same for a content in memory.
  std::string stage(const std::filesystem::path& target, std::string_view content);
  /// The target will be gone with `commit`, if it exists.
  void remove(const std::filesystem::path& target);
  /// Makes all of it appear. `record` should have been staged last.
  void commit();

 private:
  bool is_in_folder(const std::filesystem::path& file) const;

  FolderCommit folder_;
  std::vector<AtomicFile> elsewhere_;
  std::vector<std::filesystem::path> removed_elsewhere_;
};

/// Takes the locks of the folders that these files stand in, ends what interrupted runs left there (`settle`), and
/// removes temporary files that they left. Throws Error(output) when another run is writing to one of them.
std::vector<FolderLock> lock_outputs(std::span<const std::string> targets);

/// Throws Error(output) when one of these files cannot be written. A run checks this before it starts, so that hours of
/// work do not end at a folder that cannot be written to.
void check_writable(std::span<const std::string> targets);

/// `x.partial.csv` for `x.csv`: the file in which an interrupted run leaves its finished heads.
std::filesystem::path partial_name(const std::filesystem::path& target);

}  // namespace attention_plasticity
