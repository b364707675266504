#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attention_plasticity/analysis/result.h"
#include "attention_plasticity/dump/layout.h"
#include "attention_plasticity/run/config.h"
#include "attention_plasticity/run/rotation_source.h"

namespace attention_plasticity {

/// A head to analyse: its two files and the memory they will need.
struct HeadTask {
  HeadId head;
  std::filesystem::path query_file;
  std::filesystem::path key_file;
  std::uint64_t query_bytes = 0;  ///< estimated; 0 where the file cannot be opened, which its turn will tell
  std::uint64_t key_bytes = 0;
  std::size_t width = 0;  ///< components of a query; 0 where the file's footer does not tell
};

/// Numbers that define the grid of heads and the grouping of query heads by key head.
struct ModelGrid {
  int num_layers = 0;
  int num_q_heads = 0;
  int num_k_heads = 0;

  int k_head(int q_head) const { return q_head / (num_q_heads / num_k_heads); }
};

/// Which dataset of the Hub a dump is.
struct HubOrigin {
  std::string repo;
  std::string revision;  ///< as asked for
  std::string commit;
};

/// Where a run's heads are, or will be: `layout` may tell of files that are still to come.
struct DumpSource {
  std::filesystem::path root;
  DumpLayout layout;
  std::optional<HubOrigin> hub;  ///< none: it is on this machine
};

/// What a run will do, known before any column is decoded.
struct RunPlan {
  DumpLayout layout;
  std::optional<HubOrigin> hub;
  ModelGrid grid;
  std::string model_name;
  std::optional<std::string> sampling_strategy;  ///< how positions were sampled: uniform, log or all
  std::optional<double> sampling_bucket_size;
  std::optional<DumpRotation> rotation;  ///< none: position-exact plasticity is not measured
  std::vector<HeadTask> tasks;           ///< by (layer, q_head)
  std::size_t skipped = 0;               ///< selected heads of the grid that were not captured
  std::vector<std::string> notes;        ///< one line each, for the user
};

/// Looks at the dump and decides. Throws Error(usage) for numbers that do not fit each other or the selection,
/// Error(input) when there is no dump or none of the selected heads is in it.
RunPlan make_plan(const RunConfig& config, const DumpSource& source);

/// The same for the dump on disk that the configuration names.
RunPlan make_plan(const RunConfig& config);

/// What a task says of its files, once they are there: the memory they will need, and their width. `before`, when it is
/// not null, is a task measured already, which may read the same keys.
void measure_files(HeadTask& task, const RunConfig& config, const HeadTask* before = nullptr);

}  // namespace attention_plasticity
