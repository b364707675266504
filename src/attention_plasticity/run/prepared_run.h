#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attention_plasticity/dump/capture_metadata.h"
#include "attention_plasticity/dump/input_file.h"
#include "attention_plasticity/dump/layout.h"
#include "attention_plasticity/head_result.h"
#include "attention_plasticity/run/config.h"
#include "attention_plasticity/run/rotation_evidence.h"
#include "attention_plasticity/run/rotation_source.h"

namespace attention_plasticity {

/// A head to analyse: its two files, and the memory that they will need.
struct HeadTask {
  HeadId head;
  std::filesystem::path query_file;
  std::filesystem::path key_file;
  /// Estimated memory: by the footer, or by the size of a file in a store. 0 for a file that cannot be opened, which is
  /// reported when the head is read.
  std::uint64_t query_bytes = 0;
  std::uint64_t key_bytes = 0;
  std::size_t width = 0;  ///< components of a query; 0: unknown
  /// Rows of its files, as their footers say; 0: unknown.
  std::uint64_t query_rows = 0;
  std::uint64_t key_rows = 0;
  /// Which files were there when they were measured; none: they could not be opened, or were not there yet.
  std::optional<FileIdentity> query_identity;
  std::optional<FileIdentity> key_identity;
};

/// The sizes of the model. They define the grid of heads and which query heads share a key head.
struct ModelGrid {
  int num_layers = 0;
  int num_q_heads = 0;
  int num_k_heads = 0;

  int k_head(int q_head) const { return q_head / (num_q_heads / num_k_heads); }
};

/// The dataset of the Hub that a dump comes from.
struct HubOrigin {
  std::string repo;
  std::string revision;  ///< as the user gave it
  std::string commit;
};

/// Where a run's heads are. `layout` may name files that are still to be downloaded.
struct FoundDump {
  std::filesystem::path root;
  DumpLayout layout;
  std::optional<HubOrigin> hub;  ///< none: the dump is on this machine
  bool is_from_cache = false;    ///< of a dump on the Hub, only what was downloaded before is known
};

/// What tells a head file from another version of it.
struct RecordedFile {
  std::string file;                         ///< its path below the folder of the heads, with slashes
  std::uint64_t bytes = 0;                  ///< its size
  std::optional<std::int64_t> modified_ns;  ///< of a dump that is not on the Hub: nanoseconds since 1970, in UTC
  std::optional<std::string> etag;          ///< of a dump on the Hub: the name of its content in the cache

  friend bool operator==(const RecordedFile&, const RecordedFile&) = default;
};

/// A run that is ready to start: the heads to analyse, and what is known of the model before any column is decoded.
struct PreparedRun {
  DumpLayout layout;
  std::optional<HubOrigin> hub;
  ModelGrid grid;
  std::optional<StatedNumber> model_width;  ///< components of a query or key, where a config.json states it
  std::string model_name;
  std::optional<std::string> sampling_strategy;  ///< how positions were sampled: uniform, log or all
  std::optional<double> sampling_bucket_size;
  std::optional<DumpRotation> rotation;  ///< none: position-exact plasticity is not measured
  /// What the vectors say about their rotation, where it had to be inferred from them.
  std::optional<RotationShares> rotation_shares;
  /// True: the run must be prepared again when all files are on disk, since its rotation depends on them.
  bool needs_all_files = false;
  std::vector<HeadTask> tasks;  ///< by (layer, q_head)
  /// The files of the tasks as they were when the heads were measured elsewhere; none: they are looked at on disk.
  std::optional<std::vector<RecordedFile>> known_files;
  std::optional<std::string> recorded_simd;  ///< likewise the instruction set; none: that of this program
  std::size_t skipped = 0;                   ///< number of selected heads that were not captured
  std::vector<std::string> notes;            ///< one line each, for the user
  std::vector<std::string> warnings;         ///< the same for what may make results wrong; never hidden
};

/// Finds out which heads of a dump to analyse. Throws Error(usage) for sizes that do not fit each other, the dump's
/// config.json, the heads that were captured or the selection. Throws Error(input) when there is no dump, or when it
/// has none of the selected heads or none of their keys.
/// `decided`: the same run as prepared elsewhere, whose rotation is taken instead of looking for it; null: there is
/// none.
PreparedRun prepare_run(const RunConfig& config, const FoundDump& source, const PreparedRun* decided = nullptr);

/// The files of the run's tasks that are on disk, each once, by path.
std::vector<RecordedFile> recorded_files(const PreparedRun& prepared);

/// The dump on disk or in a store that the configuration names. Throws Error as find_heads and Store do.
FoundDump find_dump(const RunConfig& config);

/// The same for find_dump().
PreparedRun prepare_run(const RunConfig& config, const PreparedRun* decided = nullptr);

/// Fills in the memory and the width of a task whose files are there. `before`, if not null, is another measured task.
/// When it has the same keys, they are not measured again.
void measure_files(HeadTask& task, const RunConfig& config, const DumpFiles& files = disk_files(),
                   const HeadTask* before = nullptr);

}  // namespace attention_plasticity
