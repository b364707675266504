#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <vector>

#include "attention_plasticity/cli/commands.h"
#include "attention_plasticity/cli/machine.h"
#include "attention_plasticity/cli/output_locks.h"
#include "attention_plasticity/cli/progress.h"
#include "attention_plasticity/cli/run_summary.h"
#include "attention_plasticity/cli/terminal.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/run/merged_run.h"
#include "attention_plasticity/run/results.h"

namespace attention_plasticity {
namespace {

struct MergeFlags {
  bool overwrite = false;
  std::optional<std::string> labels;
  bool quiet = false;
};

const FieldTable<MergeFlags>& merge_table() {
  static const FieldTable<MergeFlags> table{
      {"overwrite", values::boolean(), &MergeFlags::overwrite, "Replace results of another dump or model in OUT."},
      {"labels", values::any_text(), &MergeFlags::labels,
       "Known roles of heads, printed beside the most and least plastic heads.", "none"},
      {"quiet", values::boolean(), &MergeFlags::quiet, "Print failures and warnings only."},
  };
  return table;
}

}  // namespace

Command merge_command() {
  return {"merge",
          "OUT SHARD...",
          "Merge the shards of a run: the tables and run.json of one run.",
          descriptions(merge_table()),
          {{"attention-plasticity merge out/merged out/shard-1 out/shard-2",
            "Write the results of a run whose shards were measured with analyze --shard."}}};
}

int run_merge(const Arguments& arguments) {
  const auto start = std::chrono::steady_clock::now();
  const MergeFlags flags = options_of(merge_table(), arguments);
  if (arguments.positionals.size() < 2) {
    throw Error(ErrorKind::usage,
                "merge needs a folder for the results and the folders of all shards: attention-plasticity merge OUT "
                "SHARD...");
  }
  const std::vector<std::filesystem::path> shards(arguments.positionals.begin() + 1, arguments.positionals.end());
  const Terminal terminal = Terminal::of_standard_error();
  Progress progress(verbosity_of(flags.quiet, false, terminal), terminal, "heads");
  RunResources resources;
  const auto [config, prepared, result] = merge_shards(shards, arguments.positionals.front(), flags.overwrite,
                                                       {{},
                                                        [&](const std::string& note) { progress.note(note); },
                                                        [&](const std::string& warning) { progress.warning(warning); },
                                                        {}},
                                                       resources);
  const std::vector<FolderLock> locks = locked_outputs(result_paths(prepared, config));
  check_outputs(prepared, config);
  resources.workers = 1;
  resources.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  resources.cpu_s += cpu_seconds();
  resources.peak_rss_bytes = std::max(resources.peak_rss_bytes, peak_rss_bytes());
  const RunSummary summary = summarize_run(result, config);
  const std::vector<std::string> files = write_results(prepared, config, result, summary, resources);
  if (result.results.empty()) {
    throw Error(ErrorKind::input, fmt::format("every head failed; {} lists why", files.back()));
  }
  if (!flags.quiet) {
    // Labels beside the dump are not looked for: a shard does not decide which files are read.
    std::vector<std::string> notes;
    std::optional<HeadLabels> labels;
    if (flags.labels) labels = find_labels(flags.labels, prepared, notes);
    for (const std::string& note : notes) progress.note(note);
    print_summary(prepared, result, summary, files, labels);
  }
  return exit_code_of(result);
}

}  // namespace attention_plasticity
