#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "attention_plasticity/base/stop_scope.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/cli/commands.h"
#include "attention_plasticity/cli/fetching.h"
#include "attention_plasticity/cli/signals.h"
#include "attention_plasticity/cli/terminal.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/options/config_fields.h"
#include "attention_plasticity/source/hub_dump.h"
#include "attention_plasticity/source/prepared_run.h"

namespace attention_plasticity {
namespace {

constexpr auto between_looks = std::chrono::milliseconds(100);

struct DownloadFlags {
  bool dry_run = false;
  bool quiet = false;
  bool progress = true;
};

const FieldTable<DownloadFlags>& download_table() {
  static const FieldTable<DownloadFlags> table{
      {"dry_run", values::boolean(), &DownloadFlags::dry_run,
       "List the missing files; only the files that describe the dump are fetched."},
      {"quiet", values::boolean(), &DownloadFlags::quiet, "Print errors and the folder only."},
      {"progress", values::boolean(), &DownloadFlags::progress,
       "Redraw a progress bar on a terminal; --no-progress prints a line for each file."},
  };
  return table;
}

// The fields of a run that decide which files it needs and where they go.
constexpr std::string_view used_fields[]{"model_dir",   "num_layers", "num_q_heads",       "num_k_heads",
                                         "layers",      "q_heads",    "dataset_cache_dir", "download_max_workers",
                                         "verify_cache"};

// --revision is short for --dataset_revision.
Field revision_flag() {
  Field flag = *find_field(config_fields(), "dataset_revision");
  flag.name = "revision";
  flag.help = "Branch, tag or commit of the dataset.";
  return flag;
}

RunConfig config_of(const Arguments& arguments) {
  std::vector<Setting> settings = configured_settings(arguments, config_fields());
  if (arguments.positionals.size() > 1 || (arguments.positionals.empty() && !arguments.value("config"))) {
    throw Error(ErrorKind::usage, "download takes one dataset: attention-plasticity download ORG/NAME");
  }
  if (!arguments.positionals.empty()) settings.push_back({"dataset_name", arguments.positionals.front(), "ORG/NAME"});
  for (const Setting& flag : arguments.flags) {
    if (flag.field == "revision") settings.push_back({"dataset_revision", flag.value, flag.where});
  }
  return resolve_config(settings);
}

void print_files(const HubDump& dump, const PreparedRun& prepared, const std::vector<RepoFile>& missing) {
  for (const RepoFile& file : missing) print(fmt::format("{:>12}  {}\n", size_text(file.size), file.path));
  print(fmt::format("to fetch: {}\n", described_files(dump.snapshot(), missing)));
  print(fmt::format("heads: {}; selected but not captured: {}\n", prepared.tasks.size(), prepared.skipped));
  print(fmt::format("folder: {}\n", dump.snapshot().folder().string()));
}

int download(const DownloadFlags& flags, const RunConfig& config, const std::stop_token& stop) {
  const Terminal terminal = Terminal::of_standard_error();
  Progress progress(verbosity_of(flags.quiet, flags.progress, terminal), terminal, "files");
  HubDump dump(config, process_hub_settings(), stop);
  const PreparedRun prepared = prepare_run(config, dump_on_hub(dump, config));
  for (const std::string& note : dump.notes()) progress.note(note);
  for (const std::string& note : prepared.notes) progress.note(note);
  for (const std::string& warning : prepared.warnings) progress.warning(warning);
  std::vector<RepoFile> missing = dump.missing(sides_of(prepared.tasks), stop);
  if (flags.dry_run) {
    print_files(dump, prepared, missing);
    return 0;
  }
  if (missing.empty()) {
    progress.note(fmt::format("all files of {} heads are in the cache already", prepared.tasks.size()));
  } else {
    progress.note(fmt::format("fetching {}", described_files(dump.snapshot(), missing)));
    DownloadDisplay display(progress);
    Downloads downloads(
        dump.snapshot(), std::move(missing), config.download_max_workers,
        {[&](const RepoFile& file, const DownloadProgress& now) {
           progress.line(fmt::format("[{}/{}] {} {}", now.files, now.all_files, file.path, size_text(file.size)));
         },
         [&](const std::string& note) { progress.note(note); }},
        stop);
    while (!downloads.wait_for_all(between_looks)) display.show_alone(downloads.progress());
  }
  print(fmt::format("{}\n", dump.snapshot().folder().string()));
  return 0;
}

}  // namespace

Command download_command() {
  Command command{"download",
                  "ORG/NAME",
                  "Fetch a dump, or part of it, from the Hugging Face Hub into its cache, and print the folder.",
                  {}};
  command.flags = {revision_flag(), config_flag("YAML file of a run, to fetch what it needs; flags win over it.")};
  for (const Field& flag : download_table()) command.flags.push_back(flag);
  for (const std::string_view name : used_fields) command.flags.push_back(*find_field(config_fields(), name));
  command.examples = {
      {"attention-plasticity download ORG/NAME --revision BRANCH --layers 0-3 --dry-run", "See what would be fetched."},
      {"attention-plasticity inspect \"$(attention-plasticity download ORG/NAME -q)\"", "Fetch a dump and look at it."},
  };
  return command;
}

int run_download(const Arguments& arguments) {
  const DownloadFlags flags = options_of(download_table(), arguments);
  RunConfig config = config_of(arguments);
  // A download does not need the rotation, and must not complain that it is unknown.
  config.analysis.num_triples = 0;
  StopOnSignal interruption([] { tell("stopping; downloaded data is kept, and the next run continues from there\n"); });
  try {
    return download(flags, config, interruption.token());
  } catch (const Stopped&) {
    return 128 + interruption.signal();
  }
}

}  // namespace attention_plasticity
