#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "attention_plasticity/analysis/run_groups.h"
#include "attention_plasticity/dump/capture_metadata.h"
#include "attention_plasticity/dump/layout.h"
#include "attention_plasticity/head_result.h"
#include "attention_plasticity/options/config.h"
#include "attention_plasticity/rotation/dump_rotation.h"
#include "attention_plasticity/rotation/evidence.h"
#include "attention_plasticity/source/file_source.h"
#include "attention_plasticity/source/head_source.h"

namespace attention_plasticity {

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

/// A dump that was found. `layout` may name files that are still to be downloaded.
struct FoundDump {
  std::filesystem::path root;
  DumpLayout layout;
  std::optional<HubOrigin> hub;             ///< none: the dump is on this machine
  bool is_from_cache = false;               ///< of a dump on the Hub, only what was downloaded before is known
  std::shared_ptr<FileSource> source = {};  ///< reads the files; null: one that reads `layout` is made
};

/// A run that is ready to start: the heads to analyse, and what is known of the model before any head is read.
struct PreparedRun {
  /// Gives the rows of the heads; null for a run that was recorded elsewhere.
  std::shared_ptr<HeadSource> source;
  DumpLayout layout;  ///< of a dump; empty for heads in memory
  std::optional<HubOrigin> hub;
  ModelGrid grid;
  std::optional<StatedNumber> model_width;  ///< components of a query or key, where a config.json states it
  std::string model_name;
  std::optional<std::string> sampling_strategy;  ///< how positions were sampled: uniform, log or all
  std::optional<double> sampling_bucket_size;
  std::vector<HeadTask> tasks;        ///< by (layer, q_head)
  std::size_t skipped = 0;            ///< number of selected heads that were not captured
  std::vector<std::string> notes;     ///< one line each, for the user
  std::vector<std::string> warnings;  ///< one line each on what may make results wrong; never hidden

  std::optional<DumpRotation> rotation;  ///< none: position-exact plasticity is not measured
  /// True if decide() is still to infer the rotation from the vectors.
  bool infers_rotation = false;
  /// The shares that an inferred rotation was found by.
  std::optional<RotationShares> rotation_shares;
  /// The reference documents, whose ranks are the jackknife groups; empty before decide(), without standard errors, and
  /// if no head can be read.
  std::vector<DocumentRange> reference_documents;

  /// The files of the tasks as recorded elsewhere; none: those of `source`.
  std::optional<std::vector<RecordedFile>> known_files;
  std::optional<std::string>
      recorded_simd;  ///< the instruction set that heads were measured with; none: of this program
};

/// Finds out which heads of a dump to analyse. Throws Error(usage) for sizes that do not fit each other, the dump's
/// config.json, the heads that were captured or the selection. Throws Error(input) when there is no dump, or when it
/// has none of the selected heads or none of their keys.
PreparedRun prepare_run(const RunConfig& config, const FoundDump& dump);

/// Prepares a run over the dump on disk or in a store that the configuration names. Throws as find_dump does, too.
PreparedRun prepare_run(const RunConfig& config);

/// Finds the dump on disk or in a store that the configuration names. Throws Error as find_heads and Store do.
FoundDump find_dump(const RunConfig& config);

/// Describes the dump that was found on the Hub, with a source that downloads what is missing. `dump` must outlive it.
FoundDump dump_on_hub(HubDump& dump, const RunConfig& config);

/// Returns the sides that decide() will read, in order.
std::vector<HeadSide> deciding_sides(const PreparedRun& prepared, const RunConfig& config);

/// Decides the rotation from rows, where it must be inferred or depends on the largest position. decide() does this
/// first.
void decide_rotation(PreparedRun& prepared, const RunConfig& config, const RunObserver& told,
                     const std::stop_token& stop);

/// Decides from rows what all heads of a run share, so that every process that measures a part of it decides the same:
/// the rotation, where it must be inferred or depends on the largest position, the candidates that it is compared with,
/// and the reference documents. Reports to `told`. Throws as the functions of HeadSource do, and Stopped.
void decide(PreparedRun& prepared, const RunConfig& config, const RunObserver& told, const std::stop_token& stop);

/// Sets the rotation of a run as it was found; none: it is to be inferred, as far as vectors can show it.
void set_rotation(PreparedRun& prepared, const RunConfig& config, std::optional<DumpRotation> found);

/// Throws Error(usage) if the rotation fits none of the heads whose width is known.
void require_fitting_rotation(const PreparedRun& prepared);

/// The files of the run's tasks, each once, by path.
std::vector<RecordedFile> recorded_files(const PreparedRun& prepared);

}  // namespace attention_plasticity
