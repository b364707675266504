#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attention_plasticity/results/run_description.h"
#include "attention_plasticity/results/schema.h"

namespace attention_plasticity {

/// The files of a run, as far as they are there: the one way in which `plot`, `report`, `validate` and `plan` find them.
class ResultFiles {
 public:
  /// `results` is a folder, or the file of the table `given`. Tables stand in the folder under the names that the
  /// `config` of run.json gives them, else under their usual names. A table that stands there and that the `files` of
  /// run.json do not name belongs to another run: it is left out, with a note. Throws Error(input) when `results` does
  /// not exist or run.json cannot be read.
  explicit ResultFiles(const std::filesystem::path& results, TableId given = TableId::metrics);

  const std::filesystem::path& folder() const { return folder_; }
  /// None when it is not there or left out.
  const std::optional<std::filesystem::path>& find(TableId table) const;
  /// Throws Error(input), saying why, when it is not there or left out.
  const std::filesystem::path& table(TableId table) const;
  /// run.json; none when there is none.
  const std::optional<std::filesystem::path>& run() const { return run_; }
  /// What run.json says of the model; none without it. Throws Error(input) for what is not the run.json of a run.
  std::optional<RunDescription> description() const;
  /// head_labels.csv; none when there is none.
  const std::optional<std::filesystem::path>& labels() const { return labels_; }
  /// What was left out, for the user.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::filesystem::path folder_;
  std::array<std::optional<std::filesystem::path>, table_count> tables_;
  std::array<std::string, table_count> left_out_;  // why, by table; empty: it is not there
  std::optional<std::filesystem::path> run_;
  std::optional<std::filesystem::path> labels_;
  std::vector<std::string> notes_;
};

}  // namespace attention_plasticity
