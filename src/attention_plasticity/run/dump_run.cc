#include "attention_plasticity/run/dump_run.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "attention_plasticity/run/fetching.h"

namespace attention_plasticity {
namespace {

// An observer whose functions can all be called, one at a time, from any thread.
RunObserver serialized(const RunObserver& observer, std::mutex& mutex) {
  const auto one_at_a_time = [&mutex](const auto& function) {
    return [&mutex, &function](const auto& event) {
      const std::scoped_lock lock(mutex);
      if (function) function(event);
    };
  };
  return {one_at_a_time(observer.head_ended), one_at_a_time(observer.note), one_at_a_time(observer.warning),
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

DumpRun::DumpRun(RunConfig config, const HubSettings& hub, const std::stop_token& stop) : config_(std::move(config)) {
  if (config_.dataset_local_root) {
    prepared_ = prepare_run(config_);
    return;
  }
  dump_ = std::make_unique<HubDump>(config_, hub, stop);
  prepared_ = prepare_run(config_, dump_->source());
  missing_ = dump_->missing_files(prepared_, stop);
}

std::vector<std::string> DumpRun::notes() const {
  std::vector<std::string> all = dump_ ? dump_->notes() : std::vector<std::string>{};
  all.insert(all.end(), prepared_.notes.begin(), prepared_.notes.end());
  return all;
}

std::string DumpRun::missing_files() const {
  return missing_.empty() ? "" : described_files(dump_->snapshot(), missing_);
}

RunResult DumpRun::measure(int workers, const RunObserver& observer, const std::stop_token& stop) {
  std::mutex mutex;
  const RunObserver told = serialized(observer, mutex);
  for (const std::string& note : notes()) told.note(note);
  for (const std::string& warning : prepared_.warnings) told.warning(warning);
  if (missing_.empty()) return run_analysis(prepared_, config_, workers, told, stop);

  told.note("fetching " + missing_files());
  Fetching fetching(*dump_, missing_, config_.download_max_workers, {{}, told.note}, stop);
  if (prepared_.needs_all_files) {
    fetching.wait_for_all(told.downloading);
    const PreparedRun before = std::exchange(prepared_, prepare_run(config_, dump_->source()));
    tell_new(prepared_.notes, before.notes, told.note);
    tell_new(prepared_.warnings, before.warnings, told.warning);
  }
  const std::jthread watcher([&](const std::stop_token& done) { watch(fetching, told.downloading, done); });
  return run_analysis(prepared_, config_, workers, told, stop, [&](const HeadTask& task) { fetching.wait_for(task); });
}

}  // namespace attention_plasticity
