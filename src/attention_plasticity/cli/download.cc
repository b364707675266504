#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "attention_plasticity/base/error.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/cli/commands.h"
#include "attention_plasticity/cli/config_flag.h"
#include "attention_plasticity/cli/fetching.h"
#include "attention_plasticity/cli/run_settings.h"
#include "attention_plasticity/cli/signals.h"
#include "attention_plasticity/cli/terminal.h"
#include "attention_plasticity/hub/http.h"
#include "attention_plasticity/run/config_fields.h"

namespace attention_plasticity {
namespace {

// What decides which files a run needs, and where they go.
constexpr std::string_view used_fields[]{"model_dir", "num_layers", "num_q_heads",       "num_k_heads",
                                         "layers",    "q_heads",    "dataset_cache_dir", "download_max_workers"};

RunConfig config_of(const Arguments& arguments) {
  std::vector<Setting> settings = run_settings(arguments);
  if (arguments.positionals().size() > 1 || (arguments.positionals().empty() && !arguments.value("config"))) {
    throw Error(ErrorKind::usage, "download takes one dataset: attention-plasticity download ORG/NAME");
  }
  if (!arguments.positionals().empty()) {
    settings.push_back({"dataset_name", arguments.positionals().front(), "ORG/NAME"});
  }
  if (const auto revision = arguments.value("revision"))
    settings.push_back({"dataset_revision", revision, "--revision"});
  return resolve_config(settings);
}

void print_files(const HubDump& dump, const RunPlan& plan, const std::vector<RepoFile>& missing) {
  for (const RepoFile& file : missing) fmt::print("{:>12}  {}\n", size_text(file.size), file.path);
  fmt::print("to fetch: {}\n", described_files(dump.snapshot(), missing));
  fmt::print("heads: {}; selected but not captured: {}\n", plan.tasks.size(), plan.skipped);
  fmt::print("folder: {}\n", dump.snapshot().folder().string());
}

int download(const Arguments& arguments, const RunConfig& config, const std::stop_token& stop) {
  const Terminal terminal = Terminal::of_standard_error();
  Progress progress(verbosity_of(arguments, terminal), terminal, "files");
  HubDump dump(config, process_hub_settings(), stop);
  const RunPlan plan = make_plan(config, dump.source());
  for (const std::string& note : dump.notes()) progress.note(note);
  for (const std::string& note : plan.notes) progress.note(note);
  std::vector<RepoFile> missing = dump.missing_files(plan, stop);
  if (arguments.is_on("dry_run")) {
    print_files(dump, plan, missing);
    return 0;
  }
  if (missing.empty()) {
    progress.note(fmt::format("all files of {} heads are in the cache already", plan.tasks.size()));
  } else {
    progress.note(fmt::format("fetching {}", described_files(dump.snapshot(), missing)));
    Fetching(dump, std::move(missing), config.download_max_workers, progress, Fetching::Shown::alone, stop)
        .wait_for_all();
  }
  fmt::print("{}\n", dump.snapshot().folder().string());
  return 0;
}

}  // namespace

Command download_command() {
  Command command{"download",
                  "ORG/NAME",
                  "Fetch a dump, or part of it, from the Hugging Face Hub into its cache, and print the folder.",
                  {}};
  command.flags = {
      {"revision", "TEXT", "branch, tag or commit (default: main)"},
      {"config", "FILE", "YAML file of a run: fetch what it needs; flags win over it"},
      {"dry_run", "", "list the files that are missing; only those that describe the dump are fetched"},
      {"quiet", "", "print errors and the folder only"},
      {"progress", "", "redraw a progress bar on a terminal (default true); --no-progress: a line for each file"},
  };
  for (const ConfigField& field : config_fields()) {
    if (std::ranges::find(used_fields, field.name) != std::end(used_fields))
      command.flags.push_back(config_flag(field));
  }
  return command;
}

int run_download(const Arguments& arguments) {
  RunConfig config = config_of(arguments);
  // The rotation is of no concern here, nor that it may be unknown.
  config.analysis.num_triples = 0;
  StopOnSignal interruption([] { tell("stopping; what has arrived stays, and the next run goes on from there\n"); });
  try {
    return download(arguments, config, interruption.token());
  } catch (const Stopped&) {
    return 128 + interruption.signal();
  }
}

}  // namespace attention_plasticity
