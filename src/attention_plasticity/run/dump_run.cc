#include "attention_plasticity/run/dump_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "attention_plasticity/error.h"
#include "attention_plasticity/outcomes/run_manifest.h"

namespace attention_plasticity {

DumpRun::DumpRun(RunConfig config, const HubSettings& hub, const std::stop_token& stop, std::optional<Shard> shard)
    : config_(std::move(config)), shard_(shard) {
  if (config_.dataset_local_root) {
    prepared_ = prepare_run(config_);
    return;
  }
  dump_ = std::make_unique<HubDump>(config_, hub, stop);
  prepared_ = prepare_run(config_, dump_on_hub(*dump_, config_));
  missing_ = dump_->missing(sides_to_read(), stop);
}

std::vector<HeadTask> DumpRun::tasks() const { return shard_ ? shard_tasks(prepared_, *shard_) : prepared_.tasks; }

std::vector<HeadSide> DumpRun::sides_to_read() const {
  std::vector<HeadSide> sides = deciding_sides(prepared_, config_);
  const std::vector<HeadSide> measured = sides_of(tasks());
  sides.insert(sides.end(), measured.begin(), measured.end());
  std::set<HeadSide> seen;
  std::erase_if(sides, [&](const HeadSide& side) { return !seen.insert(side).second; });
  return sides;
}

std::vector<std::string> DumpRun::notes() const {
  std::vector<std::string> all = dump_ ? dump_->notes() : std::vector<std::string>{};
  all.insert(all.end(), prepared_.notes.begin(), prepared_.notes.end());
  return all;
}

std::string DumpRun::missing_files() const {
  return missing_.empty() ? "" : described_files(dump_->snapshot(), missing_);
}

void DumpRun::decide_rotation(const RunObserver& observer, const std::stop_token& stop) {
  attention_plasticity::decide_rotation(prepared_, config_, serialized(observer), stop);
}

void DumpRun::decide(const RunObserver& observer, const std::stop_token& stop) {
  attention_plasticity::decide(prepared_, config_, serialized(observer), stop);
}

void DumpRun::begin(const RunObserver& told, const std::stop_token& stop,
                    const std::optional<SavedHeads::Options>& save) {
  for (const std::string& note : notes()) told.note(note);
  for (const std::string& warning : prepared_.warnings) told.warning(warning);
  if (dump_ && !(save && save->resume)) {
    // While the run is decided, the other files arrive.
    prepared_.source->expect(sides_to_read(), told, stop);
  }
  attention_plasticity::decide(prepared_, config_, told, stop);
  if (save) saved_ = std::make_unique<SavedHeads>(*save, prepared_, config_, told);
}

// The files of all heads, before other processes read them.
void DumpRun::fetch_all(const RunObserver& told, const std::stop_token& stop) {
  std::vector<HeadTask> tasks = prepared_.tasks;
  if (saved_) saved_->remove_saved(tasks);
  prepared_.source->expect(sides_of(tasks), told, stop);
  for (HeadTask& task : tasks) prepared_.source->wait_for(task);
  prepared_.source->end();
  for (HeadTask& task : prepared_.tasks) {  // with the memory that the files need
    const auto fetched = std::ranges::find(tasks, task.head, &HeadTask::head);
    if (fetched != tasks.end()) task = *fetched;
  }
}

RunResult DumpRun::measure(int workers, const RunObserver& observer, const std::stop_token& stop,
                           const std::optional<SavedHeads::Options>& save, const Engine& engine, EngineCost* cost) {
  const RunObserver told = serialized(observer);
  begin(told, stop, save);
  const MeasureOptions options{workers, stop, saved_.get()};
  if (!engine) {
    return conclude(measure_tasks(prepared_, config_, prepared_.tasks, options, told), prepared_, config_, told);
  }
  if (dump_) fetch_all(told, stop);
  EngineCost own;
  HeadOutcomes outcomes = measure_by_engine(prepared_, config_, options, told, engine, own);
  const std::string simd = fmt::format("{}", fmt::join(own.simd, ", "));
  if (!simd.empty()) prepared_.recorded_simd = simd;
  if (own.simd.size() > 1) {
    told.warning(
        fmt::format("heads were measured with different instruction sets ({}): their figures agree to about 12 digits "
                    "with those of one machine, not to the last",
                    simd));
  }
  if (cost != nullptr) *cost = std::move(own);
  return conclude(std::move(outcomes), prepared_, config_, told);
}

HeadOutcomes DumpRun::measure_shard(int workers, const RunObserver& observer, const std::stop_token& stop,
                                    const SavedHeads::Options& save) {
  const RunObserver told = serialized(observer);
  begin(told, stop, save);
  HeadOutcomes outcomes = measure_tasks(prepared_, config_, tasks(), {workers, stop, saved_.get()}, told);
  if (outcomes.interrupted) return outcomes;
  saved_->write_manifest(manifest_text(prepared_, config_));  // with all files, which may have been on the Hub before
  if (saved_->has_failed()) {
    throw Error(ErrorKind::output, "not all heads of the shard could be saved; go on with `resume`",
                save.folder.string());
  }
  return outcomes;
}

PreparedRun DumpRun::take_prepared() {
  prepared_.known_files = recorded_files(prepared_);
  prepared_.source.reset();
  return std::move(prepared_);
}

void DumpRun::remove_saved() {
  if (saved_) saved_->remove();
}

}  // namespace attention_plasticity
