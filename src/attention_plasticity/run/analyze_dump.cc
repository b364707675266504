#include "attention_plasticity/analyze_dump.h"

#include <exception>
#include <utility>

#include "attention_plasticity/base/stop_scope.h"
#include "attention_plasticity/base/usable_cores.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/options/config.h"
#include "attention_plasticity/results/summary.h"
#include "attention_plasticity/run/analyze_dump_by.h"
#include "attention_plasticity/run/dump_run.h"
#include "attention_plasticity/run/finished_run.h"
#include "attention_plasticity/run/results.h"

namespace attention_plasticity {

/// The run that an AnalyzedDump shows and writes.
struct DumpRunState : FinishedRun {
  static AnalyzedDump shown(FinishedRun run) {
    return AnalyzedDump(std::make_shared<const DumpRunState>(DumpRunState{std::move(run)}));
  }
};

namespace {

HubSettings hub_of(const DumpSource& source) {
  const auto* dataset = std::get_if<HubDataset>(&source);
  return dataset != nullptr ? dataset->settings : HubSettings{};
}

}  // namespace

AnalyzedDump analyzed(FinishedRun run) { return DumpRunState::shown(std::move(run)); }

AnalyzedDump::AnalyzedDump(std::shared_ptr<const DumpRunState> state) : state_(std::move(state)) {}

const std::string& AnalyzedDump::model_name() const { return state_->prepared.model_name; }
const std::vector<HeadResult>& AnalyzedDump::heads() const { return state_->result.results; }
const std::vector<HeadFailure>& AnalyzedDump::failures() const { return state_->result.failures; }
std::size_t AnalyzedDump::not_captured() const { return state_->prepared.skipped; }
bool AnalyzedDump::interrupted() const { return state_->result.interrupted; }

ModelMean AnalyzedDump::model_mean(std::string_view column) const {
  if (result_table(TableId::metrics).find(column) == nullptr) {
    throw Error(ErrorKind::usage, "head_metrics.csv has no column " + std::string(column));
  }
  const RunResult& run = state_->result;
  const std::vector<double> no_groups;
  const ModelSummary model =
      summarize_model(column, run.results, is_headline(column) ? run.model_without_group.of(column) : no_groups);
  return {model.heads, model.mean, model.error};
}

Table AnalyzedDump::table(TableId table) const {
  const RunResult& run = state_->result;
  return table_of(table, run.results, written_columns(run.results, state_->config), run.without_group);
}

std::vector<std::filesystem::path> AnalyzedDump::save(const std::filesystem::path& folder,
                                                      const SaveOptions& options) const {
  RunConfig config = with_output_dir(state_->config, folder.string());
  config.overwrite = options.overwrite;
  const std::vector<FolderLock> locks = lock_outputs(state_->prepared, config);
  check_outputs(state_->prepared, config);
  const std::vector<std::string> files = write_results(state_->prepared, config, state_->result, options.resources);
  return {files.begin(), files.end()};
}

AnalyzedDump analyze_dump(const DumpSource& source, const RunOptions& options, const RunObserver& observer,
                          const std::stop_token& stop) {
  EngineCost none;
  return analyze_dump_by({}, source, options, observer, stop, none);
}

AnalyzedDump analyze_dump_by(const Engine& engine, const DumpSource& source, const RunOptions& options,
                             const RunObserver& observer, const std::stop_token& stop, EngineCost& cost) {
  FinishedRun finished{resolve_config(source, options), {}, {}};
  try {
    DumpRun run(finished.config, hub_of(source), stop);
    std::optional<SavedHeads::Options> save;
    if (options.saved_heads) save = SavedHeads::Options{*options.saved_heads, true};
    finished.result =
        run.measure(finished.config.max_workers.value_or(usable_cores()), observer, stop, save, engine, &cost);
    finished.prepared = run.take_prepared();
  } catch (const Stopped&) {
    finished.result.interrupted = true;
  }
  if (finished.result.failure) std::rethrow_exception(finished.result.failure);
  return analyzed(std::move(finished));
}

}  // namespace attention_plasticity
