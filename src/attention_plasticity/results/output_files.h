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

namespace attention_plasticity {

/// Files of a run that appear together: tables, and a record that names them with their digests (run.json).
///
/// Each file is written to a temporary file beside its target and flushed to disk. `commit` then renames them, the
/// record last. A reader between two renames, or after a run that was killed there, finds tables whose digests are not
/// those of the record, and refuses them (results/result_files.h) until the run is repeated. So the run must keep what
/// it measured until `commit` has returned. An object store has no rename; there tables get names of their own and the
/// record is put last, too (run/stored_output.h).
///
/// If a target is a symbolic link, the file that it points to is written and the link stays. All members throw
/// Error(output), naming the file and the system's reason; after that the object can only be destroyed.
class OutputFiles {
 public:
  /// Writes the bytes that `write` gives to its sink, piece by piece, and returns their SHA-256. Makes missing folders.
  /// Passes on what `write` throws. The caller holds the lock of the target's folder (`lock_outputs`).
  std::string stage(const std::filesystem::path& target, const std::function<void(const Sink&)>& write);
  /// Writes `content` and returns its SHA-256.
  std::string stage(const std::filesystem::path& target, std::string_view content);
  /// Marks a file that `commit` removes if it exists and is not staged itself.
  void remove(const std::filesystem::path& target);
  /// Puts the files in place in the order in which they were staged, and removes the marked ones before the last
  /// rename. Until the first rename nothing has changed. To be called once.
  void commit();

 private:
  void remove_marked() const;

  std::vector<AtomicFile> staged_;
  std::vector<std::filesystem::path> removed_;
};

/// Takes the locks of the folders that these files stand in, and removes temporary files that killed runs left there.
/// Throws Error(output) when another run is writing to one of them.
std::vector<FolderLock> lock_outputs(std::span<const std::string> targets);

/// Throws Error(output) when one of these files cannot be written. A run checks this before it starts, so that hours of
/// work do not end at a folder that cannot be written to.
void check_writable(std::span<const std::string> targets);

/// Returns `x.partial.csv` for `x.csv`: the file in which an interrupted run leaves its finished heads. A name that
/// would be longer than file systems allow (255 bytes) is cut, and ends in the beginning of its SHA-256.
std::filesystem::path partial_name(const std::filesystem::path& target);

}  // namespace attention_plasticity
