#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The index of a sweep: sweep.csv for people and other programs, sweep.json for this one (docs/formats.md).

namespace attention_plasticity {

enum class SweepState { to_do, done, failed };

/// The word of a state: "to do", "done", "failed".
std::string_view state_text(SweepState state);

/// One run in the index.
struct IndexedRun {
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

  std::string name;
  SweepState state = SweepState::to_do;
  std::string folder;  ///< of its results, relative to that of the sweep
  std::size_t heads_done = 0;
  std::size_t heads_failed = 0;
  double exact = unknown;  ///< mean over heads of ap_exact
  double exact_error = unknown;
  double overall = unknown;  ///< mean over heads of ap_overall
  double overall_error = unknown;
  std::string message = {};  ///< why it failed, or some of its heads; empty: they did not
};

/// The index as text.
std::string sweep_csv(const std::vector<IndexedRun>& runs);
std::string sweep_json(const std::vector<IndexedRun>& runs);

/// The name of the file that marks the folder of a sweep.
inline constexpr std::string_view sweep_json_name = "sweep.json";
inline constexpr std::string_view sweep_csv_name = "sweep.csv";

/// The runs in the text of a sweep.json. Throws Error(input), which names `file`, for other text.
std::vector<IndexedRun> parse_sweep_index(std::string_view text, const std::string& file);

/// Reads sweep.json in a folder; none when there is none. Throws Error(input) for a file that is not one.
std::optional<std::vector<IndexedRun>> read_sweep_index(const std::filesystem::path& folder);

/// Writes both files, together. The caller holds the lock of the folder.
void write_sweep_index(const std::filesystem::path& folder, const std::vector<IndexedRun>& runs);

/// Sets heads and means of a run from its run.json. Throws Error(input) when that cannot be read.
void add_figures(IndexedRun& run, const std::filesystem::path& run_json);

}  // namespace attention_plasticity
