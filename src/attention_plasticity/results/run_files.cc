#include "attention_plasticity/results/run_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/results/head_tables.h"
#include "attention_plasticity/results/output_files.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

// Lists the failures when every head of a run failed. The run.json of earlier results stays.
fs::path failed_json(const fs::path& run_json) { return fs::path(run_json).replace_filename("run.failed.json"); }

bool is_same_folder(const std::string& a, const std::string& b) {
  if (a == b) return true;
  std::error_code unknown;
  const fs::path first = fs::weakly_canonical(a, unknown);
  return !unknown && first == fs::weakly_canonical(b, unknown) && !unknown;
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

// The run.json that stands at a path; none when there is nothing.
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

bool has_content(const fs::path& file, const std::string& content) {
  std::error_code unknown;
  return fs::is_regular_file(file, unknown) && read_text_file(file, most_record_bytes) == content;
}

// Marks what earlier runs left beside a run.json that is about to be replaced.
void remove_earlier(OutputFiles& output, const std::string& run_json, const TablePaths& tables,
                    const std::vector<std::string>& written) {
  for (const fs::path& file : left_behind(run_json, written)) output.remove(file);
  for (const ResultTable& table : result_tables()) {
    if (!tables[table.id].empty()) output.remove(partial_name(tables[table.id]));
  }
  output.remove(partial_name(run_json));
  output.remove(failed_json(run_json));
}

}  // namespace

void require_same_run(const std::string& text, const std::string& file, const RunInput& input,
                      const std::string& model) {
  RunRecord earlier;
  try {
    earlier = parse_run_record(text, file);
  } catch (const Error& error) {
    refuse_unknown_results(error, file);
  }
  const std::string earlier_model = earlier.model.value_or("an unknown model");
  if (is_same_input(earlier.input, input) && earlier_model == model) return;
  throw Error(ErrorKind::usage,
              fmt::format("these are the results of {}, and this run is of {}; {}",
                          described(earlier.input, earlier_model), described(input, model), how_to_replace),
              file);
}

void require_same_run(const std::string& file, const RunInput& input, const std::string& model) {
  std::error_code unknown;
  if (!fs::is_regular_file(file, unknown)) return;
  std::string text;
  try {
    text = read_text_file(file, most_record_bytes);
  } catch (const Error& error) {
    refuse_unknown_results(error, file);
  }
  require_same_run(text, file, input, model);
}

std::vector<std::string> write_run_files(const RunContents& run, const TablePaths& tables,
                                         const std::string& run_json) {
  const auto name = [&](const std::string& path) { return run.interrupted ? partial_name(path).string() : path; };
  const bool failed = run.heads.empty() && !run.interrupted;
  OutputFiles output;
  std::vector<WrittenFile> files;
  for (const ResultTable& table : result_tables()) {
    if (run.heads.empty() || !is_written(table, run.written)) continue;
    const std::string path = name(tables[table.id]);
    const std::string digest = output.stage(
        path, [&](const Sink& sink) { write_table(table.id, run.heads, run.written, run.without_group, sink); });
    files.push_back({path, digest});
  }
  files.push_back({failed ? failed_json(run_json).string() : name(run_json)});
  output.stage(files.back().path, run_json_text(run.record, files));

  std::vector<std::string> paths;
  paths.reserve(files.size());
  for (const WrittenFile& file : files) paths.push_back(file.path);
  if (!run.interrupted && !failed) remove_earlier(output, run_json, tables, paths);
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
  OutputFiles output;
  for (std::size_t i = 0; i < paths.size(); ++i) output.stage(paths[i], contents[i]);
  if (!files.is_partial()) {
    TablePaths tables;
    for (const ResultTable& table : result_tables()) tables[table.id] = (folder / table.file).string();
    remove_earlier(output, run_json, tables, paths);
    if (!files.run()) output.remove(run_json);
  }
  output.commit();
  return paths;
}

}  // namespace attention_plasticity
