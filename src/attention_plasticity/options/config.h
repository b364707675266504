#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attention_plasticity/results/schema.h"
#include "attention_plasticity/run_options.h"
#include "attention_plasticity/settings/setting.h"

namespace attention_plasticity {

/// A run, resolved from a YAML file and flags. docs/configuration.md explains each field.
struct RunConfig : RunOptions {
  // The dump
  std::string model_dir;
  std::string dataset_name = "viktoroo/sniffed-qk";
  std::string dataset_revision = "main";
  std::optional<std::string> dataset_local_root;  ///< an address of a store stands here without credentials
  std::optional<std::string> dataset_address;     ///< the same with credentials: for Store alone; none: a path
  std::optional<std::string> dataset_cache_dir;
  int download_max_workers = 8;
  bool verify_cache = false;

  // The outputs, with `output_dir` applied
  std::optional<std::string> output_dir;
  TablePaths tables;
  bool overwrite = false;  ///< true: replace the results of another dump or model

  /// Where each field that was set stands, for messages: "configs/x.yaml:12: num_q_heads", or the flag as typed.
  std::map<std::string, std::string, std::less<>> places;
};

/// The run that the settings describe. The last of several settings of a field counts: put those of the YAML file
/// first, then the flags. Throws Error(usage), naming the place, for unknown fields, values of the wrong type or out of
/// range, fields that contradict each other, and two outputs at one path.
RunConfig resolve_config(std::span<const Setting> settings);

/// The run over a dump that a program asks for, checked as the settings of a file are. Nothing is written unless
/// `output_dir` is set. Throws Error(usage), naming the field.
RunConfig resolve_config(const DumpSource& source, const RunOptions& options,
                         const std::optional<std::string>& output_dir = {});

/// Returns the configuration with its outputs in another folder, under their usual names.
RunConfig with_output_dir(RunConfig config, const std::string& folder);

/// Settings of all fields that resolve to this configuration.
std::vector<Setting> all_settings(const RunConfig& config);

/// Throws Error(usage) when `layers` or `q_heads` select an index that a model of these sizes does not have.
/// resolve_config checks against the sizes in the settings; a run checks again once the sizes are discovered.
void check_selection(const RunConfig& config, int num_layers, int num_q_heads);

/// The path of run.json: beside `output_csv`.
std::string run_json_path(const RunConfig& config);

}  // namespace attention_plasticity
