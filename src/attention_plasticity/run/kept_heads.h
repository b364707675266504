#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attention_plasticity/analyze_dump.h"
#include "attention_plasticity/run/config.h"
#include "attention_plasticity/run/head_outcome.h"
#include "attention_plasticity/run/prepared_run.h"

namespace attention_plasticity {

/// Where the heads of a run are kept until it is complete, and what to do about those of an earlier run.
struct KeepOptions {
  std::filesystem::path folder;  ///< one for this run alone; see kept_heads_folder
  bool resume = false;           ///< true: use what an earlier run kept; false: drop it
};

/// The folder in which a run with these outputs keeps its heads: beside run.json.
std::filesystem::path kept_heads_folder(const RunConfig& config);

/// Removes such a folder, if there is one. Failures are ignored: a later run drops what is left.
void remove_kept_heads(const std::filesystem::path& folder) noexcept;

/// The finished heads of a run, each in a file of its own beside the run's manifest. A file is written whole under
/// another name and then renamed, without waiting for the disk: after a power loss it may be damaged, which its SHA-256
/// tells, and that head is measured again. Failed heads are not kept, since their cause may be mended. To be used by
/// one thread at a time.
class KeptHeads {
 public:
  /// The observer must outlive all calls but `remove`. Reads what an earlier run kept, or drops it, and tells the
  /// observer in a note. Throws Error(usage), with all that differs, when `resume` is set and the heads in the folder
  /// are those of another run.
  KeptHeads(KeepOptions options, const PreparedRun& prepared, const RunConfig& config, const RunObserver& observer);

  /// The heads that an earlier run kept, by head. They are the caller's to take.
  std::map<HeadId, HeadOutcome>& found() { return found_; }

  /// Keeps a measured head, in place of what was kept of it before. Never fails: when a file cannot be written, the
  /// observer gets a warning, once, and no more heads are kept.
  void keep(const HeadOutcome& outcome);

  /// Removes the folder: the run is complete.
  void remove() noexcept { remove_kept_heads(options_.folder); }

 private:
  void read(const PreparedRun& prepared);
  void drop();
  void stop_keeping(const std::string& why);
  std::filesystem::path manifest_file() const { return options_.folder / "run.json"; }
  std::filesystem::path head_file(const HeadId& head) const;

  KeepOptions options_;
  std::string manifest_;  // of this run
  const RunObserver& observer_;
  std::map<HeadId, HeadOutcome> found_;
  bool is_ready_ = false;  // the folder holds the manifest
  bool has_failed_ = false;
};

}  // namespace attention_plasticity
