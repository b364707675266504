#include "attention_plasticity/run/results.h"

#include <filesystem>
#include <system_error>

#include "attention_plasticity/run/csv.h"
#include "attention_plasticity/run/output_files.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

struct Table {
  std::string path;
  std::string text;
};

bool has_time_table(const RunConfig& config) { return config.compat != Compat::python; }

std::vector<Table> tables(const RunConfig& config, std::span<const HeadResult> results) {
  std::vector<Table> tables{{config.output_csv, head_metrics_csv(results, config)},
                            {config.bucket_csv, bucket_csv(results, config)},
                            {config.component_csv, component_csv(results, config)}};
  if (has_time_table(config)) tables.push_back({config.time_csv, time_csv(results)});
  if (has_exact(results)) tables.push_back({config.distance_csv, distance_csv(results)});
  return tables;
}

void remove_partial(const std::string& path) {
  std::error_code ignored;
  fs::remove(partial_name(path), ignored);
}

}  // namespace

std::vector<std::string> result_paths(const PreparedRun& plan, const RunConfig& config) {
  std::vector<std::string> paths{config.output_csv, config.bucket_csv, config.component_csv};
  if (has_time_table(config)) paths.push_back(config.time_csv);
  if (plan.rotation) paths.push_back(config.distance_csv);
  paths.push_back(run_json_path(config));
  return paths;
}

void check_outputs(const PreparedRun& plan, const RunConfig& config) {
  for (const std::string& path : result_paths(plan, config)) check_writable(path);
}

std::vector<std::string> write_results(const PreparedRun& plan, const RunConfig& config, const RunResult& run,
                                       const RunResources& resources) {
  const auto name = [&](const std::string& path) { return run.interrupted ? partial_name(path).string() : path; };
  OutputFiles output;
  std::vector<std::string> files;
  if (!run.results.empty()) {
    for (const Table& table : tables(config, run.results)) {
      files.push_back(name(table.path));
      output.stage(files.back(), table.text);
    }
  }
  files.push_back(name(run_json_path(config)));
  output.stage(files.back(), run_json(plan, config, run, files, resources));
  output.commit();
  if (!run.interrupted && !run.results.empty()) {
    for (const std::string& path : result_paths(plan, config)) remove_partial(path);
  }
  return files;
}

}  // namespace attention_plasticity
