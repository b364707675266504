#include "attention_plasticity/run/results.h"

#include <filesystem>
#include <system_error>

#include "attention_plasticity/results/output_files.h"
#include "attention_plasticity/results/schema.h"
#include "attention_plasticity/run/result_tables.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

void remove_partial(const std::string& path) {
  std::error_code ignored;
  fs::remove(partial_name(path), ignored);
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

void check_outputs(const PreparedRun& prepared, const RunConfig& config) {
  for (const std::string& path : result_paths(prepared, config)) check_writable(path);
}

std::vector<std::string> write_results(const PreparedRun& prepared, const RunConfig& config, const RunResult& run,
                                       const RunResources& resources) {
  const auto name = [&](const std::string& path) { return run.interrupted ? partial_name(path).string() : path; };
  OutputFiles output;
  std::vector<std::string> files;
  if (!run.results.empty()) {
    const RunParts parts = run_parts(run.results, config);
    for (const ResultTable& table : result_tables()) {
      if (!is_written(table, parts)) continue;
      files.push_back(name(config.tables[table.id]));
      output.stage(files.back(), table_text(table.id, run.results, parts, run.without_group));
    }
  }
  files.push_back(name(run_json_path(config)));
  output.stage(files.back(), run_json(prepared, config, run, files, resources));
  output.commit();
  if (!run.interrupted && !run.results.empty()) {
    for (const std::string& path : result_paths(prepared, config)) remove_partial(path);
  }
  return files;
}

}  // namespace attention_plasticity
