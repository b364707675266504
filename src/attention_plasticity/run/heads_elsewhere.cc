#include "attention_plasticity/run/heads_elsewhere.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/run/part_worker.h"
#include "attention_plasticity/run/run_manifest.h"

namespace attention_plasticity {

std::vector<KeyGroup> key_groups(std::span<const HeadTask> tasks) {
  std::vector<KeyGroup> parts;
  const HeadTask* before = nullptr;
  for (const HeadTask& task : tasks) {
    if (before == nullptr || before->key_file != task.key_file) parts.emplace_back();
    parts.back().heads.push_back(task.head);
    // One head is measured at a time, with the keys of all.
    parts.back().bytes = std::max(parts.back().bytes, task.query_bytes + task.key_bytes);
    before = &task;
  }
  return parts;
}

namespace {

// Gathers what an engine tells, in the order of the tasks.
class Gathering {
 public:
  Gathering(const PreparedRun& prepared, const RunConfig& config, const RunMeans& means, const RunObserver& observer,
            CostElsewhere& cost)
      : means_(means), observer_(observer), cost_(cost), total_(prepared.tasks.size()) {
    std::vector<HeadTask> missing;
    for (const HeadTask& task : prepared.tasks) {
      const bool is_kept = means.kept != nullptr && means.kept->found().contains(task.head);
      if (is_kept) {
        ended_.insert(means.kept->found().extract(task.head));
      } else {
        missing.push_back(task);
      }
    }
    work_ = {manifest_text(prepared, config), key_groups(missing), config.max_workers};
  }

  const PartWork& work() const { return work_; }

  PartReceiver receiver() {
    return {[this](std::size_t number, std::string_view bytes) { measured(number, bytes); },
            [this](std::size_t number, const std::string& why) { failed(number, why); },
            [this](const std::string& line) {
              if (observer_.note) observer_.note(line);
            },
            [this](const std::string& line) { warn(line); }};
  }

  HeadOutcomes outcomes() {
    HeadOutcomes all;
    all.interrupted = ended_.size() < total_;
    for (auto& [head, outcome] : ended_) all.heads.push_back(std::move(outcome));
    return all;
  }

 private:
  void measured(std::size_t number, std::string_view bytes) {
    MeasuredPart part = MeasuredPart::of_bytes(bytes);
    if (!std::ranges::equal(part.heads, work_.parts.at(number).heads, {}, &HeadOutcome::head)) {
      throw Error(ErrorKind::input, "a worker returned other heads than it was asked for");
    }
    for (const std::string& line : part.warnings) warn_once(line);
    if (part.other_times && !std::exchange(said_other_times_, true)) {
      warn(
          "the files of the dump have other modification times on other machines, but the same sizes; they are taken "
          "for copies of one dump");
    }
    cost_.cpu_s += part.cpu_s;
    cost_.peak_rss_bytes = std::max(cost_.peak_rss_bytes, part.peak_rss_bytes);
    cost_.simd.insert(part.simd);
    for (HeadOutcome& outcome : part.heads) add(std::move(outcome));
  }

  void failed(std::size_t number, const std::string& why) {
    for (const HeadId& head : work_.parts.at(number).heads) {
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
    const HeadOutcome& head = place->second;
    if (means_.kept != nullptr) means_.kept->keep(head);
    if (!observer_.head_ended) return;
    observer_.head_ended({head.head, head.measured ? &head.measured->result : nullptr,
                          head.failure ? &*head.failure : nullptr, ended_.size(), total_});
  }

  // Each worker tells of files without examples, though one line is enough.
  void warn_once(const std::string& line) {
    const std::size_t place = line.find(no_examples_text);
    if (said_.insert(place == std::string::npos ? line : line.substr(place)).second) warn(line);
  }

  void warn(const std::string& line) {
    if (observer_.warning) observer_.warning(line);
  }

  const RunMeans& means_;
  const RunObserver& observer_;
  CostElsewhere& cost_;
  std::size_t total_;
  PartWork work_;
  std::map<HeadId, HeadOutcome> ended_;
  std::set<std::string> said_;
  bool said_other_times_ = false;
};

}  // namespace

HeadOutcomes measure_elsewhere(const PreparedRun& prepared, const RunConfig& config, const RunMeans& means,
                               const RunObserver& observer, const PartEngine& engine, CostElsewhere& cost) {
  Gathering gathering(prepared, config, means, observer, cost);
  std::exception_ptr failure;
  try {
    if (!gathering.work().parts.empty()) engine(gathering.work(), gathering.receiver(), means.stop);
  } catch (...) {
    if (!means.stop.stop_requested()) failure = std::current_exception();
  }
  HeadOutcomes outcomes = gathering.outcomes();
  outcomes.failure = failure;
  if (outcomes.interrupted && !failure && !means.stop.stop_requested()) {
    outcomes.failure = std::make_exception_ptr(Error(ErrorKind::network, "the engine ended before all heads did"));
  }
  return outcomes;
}

}  // namespace attention_plasticity
