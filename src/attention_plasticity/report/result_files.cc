#include "attention_plasticity/report/result_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "attention_plasticity/base/error.h"
#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/json/json.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& file) {
  std::error_code unknown;
  return fs::exists(file, unknown);
}

// What run.json says of the names of tables.
class TableNames {
 public:
  TableNames() = default;
  explicit TableNames(nlohmann::json run) : run_(std::move(run)) {
    const auto files = run_.find("files");
    if (files == run_.end() || !files->is_array()) return;
    written_.emplace();
    for (const nlohmann::json& file : *files) {
      if (file.is_string()) written_->push_back(fs::path(file.get<std::string>()).filename().string());
    }
  }

  std::string name(const char* field, const char* usual) const {
    const auto config = run_.find("config");
    if (config == run_.end() || !config->is_object()) return usual;
    const auto value = config->find(field);
    if (value == config->end() || !value->is_string()) return usual;
    const std::string name = fs::path(value->get<std::string>()).filename().string();
    return name.empty() ? usual : name;
  }

  bool was_written(const std::string& name) const {
    return !written_ || std::ranges::find(*written_, name) != written_->end();
  }

 private:
  nlohmann::json run_ = nlohmann::json::object();
  std::optional<std::vector<std::string>> written_;
};

}  // namespace

ResultFiles find_result_files(const fs::path& results) {
  std::error_code unknown;
  if (!is_there(results)) throw Error(ErrorKind::input, "there is no such folder", results.string());
  const bool is_folder = fs::is_directory(results, unknown);
  const fs::path folder = is_folder ? results : results.parent_path();

  ResultFiles files;
  TableNames names;
  if (is_there(folder / "run.json")) {
    files.run = folder / "run.json";
    names =
        TableNames(parse_json_object(read_text_file(*files.run), {.file = files.run->string(), .unique_keys = true}));
  }
  const auto find = [&](const char* field, const char* usual) -> std::optional<fs::path> {
    for (const std::string& name : {names.name(field, usual), std::string(usual)}) {
      if (!is_there(folder / name)) continue;
      if (names.was_written(name)) return folder / name;
      files.notes.push_back(
          fmt::format("{}: left out, since run.json does not name it as a file of its run", (folder / name).string()));
      break;
    }
    return std::nullopt;
  };
  if (is_folder) {
    const std::string name = names.name("output_csv", "head_metrics.csv");
    files.metrics = is_there(folder / name) ? folder / name : folder / "head_metrics.csv";
    if (!is_there(files.metrics)) {
      throw Error(
          ErrorKind::input,
          "holds no head_metrics.csv; results are what `attention-plasticity analyze` writes to its --output_dir",
          results.string());
    }
  } else {
    files.metrics = results;
  }
  files.buckets = find("bucket_csv", "head_bucket_plasticity.csv");
  files.components = find("component_csv", "head_component_weights.csv");
  files.time = find("time_csv", "head_time_plasticity.csv");
  files.distance = find("distance_csv", "head_distance_plasticity.csv");
  if (is_there(folder / "head_labels.csv")) files.labels = folder / "head_labels.csv";
  return files;
}

}  // namespace attention_plasticity
