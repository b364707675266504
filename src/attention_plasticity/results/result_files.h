#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace attention_plasticity {

/// The files of a run, as far as they are there.
struct ResultFiles {
  std::filesystem::path metrics;
  std::optional<std::filesystem::path> run;  ///< run.json
  std::optional<std::filesystem::path> buckets;
  std::optional<std::filesystem::path> components;
  std::optional<std::filesystem::path> time;
  std::optional<std::filesystem::path> distance;
  std::optional<std::filesystem::path> labels;  ///< head_labels.csv
  std::vector<std::string> notes;               ///< what was left out, for the user
};

/// Finds them in a folder, or beside a head_metrics.csv. Tables have the names that run.json's `config` gives them,
/// else their usual ones; a table that lies there and is not among the `files` of run.json is of another run, and left
/// out. Throws Error(input) when there are no metrics.
ResultFiles find_result_files(const std::filesystem::path& results);

}  // namespace attention_plasticity
