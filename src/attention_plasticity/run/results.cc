#include "attention_plasticity/run/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/digest/digest.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/results/output_files.h"
#include "attention_plasticity/results/run_record.h"
#include "attention_plasticity/results/schema.h"
#include "attention_plasticity/run/result_tables.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

// Says why every head of a run failed. The run.json of earlier results stays.
std::string failed_json_path(const RunConfig& config) {
  return fs::path(run_json_path(config)).replace_filename("run.failed.json").string();
}

bool is_same_folder(const std::string& a, const std::string& b) {
  if (a == b) return true;
  std::error_code unknown;
  const fs::path first = fs::weakly_canonical(a, unknown);
  return !unknown && first == fs::weakly_canonical(b, unknown) && !unknown;
}

RunInput input_of(const PreparedRun& prepared, const RunConfig& config) {
  RunInput input;
  if (prepared.hub) {
    input.repo = prepared.hub->repo;
    input.revision = prepared.hub->revision;
  } else {
    input.root = config.dataset_local_root;
  }
  return input;
}

bool is_same_input(const RunInput& a, const RunInput& b) {
  if (a.repo || b.repo) return a.repo == b.repo && a.revision == b.revision;
  return a.root && b.root && is_same_folder(*a.root, *b.root);
}

std::string described(const RunInput& input, const std::string& model) {
  std::string from = "an unknown input";
  if (input.root) from = shown_text(*input.root);
  if (input.repo) from = fmt::format("{} at {}", shown_text(*input.repo), shown_text(input.revision.value_or("?")));
  return fmt::format("{} from {}", shown_text(model), from);
}

// What stands where this run will write its run.json; none when there is nothing.
std::optional<RunRecord> earlier_run(const std::string& file) {
  std::error_code unknown;
  if (!fs::is_regular_file(file, unknown)) return std::nullopt;
  return parse_run_record(read_text_file(file, most_record_bytes), file);
}

constexpr std::string_view how_to_replace = "pass `overwrite` to replace them, or another `output_dir`";

[[noreturn]] void refuse_unknown_results(const Error& error, const std::string& file) {
  throw Error(ErrorKind::usage,
              fmt::format("it is not known whose results these are: {}; {}", error.what(), how_to_replace), file);
}

bool is_usual_name(const std::string& file) {
  return std::ranges::any_of(result_tables(), [&](const ResultTable& table) { return table.file == file; });
}

// Tables of the earlier run in the folder of run.json that this run does not write. A table that was changed since is
// not one of them, and stays; without digests only the usual names are taken for its tables.
std::vector<fs::path> left_behind(const std::string& run_json, const std::vector<std::string>& written) {
  std::vector<fs::path> files;
  std::optional<RunRecord> earlier;
  try {
    earlier = earlier_run(run_json);
  } catch (const Error&) {
    return files;  // names no tables that could be known to be its own
  }
  if (!earlier) return files;
  const fs::path folder = fs::path(run_json).parent_path();
  for (const RecordedTable& table : earlier->tables) {
    const fs::path file = folder / table.name;
    const bool stays = std::ranges::any_of(
        written, [&](const std::string& path) { return fs::path(path).lexically_normal() == file.lexically_normal(); });
    std::error_code unknown;
    if (stays || !fs::is_regular_file(file, unknown)) continue;
    if (table.sha256 ? *table.sha256 == file_sha256(file) : is_usual_name(table.name)) files.push_back(file);
  }
  return files;
}

// Throws when a run.json, whose name is `file`, is of another input or model.
void require_same_run(const std::string& run_json, const std::string& file, const RunInput& input,
                      const std::string& model_name) {
  RunRecord earlier;
  try {
    earlier = parse_run_record(run_json, file);
  } catch (const Error& error) {
    refuse_unknown_results(error, file);
  }
  const std::string model = earlier.model.value_or("an unknown model");
  if (is_same_input(earlier.input, input) && model == model_name) return;
  throw Error(ErrorKind::usage,
              fmt::format("these are the results of {}, and this run is of {}; {}", described(earlier.input, model),
                          described(input, model_name), how_to_replace),
              file);
}

// The same for a file on disk, which need not be there.
void require_same_run(const std::string& file, const RunInput& input, const std::string& model_name) {
  std::error_code unknown;
  if (!fs::is_regular_file(file, unknown)) return;
  std::string text;
  try {
    text = read_text_file(file, most_record_bytes);
  } catch (const Error& error) {
    refuse_unknown_results(error, file);
  }
  require_same_run(text, file, input, model_name);
}

