#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/results/csv.h"
#include "attention_plasticity/results/run_json.h"
#include "attention_plasticity/results/schema.h"

namespace attention_plasticity {

/// The folder of a run's results, which are given as that folder or as one of its files.
std::filesystem::path results_folder(const std::filesystem::path& results);

/// The name of the folder of results, for people: "mine" of "out/mine/head_metrics.csv". Empty for the root.
std::string results_name(const std::filesystem::path& results);

/// The ids of all tables.
std::vector<TableId> all_tables();

/// The files of one run. `plot`, `report`, `validate` and `plan` all find them with this class.
///
/// A table belongs to the run when run.json names it with the SHA-256 of its bytes. A run.json of schema 1 has no
/// digests; its tables are taken when the number of heads and the means in it are those of head_metrics.csv. A table
/// that does not belong to the run is left out, with a note. Without run.json all tables are taken, with a note.
///
/// Every file is read once: the bytes whose digest was checked are those that `read` parses. When files do not fit
/// run.json, because a run is putting its results in place just then, all of them are read again, a few times.
class ResultFiles {
 public:
  /// `results` is the folder of a run, or the file of the table `given`. A table is looked for in the folder under the
  /// name that the `config` of run.json gives it, then under its usual name. When the file given is what an
  /// interrupted run left, `x.partial.csv`, so are run.json and the other tables. Only the tables `wanted` are looked
  /// for. Throws Error(input) when `results` does not exist or a file cannot be read.
  explicit ResultFiles(const std::filesystem::path& results, TableId given = TableId::metrics,
                       std::vector<TableId> wanted = all_tables());

  const std::filesystem::path& folder() const { return folder_; }
  /// None when the table does not exist or is left out.
  const std::optional<std::filesystem::path>& find(TableId table) const;
  /// Throws Error(input) with the reason when the table does not exist or is left out.
  const std::filesystem::path& table(TableId table) const;
  /// The bytes of a table; empty when it does not exist or is left out.
  const std::string& text(TableId table) const { return texts_[static_cast<std::size_t>(table)]; }
  /// The content of a table. Throws Error(input) as `table` does, and when it is not a CSV table.
  CsvTable read(TableId table) const;
  /// True for the files that an interrupted run left.
  bool is_partial() const { return partial_; }
  /// The path of run.json; none when it does not exist.
  const std::optional<std::filesystem::path>& run() const { return run_; }
  /// The content of run.json, read once so that all readers see the same; empty when it does not exist.
  const std::string& run_text() const { return run_text_; }
  /// The description of the model in run.json; none without run.json. Throws Error(input) when it is not the run.json
  /// of a run.
  std::optional<RunDescription> description() const;
  /// The path of head_labels.csv in the folder, or else in the dump that the run has analysed; none when neither
  /// exists.
  const std::optional<std::filesystem::path>& labels() const { return labels_; }
  /// Notes for the user on the results as a whole: there is no run.json, or a later run was interrupted.
  const std::vector<std::string>& notes() const { return notes_; }
  /// The tables that are left out, and why.
  std::vector<std::string> left_out() const;

 private:
  struct LeftOut {
    std::filesystem::path file;
    std::string why;
  };

  bool read_all(const std::filesystem::path& results, TableId given);
  void find_table(const ResultTable& table, const std::optional<std::filesystem::path>& given);
  bool is_of_one_run() const;
  void check_schema_1();
  void find_labels();
  std::string run_name() const;
  std::vector<std::string> names(const ResultTable& table) const;
  std::optional<std::filesystem::path> interrupted_metrics() const;

  std::filesystem::path folder_;
  std::vector<TableId> wanted_;
  bool partial_ = false;  // true: the results of an interrupted run
  std::array<std::optional<std::filesystem::path>, table_count> tables_;
  std::array<std::string, table_count> texts_;  // the bytes of those tables
  std::array<std::optional<LeftOut>, table_count> left_out_;
  std::optional<std::filesystem::path> run_;
  std::string run_text_;
  std::optional<RunRecord> record_;  // none: there is no run.json
  std::optional<std::filesystem::path> labels_;
  std::vector<std::string> notes_;
};

}  // namespace attention_plasticity
