#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attention_plasticity/analyze_dump.h"
#include "attention_plasticity/measure/head_outcome.h"
#include "attention_plasticity/options/config.h"
#include "attention_plasticity/source/prepared_run.h"

// A folder of saved heads is the only form of a part of a run: what an interrupted run leaves, and what a shard is. It
// holds the manifest of the run (run_manifest.h) and a file for each head that has ended (outcome_bytes.h).

namespace attention_plasticity {

/// The folder in which a run with these outputs saves its heads until its results are in place: beside run.json.
std::filesystem::path saved_heads_folder(const RunConfig& config);

/// Removes such a folder, if there is one. Ignores failures: a later run drops what is left.
void remove_saved_heads(const std::filesystem::path& folder) noexcept;

/// The contents of a folder of saved heads.
struct SavedRun {
  std::string manifest;
  std::vector<HeadOutcome> heads;  ///< by head
  std::size_t damaged = 0;         ///< files that hold no head, or hold a head that does not fit the run
};

/// Reads a folder of saved heads. Throws Error(input) when its manifest cannot be read.
SavedRun read_saved_heads(const std::filesystem::path& folder);

/// Throws Error(input) unless an outcome is whole and one of this run: its head, the lengths of all lists, its groups.
/// Nothing of an outcome that another process wrote is used before.
void check_outcome(const HeadOutcome& outcome, const PreparedRun& prepared);

/// The finished heads of a run, each in a file of its own. A file is written whole under another name and then renamed,
/// without waiting for the disk: after a power loss it may be damaged, which its SHA-256 shows, and that head is
/// measured again. To be used by one thread at a time.
class SavedHeads {
 public:
  struct Options {
    std::filesystem::path folder;  ///< one for this run alone
    bool resume = false;           ///< use what an earlier run saved, instead of dropping it
  };

  /// Reads what an earlier run saved, or drops it, and reports that in a note. The run must have been decided. The
  /// observer must outlive all calls but `remove`. Throws Error(usage), with all that differs, when `resume` is set and
  /// the heads in the folder are those of another run.
  SavedHeads(Options options, const PreparedRun& prepared, const RunConfig& config, const RunObserver& told);

  /// Takes a head that an earlier run measured. A head that failed is not taken, since its cause may be gone.
  std::optional<HeadOutcome> take(const HeadId& head);
  /// Removes the tasks whose heads can be taken.
  void remove_saved(std::vector<HeadTask>& tasks) const;

  /// Saves a head, in place of what was saved of it before. Never fails: when a file cannot be written, the observer
  /// gets a warning, once, and no more heads are saved.
  void save(const HeadOutcome& outcome);
  /// Writes the manifest of the run as it is known at its end. Throws Error(output).
  void write_manifest(std::string manifest);

  /// True if a head could not be saved.
  bool has_failed() const { return has_failed_; }
  /// Removes the folder: the run is complete.
  void remove() noexcept { remove_saved_heads(options_.folder); }

 private:
  void read(const PreparedRun& prepared);
  void drop();
  void make_ready();
  void stop_saving(const std::string& why);

  Options options_;
  std::string manifest_;  // of this run
  const RunObserver& told_;
  std::map<HeadId, HeadOutcome> found_;
  bool is_ready_ = false;  // the folder holds the manifest
  bool has_failed_ = false;
};

}  // namespace attention_plasticity