bool has_content(const fs::path& file, const std::string& content) {
  std::error_code unknown;
  return fs::is_regular_file(file, unknown) && read_text_file(file, most_record_bytes) == content;
}

}  // namespace

std::vector<std::string> result_paths(const PreparedRun& prepared, const RunConfig& config) {
  RunParts run = run_parts({}, config);
  run.exact = prepared.rotation.has_value();
  std::vector<std::string> paths;
  for (const ResultTable& table : result_tables()) {
    if (is_written(table, run)) paths.push_back(config.tables[table.id]);
  }
  paths.push_back(run_json_path(config));
  return paths;
}

void check_earlier_results(const PreparedRun& prepared, const RunConfig& config) {
  if (config.overwrite) return;
  require_same_run(run_json_path(config), input_of(prepared, config), prepared.model_name);
}

void check_earlier_results(const PreparedRun& prepared, const RunConfig& config, const std::string& run_json,
                           const std::string& file) {
  if (config.overwrite) return;
  require_same_run(run_json, file, input_of(prepared, config), prepared.model_name);
}

std::vector<FolderLock> lock_outputs(const PreparedRun& prepared, const RunConfig& config) {
  return lock_outputs(result_paths(prepared, config));
}

void check_outputs(const PreparedRun& prepared, const RunConfig& config) {
  check_earlier_results(prepared, config);
  check_writable(result_paths(prepared, config));
}

std::vector<std::string> write_results(const PreparedRun& prepared, const RunConfig& config, const RunResult& run,
                                       const RunResources& resources) {
  const auto name = [&](const std::string& path) { return run.interrupted ? partial_name(path).string() : path; };
  OutputFiles output(run_json_path(config));
  std::vector<WrittenFile> files;
  if (!run.results.empty()) {
    const RunParts parts = run_parts(run.results, config);
    for (const ResultTable& table : result_tables()) {
      if (!is_written(table, parts)) continue;
      const std::string path = name(config.tables[table.id]);
      files.push_back({path, output.stage(path, [&](const Sink& sink) {
                         write_table(table.id, run.results, parts, run.without_group, sink);
                       })});
    }
  }
  const bool failed = run.results.empty() && !run.interrupted;
  files.push_back({failed ? failed_json_path(config) : name(run_json_path(config))});
  output.stage(files.back().path, run_json(prepared, config, run, files, resources));

  std::vector<std::string> paths;
  paths.reserve(files.size());
  for (const WrittenFile& file : files) paths.push_back(file.path);
  if (!run.interrupted && !failed) {
    for (const fs::path& file : left_behind(run_json_path(config), paths)) output.remove(file);
    for (const ResultTable& table : result_tables()) {
      if (!config.tables[table.id].empty()) output.remove(partial_name(config.tables[table.id]));
    }
    output.remove(partial_name(run_json_path(config)));
    output.remove(failed_json_path(config));
  }
  output.commit();
  return paths;
}

std::vector<std::string> copy_results(const ResultFiles& files, const fs::path& folder, bool overwrite) {
  std::vector<std::string> paths;
  std::vector<std::string_view> contents;
  for (const TableId table : all_tables()) {
    if (const auto& file = files.find(table)) {
      paths.push_back((folder / file->filename()).string());
      contents.push_back(files.text(table));
    }
  }
  if (files.run()) {
    paths.push_back((folder / files.run()->filename()).string());
    contents.push_back(files.run_text());
  }
  const std::string run_json = (folder / "run.json").string();
  const std::vector<FolderLock> locks = lock_outputs(paths);
  if (!overwrite && !files.is_partial() && !has_content(run_json, files.run_text())) {
    RunRecord own;
    if (files.run()) own = parse_run_record(files.run_text(), files.run()->string());
    require_same_run(run_json, own.input, own.model.value_or("an unknown model"));
  }
  check_writable(paths);
  OutputFiles output(run_json);
  for (std::size_t i = 0; i < paths.size(); ++i) output.stage(paths[i], contents[i]);
  if (!files.is_partial()) {
    for (const fs::path& file : left_behind(run_json, paths)) output.remove(file);
    for (const ResultTable& table : result_tables()) output.remove(partial_name(folder / table.file));
    output.remove(partial_name(run_json));
    output.remove(fs::path(run_json).replace_filename("run.failed.json"));
    if (!files.run()) output.remove(run_json);
  }
  output.commit();
  return paths;
}

}  // namespace attention_plasticity
