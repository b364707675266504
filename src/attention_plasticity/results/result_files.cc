#include "attention_plasticity/results/result_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/json/json.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& file) {
  std::error_code unknown;
  return fs::exists(file, unknown);
}

// The names of tables, as run.json gives them.
class TableNames {
 public:
  TableNames() = default;
  explicit TableNames(nlohmann::json run) : run_(std::move(run)) {
    const nlohmann::json* files = find_field(run_, "files");
    if (files == nullptr || !files->is_array()) return;
    written_.emplace();
    for (const nlohmann::json& file : *files) {
      if (file.is_string()) written_->push_back(fs::path(file.get<std::string>()).filename().string());
    }
  }

  /// The names to look for, in this order: the name that the run gave the table, then the usual name.
  std::vector<std::string> names(const ResultTable& table) const {
    std::vector<std::string> names{std::string(table.file)};
    const nlohmann::json* config = find_field(run_, "config");
    const nlohmann::json* value = config == nullptr ? nullptr : find_field(*config, table.field);
    if (value != nullptr && value->is_string()) {
      const std::string name = fs::path(value->get<std::string>()).filename().string();
      if (!name.empty() && name != table.file) names.insert(names.begin(), name);
    }
    return names;
  }

  bool was_written(const std::string& name) const {
    return !written_ || std::ranges::find(*written_, name) != written_->end();
  }

 private:
  nlohmann::json run_ = nlohmann::json::object();
  std::optional<std::vector<std::string>> written_;
};

std::size_t place(TableId table) { return static_cast<std::size_t>(table); }

}  // namespace

fs::path results_folder(const fs::path& results) {
  std::error_code unknown;
  return fs::is_directory(results, unknown) ? results : results.parent_path();
}

ResultFiles::ResultFiles(const fs::path& results, TableId given) : folder_(results_folder(results)) {
  if (!is_there(results)) throw Error(ErrorKind::input, "there is no such file or folder", results.string());
  const bool is_folder = folder_ == results;
  TableNames names;
  if (is_there(folder_ / "run.json")) {
    run_ = folder_ / "run.json";
    run_text_ = read_text_file(*run_);
    names = TableNames(parse_json_object(run_text_, {.file = run_->string(), .unique_keys = true}));
  }
  for (const ResultTable& table : result_tables()) {
    if (!is_folder && table.id == given) {
      tables_[place(table.id)] = results;
      continue;
    }
    for (const std::string& name : names.names(table)) {
      if (!is_there(folder_ / name)) continue;
      if (names.was_written(name)) {
        tables_[place(table.id)] = folder_ / name;
      } else {
        left_out_[place(table.id)] = (folder_ / name).string();
        notes_.push_back(fmt::format("{}: left out, since run.json does not name it as a file of its run",
                                     (folder_ / name).string()));
      }
      break;
    }
  }
  if (is_there(folder_ / "head_labels.csv")) labels_ = folder_ / "head_labels.csv";
}

const std::optional<fs::path>& ResultFiles::find(TableId table) const { return tables_[place(table)]; }

const fs::path& ResultFiles::table(TableId table) const {
  if (const auto& found = find(table)) return *found;
  if (const std::string& other = left_out_[place(table)]; !other.empty()) {
    throw Error(ErrorKind::input,
                "run.json beside it does not name it as a file of its run; give the file itself to use it", other);
  }
  throw Error(ErrorKind::input,
              fmt::format("holds no {}; results are what `attention-plasticity analyze` writes to its `output_dir`",
                          result_table(table).file),
              folder_.string());
}

std::optional<RunDescription> ResultFiles::description() const {
  if (!run_) return std::nullopt;
  return parse_run_description(run_text_, run_->string());
}

}  // namespace attention_plasticity
