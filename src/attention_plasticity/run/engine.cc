#include "attention_plasticity/run/engine.h"

#include <algorithm>
#include <map>
#include <utility>

#include "attention_plasticity/error.h"
#include "attention_plasticity/outcomes/run_manifest.h"
#include "attention_plasticity/run/worker.h"

namespace attention_plasticity {

std::vector<KvGroup> kv_groups(std::span<const HeadTask> tasks) {
  std::vector<KvGroup> groups;
  const HeadTask* before = nullptr;
  for (const HeadTask& task : tasks) {
    if (before == nullptr || keys_of(before->head).head != keys_of(task.head).head) groups.emplace_back();
    groups.back().heads.push_back(task.head);
    // One head is measured at a time, with the keys of all.
    groups.back().bytes = std::max(groups.back().bytes, task.query_bytes + task.key_bytes);
    before = &task;
  }
  return groups;
}

namespace {

// Collects the reports of an engine, in the order of the tasks.
class Collecting {
 public:
  Collecting(const PreparedRun& prepared, const RunConfig& config, const MeasureOptions& options,
             const RunObserver& told, EngineCost& cost)
      : prepared_(prepared), options_(options), told_(told), cost_(cost) {
    std::vector<HeadTask> missing;
    for (const HeadTask& task : prepared.tasks) {
      std::optional<HeadOutcome> saved;
      if (options.saved != nullptr) saved = options.saved->take(task.head);
      if (saved) {
        ended_.emplace(task.head, *std::move(saved));
      } else {
        missing.push_back(task);
      }
    }
    arrivals_.emplace(prepared.source.get(), told, options.saved, ended_.size(), prepared.tasks.size());
    work_ = {manifest_text(prepared, config), kv_groups(missing), config.max_workers};
  }

  const EngineWork& work() const { return work_; }

  EngineReceiver receiver() {
    return {[this](std::size_t number, std::string_view bytes) { measured(number, bytes); },
            [this](std::size_t number, const std::string& why) { failed(number, why); }, told_.note, told_.warning};
  }

  HeadOutcomes outcomes() {
    HeadOutcomes all;
    all.interrupted = ended_.size() < prepared_.tasks.size();
    for (auto& [head, outcome] : ended_) all.heads.push_back(std::move(outcome));
    return all;
  }

 private:
  void measured(std::size_t number, std::string_view bytes) {
    MeasuredGroup group = MeasuredGroup::of_bytes(bytes);
    if (!std::ranges::equal(group.heads, work_.groups.at(number).heads, {}, &HeadOutcome::head)) {
      throw Error(ErrorKind::input, "a worker returned other heads than it was asked for");
    }
    for (const HeadOutcome& outcome : group.heads) check_outcome(outcome, prepared_);
    if (group.other_times && !std::exchange(said_other_times_, true)) {
      told_.warning(
          "the files of the dump have other modification times on other machines, but the same sizes; they are taken "
          "for copies of one dump");
    }
    cost_.cpu_s += group.cpu_s;
    cost_.peak_rss_bytes = std::max(cost_.peak_rss_bytes, group.peak_rss_bytes);
    cost_.simd.insert(group.simd);
    for (HeadOutcome& outcome : group.heads) add(std::move(outcome));
  }

  void failed(std::size_t number, const std::string& why) {
    for (const HeadId& head : work_.groups.at(number).heads) {
      HeadOutcome outcome;
      outcome.head = head;
      outcome.failure = HeadFailure{head, "", why};
      add(std::move(outcome));
    }
  }

  void add(HeadOutcome outcome) {
    const HeadId id = outcome.head;
    const auto [place, is_new] = ended_.emplace(id, std::move(outcome));
    if (!is_new) throw Error(ErrorKind::input, "a worker returned a head that was there already");
    if (arrivals_) arrivals_->add(place->second);
  }

  const PreparedRun& prepared_;
  const MeasureOptions& options_;
  const RunObserver& told_;
  EngineCost& cost_;
  EngineWork work_;
  std::map<HeadId, HeadOutcome> ended_;
  std::optional<HeadArrivals> arrivals_;
  bool said_other_times_ = false;
};

}  // namespace

HeadOutcomes measure_by_engine(const PreparedRun& prepared, const RunConfig& config, const MeasureOptions& options,
                               const RunObserver& told, const Engine& engine, EngineCost& cost) {
  Collecting collecting(prepared, config, options, told, cost);
  std::exception_ptr failure;
  try {
    if (!collecting.work().groups.empty()) engine(collecting.work(), collecting.receiver(), options.stop);
  } catch (...) {
    if (!options.stop.stop_requested()) failure = std::current_exception();
  }
  HeadOutcomes outcomes = collecting.outcomes();
  outcomes.failure = failure;
  if (outcomes.interrupted && !failure && !options.stop.stop_requested()) {
    outcomes.failure = std::make_exception_ptr(Error(ErrorKind::network, "the engine ended before all heads did"));
  }
  return outcomes;
}

}  // namespace attention_plasticity
