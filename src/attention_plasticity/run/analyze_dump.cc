#include "attention_plasticity/analyze_dump.h"

#include <exception>
#include <utility>

#include "attention_plasticity/base/stop_scope.h"
#include "attention_plasticity/base/usable_cores.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/run/analyze_dump_by.h"
#include "attention_plasticity/run/config.h"
#include "attention_plasticity/run/dump_run.h"
#include "attention_plasticity/run/result_tables.h"
#include "attention_plasticity/run/results.h"
#include "attention_plasticity/run/summary.h"

namespace attention_plasticity {

/// What an AnalyzedDump shows, and what it needs to write its files.
struct DumpRunState {
  DumpSource source;
  RunOptions options;
  RunConfig config;
  PreparedRun prepared;
  RunResult run;

  RunParts parts() const { return run_parts(run.results, config); }
  static AnalyzedDump shown(std::shared_ptr<const DumpRunState> state) { return AnalyzedDump(std::move(state)); }
};

namespace {

HubSettings hub_of(const DumpSource& source) {
  const auto* dataset = std::get_if<HubDataset>(&source);
  return dataset != nullptr ? dataset->settings : HubSettings{};
}

int workers_of(const RunConfig& config) { return config.max_workers.value_or(usable_cores()); }

}  // namespace

AnalyzedDump::AnalyzedDump(std::shared_ptr<const DumpRunState> state) : state_(std::move(state)) {}

const std::string& AnalyzedDump::model_name() const { return state_->prepared.model_name; }
const std::vector<HeadResult>& AnalyzedDump::heads() const { return state_->run.results; }
const std::vector<HeadFailure>& AnalyzedDump::failures() const { return state_->run.failures; }
std::size_t AnalyzedDump::not_captured() const { return state_->prepared.skipped; }
bool AnalyzedDump::interrupted() const { return state_->run.interrupted; }

ModelMean AnalyzedDump::model_mean(std::string_view column) const {
  if (result_table(TableId::metrics).find(column) == nullptr) {
    throw Error(ErrorKind::usage, "head_metrics.csv has no column " + std::string(column));
  }
  const std::vector<double> no_groups;
  const ModelSummary model = summarize_model(
      column, state_->run.results, is_headline(column) ? state_->run.model_without_group.of(column) : no_groups);
  return {model.heads, model.mean, model.error};
}

Table AnalyzedDump::table(TableId table) const {
  return table_of(table, state_->run.results, state_->parts(), state_->run.without_group);
}

std::vector<std::filesystem::path> AnalyzedDump::save(const std::filesystem::path& folder,
                                                      const SaveOptions& options) const {
  RunConfig config = resolve_config(state_->source, state_->options, folder.string());
  config.overwrite = options.overwrite;
  const std::vector<FolderLock> locks = lock_outputs(state_->prepared, config);
  check_outputs(state_->prepared, config);
  const std::vector<std::string> files = write_results(state_->prepared, config, state_->run, options.resources);
  return {files.begin(), files.end()};
}

AnalyzedDump analyze_dump(const DumpSource& source, const RunOptions& options, const RunObserver& observer,
                          const std::stop_token& stop) {
  CostElsewhere none;
  return analyze_dump_by({}, source, options, observer, stop, none);
}

AnalyzedDump analyze_dump_by(const PartEngine& engine, const DumpSource& source, const RunOptions& options,
                             const RunObserver& observer, const std::stop_token& stop, CostElsewhere& cost) {
  auto state = std::make_shared<DumpRunState>();
  state->source = source;
  state->options = options;
  state->config = resolve_config(source, options);
  try {
    DumpRun run(state->config, hub_of(source), stop);
    std::optional<KeepOptions> keep;
    if (options.kept_heads) keep = KeepOptions{*options.kept_heads, true};
    const int workers = workers_of(state->config);
    state->run = engine ? run.measure_by(engine, workers, observer, stop, cost, keep)
                        : run.measure(workers, observer, stop, keep);
    state->prepared = run.prepared();
  } catch (const Stopped&) {
    state->run.interrupted = true;
  }
  if (state->run.failure) std::rethrow_exception(state->run.failure);
  return DumpRunState::shown(std::move(state));
}

}  // namespace attention_plasticity
