#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What run.json says about whose results stand beside it. Schema 2 names every table of its run with its SHA-256;
// schema 1 names the files only.

namespace attention_plasticity {

/// The schema of the run.json that this program writes. It reads this one and those before it.
inline constexpr int run_json_schema = 2;

/// Where the heads of a run came from: a dump on disk, or a dataset of the Hub.
struct RunInput {
  std::optional<std::string> root;  ///< of a dump on disk, as configured
  std::optional<std::string> repo;
  std::optional<std::string> revision;
  std::optional<std::string> folder;  ///< the folder of the heads
};

/// A table of a run.
struct RecordedTable {
  std::string name;                   ///< of its file, without the folder
  std::optional<std::string> sha256;  ///< of its bytes, 64 hexadecimal digits; none in schema 1
};

struct RunRecord {
  int schema = run_json_schema;
  RunInput input;
  std::optional<std::string> model;          ///< the model's name
  std::vector<RecordedTable> tables;         ///< in schema 1 all files, run.json included
  std::map<std::string, std::string> names;  ///< the name of a table's file, by the field of its path
  std::optional<std::size_t> heads_done;
  std::map<std::string, double> means;  ///< mean over heads of each measure in the summary; NaN: no head has a value

  /// The table whose file has this name. Null when the run wrote none.
  const RecordedTable* find(std::string_view name) const;
};

/// Throws Error(input) for text that is not the run.json of a run, and for a schema that this program does not know.
RunRecord parse_run_record(std::string_view text, const std::string& file);

/// The SHA-256 of a file's bytes. Throws Error(input) when it cannot be read.
std::string file_sha256(const std::filesystem::path& file);

}  // namespace attention_plasticity
