#include "attention_plasticity/run/dump_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "attention_plasticity/base/printable.h"
#include "attention_plasticity/run/fetching.h"

namespace attention_plasticity {
namespace {

// An observer whose functions can all be called, one at a time, from any thread. Lines are made printable.
RunObserver serialized(const RunObserver& observer, std::mutex& mutex) {
  const auto one_at_a_time = [&mutex](const auto& function) {
    return [&mutex, &function](const auto& event) {
      const std::scoped_lock lock(mutex);
      if (function) function(event);
    };
  };
  const auto printable = [&mutex](const std::function<void(const std::string&)>& function) {
    return [&mutex, &function](const std::string& line) {
      const std::scoped_lock lock(mutex);
      if (function) function(printable_text(line));
    };
  };
  return {one_at_a_time(observer.head_ended), printable(observer.note), printable(observer.warning),
          one_at_a_time(observer.downloading)};
}

// Those of `lines` that were not told before.
void tell_new(const std::vector<std::string>& lines, const std::vector<std::string>& before,
              const std::function<void(const std::string&)>& tell) {
  for (const std::string& line : lines) {
    if (std::ranges::find(before, line) == before.end()) tell(line);
  }
}

}  // namespace

DumpRun::DumpRun(RunConfig config, const HubSettings& hub, const std::stop_token& stop, RunPart part)
    : config_(std::move(config)), part_(std::move(part)) {
  if (!config_.dataset_local_root) dump_ = std::make_unique<HubDump>(config_, hub, stop);
  prepared_ = prepare();
  if (part_.plan) part_.plan->check(prepared_, config_);
  if (dump_) missing_ = dump_->missing_files(prepared_.needs_all_files ? prepared_.tasks : tasks(), stop);
}

PreparedRun DumpRun::prepare() const {
  std::optional<PreparedRun> planned;
  if (part_.plan) planned = part_.plan->run();
  const PreparedRun* decided = planned ? &*planned : nullptr;
  return dump_ ? prepare_run(config_, dump_->source(), decided) : prepare_run(config_, decided);
}

std::vector<HeadTask> DumpRun::tasks() const {
  return part_.shard ? shard_tasks(prepared_, *part_.shard) : prepared_.tasks;
}

std::vector<std::string> DumpRun::notes() const {
  std::vector<std::string> all = dump_ ? dump_->notes() : std::vector<std::string>{};
  all.insert(all.end(), prepared_.notes.begin(), prepared_.notes.end());
  return all;
}

std::string DumpRun::missing_files() const {
  return missing_.empty() ? "" : described_files(dump_->snapshot(), missing_);
}

void DumpRun::fetch_all(const RunObserver& told, const std::stop_token& stop) {
  told.note("fetching " + missing_files());
  Fetching fetching(*dump_, std::exchange(missing_, {}), config_.download_max_workers, {{}, told.note}, stop);
  fetching.wait_for_all(told.downloading);
}

void DumpRun::begin(const RunObserver& told, const std::stop_token& stop, const std::optional<KeepOptions>& keep) {
  for (const std::string& note : notes()) told.note(note);
  for (const std::string& warning : prepared_.warnings) told.warning(warning);
  if (prepared_.needs_all_files && !missing_.empty()) {
    fetch_all(told, stop);
    const PreparedRun before = std::exchange(prepared_, prepare());
    tell_new(prepared_.notes, before.notes, told.note);
    tell_new(prepared_.warnings, before.warnings, told.warning);
  }
  if (keep) kept_ = std::make_unique<KeptHeads>(*keep, prepared_, config_, told);
}

void DumpRun::with_files(std::span<const HeadTask> tasks, int workers, const RunObserver& told,
                         const std::stop_token& stop, const std::function<void(const RunMeans&)>& work) {
  if (kept_ && !missing_.empty()) {
    std::vector<HeadTask> still(tasks.begin(), tasks.end());
    std::erase_if(still, [&](const HeadTask& task) { return kept_->found().contains(task.head); });
    missing_ = dump_->missing_files(still, stop);
  }
  RunMeans means{workers, stop, {}, kept_.get()};
  if (missing_.empty()) {
    work(means);
    return;
  }
  told.note("fetching " + missing_files());
  Fetching fetching(*dump_, missing_, config_.download_max_workers, {{}, told.note}, stop);
  const std::jthread watcher([&](const std::stop_token& done) { watch(fetching, told.downloading, done); });
  means.arrive = [&](const HeadTask& task) { fetching.wait_for(task); };
  work(means);
}

RunResult DumpRun::measure(int workers, const RunObserver& observer, const std::stop_token& stop,
                           const std::optional<KeepOptions>& keep) {
  std::mutex mutex;
  const RunObserver told = serialized(observer, mutex);
  begin(told, stop, keep);
  RunResult result;
  with_files(prepared_.tasks, workers, told, stop,
             [&](const RunMeans& means) { result = run_analysis(prepared_, config_, means, told); });
  return result;
}

RunResult DumpRun::measure_by(const PartEngine& engine, int workers, const RunObserver& observer,
                              const std::stop_token& stop, CostElsewhere& cost,
                              const std::optional<KeepOptions>& keep) {
  std::mutex mutex;
  const RunObserver told = serialized(observer, mutex);
  begin(told, stop, keep);
  if (!missing_.empty()) {
    fetch_all(told, stop);
    prepared_ = prepare();  // with the memory that the files need
  }
  const RunMeans means{workers, stop, {}, kept_.get()};
  HeadOutcomes outcomes = measure_elsewhere(prepared_, config_, means, told, engine, cost);
  const std::string simd = fmt::format("{}", fmt::join(cost.simd, ", "));
  if (!simd.empty()) prepared_.recorded_simd = simd;
  if (cost.simd.size() > 1) {
    told.warning(
        fmt::format("heads were measured with different instruction sets ({}): their figures agree to about 12 digits "
                    "with those of one machine, not to the last",
                    simd));
  }
  return concluded_run(std::move(outcomes), prepared_, config_, means, told);
}

HeadOutcomes DumpRun::measure_part(int workers, const RunObserver& observer, const std::stop_token& stop,
                                   const std::optional<KeepOptions>& keep) {
  std::mutex mutex;
  const RunObserver told = serialized(observer, mutex);
  begin(told, stop, keep);
  HeadOutcomes outcomes;
  const std::vector<HeadTask> part = tasks();
  const std::vector<std::uint64_t> examples = part_.plan ? part_.plan->examples : std::vector<std::uint64_t>{};
  with_files(part, workers, told, stop,
             [&](const RunMeans& means) { outcomes = measure_heads(prepared_, config_, part, means, told, examples); });
  return outcomes;
}

RunPlan DumpRun::make_plan(const RunObserver& observer, const std::stop_token& stop) {
  std::mutex mutex;
  const RunObserver told = serialized(observer, mutex);
  begin(told, stop, {});
  if (!missing_.empty()) fetch_all(told, stop);
  return RunPlan::of(prepared_, config_);
}

void DumpRun::forget_kept() {
  if (kept_) kept_->remove();
}

}  // namespace attention_plasticity
