#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "attention_plasticity/base/descriptor.h"

// Files of one folder that change together, by one rename. All that it needs stands in the hidden folder H =
// `.attention-plasticity-commit` beside them, and nothing of it is left when it is done.
//
//   1. New files are written whole into H/new.
//   2. The old files get second names (hard links) in H/old, and `H/current` becomes a link to `old`.
//   3. Each name x of the folder, also one that is new or is to go, becomes a link to `H/current/x`: what it shows is
//      still the old file, or no file.
//   4. `H/current` is replaced by a link to `new`, by one rename. This is the commit: all names change at once.
//   5. Each link is replaced by the file that it shows, or removed where it shows none; then H is removed.
//
// Each step is on disk before the next one begins. Whatever stops a commit, the folder shows all old files or all new
// ones, and step 5 (`settle`), at any later time, turns what it shows into plain files. Where links do not work, the
// new files are renamed one after another, in the order in which they were created, and names that are to go come last.

namespace attention_plasticity {

/// One change of files in a folder. The caller holds the folder's lock (base/folder_lock.h) and has called `settle`.
/// Members throw Error(output).
class FolderCommit {
 public:
  explicit FolderCommit(std::filesystem::path folder);
  FolderCommit(const FolderCommit&) = delete;
  FolderCommit& operator=(const FolderCommit&) = delete;
  /// Removes new files that were not committed.
  ~FolderCommit();

  const std::filesystem::path& folder() const { return folder_; }
  /// A new file that will stand under `name` in the folder. It is to be synced before `commit`. Errors name `shown`.
  FileWriter create(const std::string& name, const std::filesystem::path& shown);
  /// The file of this name will be gone.
  void remove(const std::string& name) { removed_.insert(name); }
  /// Throws when the old files stay, or says so when the new ones are in place but H could not be removed. To be called
  /// once, after every file was written without a failure.
  void commit();

 private:
  std::filesystem::path file(const std::string& name) const { return folder_ / name; }
  bool keep_old_files();
  bool link_names();
  void switch_to_new_files();
  void rename_one_by_one();

  std::filesystem::path folder_;
  std::filesystem::path hidden_;
  std::vector<std::string> created_;
  std::set<std::string> removed_;
};

/// Ends what an interrupted commit began, so that the folder holds plain files and nothing hidden. Does nothing when
/// there was none. The caller holds the folder's lock. Throws Error(output).
void settle(const std::filesystem::path& folder);

}  // namespace attention_plasticity
