#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attention_plasticity/analysis/options.h"
#include "attention_plasticity/results/schema.h"
#include "attention_plasticity/rotary/rotation.h"
#include "attention_plasticity/settings/setting.h"

namespace attention_plasticity {

enum class NonFinite { error, drop };
enum class Compat { none, python };
/// Where the rotation of position-exact plasticity comes from. automatic: the `rope_*` settings, else `rope_config`,
/// else a config.json in the dump, else the vectors themselves. none: the model has no rotation, R = I.
enum class Rope { automatic, none };
/// What to do when the vectors contradict the configured rotation.
enum class RotationCheck { warn, error, off };

/// Where a run's tables go. A path is empty where `compat: python` does not write the table.
class TablePaths {
 public:
  /// The usual names.
  TablePaths() {
    for (const ResultTable& table : result_tables()) (*this)[table.id] = table.file;
  }
  std::string& operator[](TableId table) { return paths_[static_cast<std::size_t>(table)]; }
  const std::string& operator[](TableId table) const { return paths_[static_cast<std::size_t>(table)]; }
  bool operator==(const TablePaths&) const = default;

 private:
  std::array<std::string, table_count> paths_;
};

/// A run, resolved from a YAML file and flags. docs/configuration.md explains each field.
struct RunConfig {
  // The dump
  std::string model_dir;
  std::optional<int> num_layers;
  std::optional<int> num_q_heads;
  std::optional<int> num_k_heads;
  std::optional<std::vector<int>> layers;   ///< ascending, without repetition; none: all
  std::optional<std::vector<int>> q_heads;  ///< the same
  std::string dataset_name = "viktoroo/sniffed-qk";
  std::string dataset_revision = "main";
  std::optional<std::string> dataset_local_root;
  std::optional<std::string> dataset_cache_dir;
  int download_max_workers = 8;
  NonFinite non_finite = NonFinite::error;

  // The analysis
  Compat compat = Compat::none;
  AnalysisOptions analysis;

  // The rotation
  Rope rope = Rope::automatic;
  std::optional<std::string> rope_config;  ///< a model's config.json
  std::optional<double> rope_theta;
  std::optional<int> rope_dim;
  std::optional<RotaryLayout> rope_layout;
  std::optional<int> rope_first;            ///< index of the first rotated component; none: 0
  std::optional<std::string> rope_scaling;  ///< a JSON object
  RotationCheck rotation_check = RotationCheck::warn;

  // The outputs, with `output_dir` applied
  std::optional<std::string> output_dir;
  TablePaths tables;

  // The machine
  std::optional<int> max_workers;             ///< none: one per core the process may use
  std::optional<std::uint64_t> memory_limit;  ///< bytes
};

/// The run that the settings describe. The last of several settings of a field counts: put those of the YAML file
/// first, then the flags. Throws Error(usage), naming the place, for unknown fields, values of the wrong type or out of
/// range, fields that contradict each other, and two outputs at one path.
RunConfig resolve_config(std::span<const Setting> settings);

/// Throws Error(usage) when `layers` or `q_heads` select an index that a model of these sizes does not have.
/// resolve_config checks against the sizes in the settings; a run checks again once the sizes are discovered.
void check_selection(const RunConfig& config, int num_layers, int num_q_heads);

/// The path of run.json: beside `output_csv`.
std::string run_json_path(const RunConfig& config);

}  // namespace attention_plasticity
