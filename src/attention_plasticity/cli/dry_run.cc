#include "attention_plasticity/cli/dry_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/cli/terminal.h"
#include "attention_plasticity/options/config_fields.h"
#include "attention_plasticity/run/results.h"

namespace attention_plasticity {
namespace {

// Layers whose files do not tell their width are left out.
void print_rotation(const PreparedRun& prepared) {
  if (!prepared.rotation) {
    print("# rotation: not known\n");
    return;
  }
  std::map<int, std::size_t> width_of_layer;
  for (const HeadTask& task : prepared.tasks) {
    if (task.width > 0) width_of_layer[task.head.layer] = task.width;
  }
  const auto groups = layers_by_rotation(*prepared.rotation, width_of_layer);
  for (const LayersOfRotation& group : groups) {
    print(fmt::format("# rotation: {}{}\n", group.rotation,
                      groups.size() == 1 ? "" : fmt::format(" (layers {})", fmt::join(group.layers, ", "))));
  }
}

// What a store holds of the heads to analyse. Of a file, only the needed columns are read.
void print_stored_size(const PreparedRun& prepared) {
  std::uint64_t bytes = 0;
  const std::vector<RecordedFile> files = recorded_files(prepared);
  for (const RecordedFile& file : files) bytes += file.bytes;
  print(fmt::format("# to read: at most {} in {}\n", size_text(bytes), counted_text(files.size(), "file")));
}

// The configuration names the folder on disk, which is not made.
std::string shown_config(const RunConfig& config, const StoredOutput* output) {
  std::string text = config_text(config);
  if (output == nullptr) return text;
  const std::string folder = output->folder().string();
  const std::size_t at = text.find(folder);
  if (at != std::string::npos) text.replace(at, folder.size(), output->store().address().recorded());
  return text;
}

}  // namespace

void check_earlier_output(const PreparedRun& prepared, const RunConfig& config, const StoredOutput* output) {
  if (output == nullptr) {
    check_earlier_results(prepared, config);
  } else if (const std::optional<std::string> earlier = output->run_json()) {
    check_earlier_results(prepared, config, *earlier, output->store().shown("run.json"));
  }
}

void print_dry_run(const PreparedRun& prepared, const RunConfig& config, const DryRun& run) {
  const auto writes = [&](const std::string& file) {
    print(fmt::format("# writes: {}\n", run.output == nullptr ? file : run.output->shown(file)));
  };
  print(shown_config(config, run.output));
  print("\n# Plan\n");
  print(fmt::format("# model: {}, {} layers, {} query heads, {} key heads\n", shown_text(prepared.model_name),
                    prepared.grid.num_layers, prepared.grid.num_q_heads, prepared.grid.num_k_heads));
  print(fmt::format("# dump: {}\n", prepared.layout.folder.string()));
  if (!run.to_fetch.empty()) print(fmt::format("# to fetch: {}\n", run.to_fetch));
  if (prepared.layout.files().are_remote()) print_stored_size(prepared);
  print(
      fmt::format("# heads to analyse: {}; selected but not captured: {}\n", prepared.tasks.size(), prepared.skipped));
  if (run.shard) {
    print(fmt::format("# heads of shard {}: {}\n", run.shard->text(), shard_tasks(prepared, *run.shard).size()));
  }
  if (config.analysis.num_triples > 0) print_rotation(prepared);
  print(fmt::format("# workers: {}\n", run.workers));
  std::uint64_t largest = 0;
  for (const HeadTask& task : prepared.tasks) largest = std::max(largest, task.query_bytes + task.key_bytes);
  print(fmt::format("# memory for the largest head: about {:.1f} MiB\n", static_cast<double>(largest) / (1 << 20)));
  if (run.shard) {
    writes(shard_json_path(config));
    return;
  }
  for (const std::string& path : result_paths(prepared, config)) writes(path);
}

}  // namespace attention_plasticity
