#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/analysis/options.h"
#include "attention_plasticity/results/schema.h"
#include "attention_plasticity/rotary/rotation.h"

namespace attention_plasticity {

enum class NonFinite { error, drop };
enum class Compat { none, python };
/// Where the rotation of position-exact plasticity comes from: the `rope_*` settings, else `rope_config`, else a
/// config.json in the dump; or there is none, R = I.
enum class Rope { automatic, none };

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

/// A run as resolved from a YAML file and flags. Field by field in docs/configuration.md.
struct RunConfig {
  // The dump
  std::string model_dir;
  std::optional<int> num_layers;
  std::optional<int> num_q_heads;
  std::optional<int> num_k_heads;
  std::optional<std::vector<int>> layers;   ///< ascending, without repetition; none: all
  std::optional<std::vector<int>> q_heads;  ///< likewise
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
  std::optional<std::string> rope_scaling;  ///< a JSON object

  // The output, `output_dir` applied
  std::optional<std::string> output_dir;
  TablePaths tables;

  // The machine
  std::optional<int> max_workers;             ///< none: one per core the process may use
  std::optional<std::uint64_t> memory_limit;  ///< bytes
};

/// One setting as given, before it is typed: by a YAML file or by a flag.
struct Setting {
  std::string field;
  std::optional<std::string> value;  ///< none: null, which unsets the field
  std::string where;                 ///< "configs/x.yaml:12", or the flag as typed: "--max-workers"
};

/// The setting as messages name it: "configs/x.yaml:12: max_workers", or the flag as typed.
std::string setting_place(const Setting& setting);

/// The setting of a flag and its value: `--max-workers` and `--max_workers` set the field max_workers, and the word
/// null unsets it. Error(usage) with a suggestion for a flag that is no field.
Setting flag_setting(std::string_view flag, std::string_view value);

/// The run that the settings describe. Of several settings of one field the last counts: give those of the YAML file
/// first, then the flags. Error(usage) naming the place for unknown fields, values of the wrong type or out of range,
/// fields that contradict each other, and two outputs at one path.
RunConfig resolve_config(std::span<const Setting> settings);

/// Error(usage) when `layers` or `q_heads` select what a model of these sizes does not have. resolve_config does so
/// for the sizes that the settings give; a run does once the sizes are discovered.
void check_selection(const RunConfig& config, int num_layers, int num_q_heads);

/// Where run.json goes: beside `output_csv`.
std::string run_json_path(const RunConfig& config);

}  // namespace attention_plasticity
