#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <vector>

#include "attention_plasticity/base/usable_cores.h"
#include "attention_plasticity/cli/commands.h"
#include "attention_plasticity/cli/machine.h"
#include "attention_plasticity/cli/output_locks.h"
#include "attention_plasticity/cli/progress.h"
#include "attention_plasticity/cli/run_summary.h"
#include "attention_plasticity/cli/signals.h"
#include "attention_plasticity/cli/terminal.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/run/merged_run.h"
#include "attention_plasticity/run/results.h"

namespace attention_plasticity {
namespace {

struct MergeFlags {
  std::optional<std::string> dataset_local_root;
  bool overwrite = false;
  std::optional<int> max_workers;
  std::optional<std::string> labels;
  bool quiet = false;
};

const FieldTable<MergeFlags>& merge_table() {
  static const FieldTable<MergeFlags> table{
      {"dataset_local_root", values::any_text(), &MergeFlags::dataset_local_root,
       "The dump, if it is not where the shards found it. It is read where heads must be measured again, and to check "
       "the rotation.",
       "where the shards found it"},
      {"overwrite", values::boolean(), &MergeFlags::overwrite, "Replace results of another dump or model in OUT."},
      {"max_workers", values::count(), &MergeFlags::max_workers, "Heads measured again at a time.",
       "one per core the process may use"},
      {"labels", values::any_text(), &MergeFlags::labels,
       "Known roles of heads, printed beside the most and least plastic heads.", "head_labels.csv in the dump"},
      {"quiet", values::boolean(), &MergeFlags::quiet, "Print failures and warnings only."},
  };
  return table;
}

}  // namespace

Command merge_command() {
  return {"merge",
          "OUT SHARD...",
          "Put the shards of a run together: the tables and run.json of one run.",
          descriptions(merge_table()),
          {{"attention-plasticity merge out/merged out/shard-1 out/shard-2",
            "Write the results of a run whose parts were measured with analyze --shard."}}};
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
  const int workers = flags.max_workers.value_or(usable_cores());
  const Terminal terminal = Terminal::of_standard_error();
  const StopOnSignal interruption([] {});
  MergedRun run(shards, {arguments.positionals.front(), flags.overwrite, flags.dataset_local_root, workers});
  const std::vector<FolderLock> locks = locked_outputs(result_paths(run.prepared(), run.config()));
  check_outputs(run.prepared(), run.config());
  Progress progress(verbosity_of(flags.quiet, false, terminal), terminal, "heads");
  const RunResult result = run.result({{},
                                       [&](const std::string& note) { progress.note(note); },
                                       [&](const std::string& warning) { progress.warning(warning); },
                                       {}},
                                      interruption.token());
  if (result.interrupted) {
    tell("interrupted: nothing was written; merge again\n");
    return 128 + interruption.signal();
  }
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const std::vector<std::string> files = write_results(run.prepared(), run.config(), result,
                                                       run.resources({workers, wall, cpu_seconds(), peak_rss_bytes()}));
  if (result.results.empty()) {
    throw Error(ErrorKind::input, fmt::format("every head failed; {} lists why", files.back()));
  }
  if (!flags.quiet) {
    std::vector<std::string> notes;
    const std::optional<HeadLabels> labels = find_labels(flags.labels, run.prepared(), notes);
    for (const std::string& note : notes) progress.note(note);
    print_summary(run.prepared(), run.config(), result, files, labels);
  }
  return exit_code_of(result);
}

}  // namespace attention_plasticity
