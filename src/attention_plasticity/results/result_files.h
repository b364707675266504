#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attention_plasticity/results/run_description.h"
#include "attention_plasticity/results/schema.h"

namespace attention_plasticity {

/// The folder of a run's results, which are given as that folder or as one of its files.
std::filesystem::path results_folder(const std::filesystem::path& results);

/// The files of a run that exist. `plot`, `report`, `validate` and `plan` all find them with this class.
class ResultFiles {
 public:
  /// `results` is the folder of a run, or the file of the table `given`. A table is looked for in the folder under the
  /// name that the `config` of run.json gives it, then under its usual name. A table that exists but is not in the
  /// `files` of run.json belongs to another run: it is left out, with a note. Throws Error(input) when `results` does
  /// not exist or run.json cannot be read.
  explicit ResultFiles(const std::filesystem::path& results, TableId given = TableId::metrics);

  const std::filesystem::path& folder() const { return folder_; }
  /// None when the table does not exist or is left out.
  const std::optional<std::filesystem::path>& find(TableId table) const;
  /// Throws Error(input) with the reason when the table does not exist or is left out.
  const std::filesystem::path& table(TableId table) const;
  /// The path of run.json; none when it does not exist.
  const std::optional<std::filesystem::path>& run() const { return run_; }
  /// The content of run.json, read once so that all readers see the same; empty when it does not exist.
  const std::string& run_text() const { return run_text_; }
  /// What run.json says about the model; none without run.json. Throws Error(input) when it is not the run.json of a
  /// run.
  std::optional<RunDescription> description() const;
  /// The path of head_labels.csv; none when it does not exist.
  const std::optional<std::filesystem::path>& labels() const { return labels_; }
  /// What was left out, for the user.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::filesystem::path folder_;
  std::array<std::optional<std::filesystem::path>, table_count> tables_;
  std::array<std::string, table_count> left_out_;  // the path of a table that is left out; otherwise empty
  std::optional<std::filesystem::path> run_;
  std::string run_text_;
  std::optional<std::filesystem::path> labels_;
  std::vector<std::string> notes_;
};

}  // namespace attention_plasticity
