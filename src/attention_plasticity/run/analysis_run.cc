#include "attention_plasticity/run/analysis_run.h"
#include "attention_plasticity/run/summary.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "attention_plasticity/error.h"
#include "attention_plasticity/memory.h"
#include "attention_plasticity/run/common_groups.h"
#include "attention_plasticity/run/rotation_check.h"
#include "attention_plasticity/run/summary.h"
#include "attention_plasticity/stats/jackknife.h"

namespace attention_plasticity {
namespace {

using Examples = std::vector<std::uint64_t>;

// An observer need not listen to everything.
RunObserver with_all_functions(RunObserver observer) {
  if (!observer.head_ended) observer.head_ended = [](const HeadEvent&) {};
  if (!observer.note) observer.note = [](const std::string&) {};
  if (!observer.warning) observer.warning = [](const std::string&) {};
  return observer;
}

bool has_exact_value(const HeadResult& result) { return result.exact && !std::isnan(result.exact->overall); }

WithoutGroup means_over_heads(const RunResult& run) {
  std::vector<const std::vector<double>*> overall;
  std::vector<const std::vector<double>*> exact;
  for (std::size_t i = 0; i < run.results.size(); ++i) {
    if (!std::isnan(run.results[i].plasticity.overall)) overall.push_back(&run.without_group[i].overall);
    if (has_exact_value(run.results[i])) exact.push_back(&run.without_group[i].exact);
  }
  return {mean_over_heads(overall), mean_over_heads(exact)};
}

// Keeps what was measured of a head, if anybody wants that.
std::function<void(const HeadOutcome&)> keeping(const RunMeans& means) {
  if (means.kept == nullptr) return {};
  return [kept = means.kept](const HeadOutcome& outcome) { kept->keep(outcome); };
}

// The values without each group, of the same groups for all heads. False when a stop was requested before that was
// done.
bool add_common_groups(std::vector<HeadOutcome>& outcomes, const HeadPass::Context& context, const RunMeans& means,
                       std::optional<Examples>& examples) {
  examples = context.config.analysis.standard_errors ? common_examples(outcomes) : std::nullopt;
  if (!examples) return true;
  const std::vector<std::size_t> again = without_common_groups(outcomes, *examples);
  if (again.empty()) return true;
  const bool one = again.size() == 1;
  context.observer.note(
      fmt::format("{} {} captured on other examples than the rest; measuring {} again for the error of the model",
                  again.size(), one ? "head was" : "heads were", one ? "it" : "them"));
  const std::size_t measured =
      measure_common_groups(outcomes, again, *examples, context, means.workers, means.stop, keeping(means));
  if (measured == again.size()) return true;
  if (means.stop.stop_requested()) return false;
  context.observer.warning("a file could not be read a second time, so the error of the model stays empty");
  examples.reset();
  return true;
}

// What was read, each file once.
void add_inputs(const HeadOutcome& outcome, std::map<std::tuple<int, Side, int>, const FileRead*>& files) {
  if (outcome.queries) files[{outcome.head.layer, Side::query, outcome.head.q_head}] = &*outcome.queries;
  if (outcome.keys) files[{outcome.head.layer, Side::key, outcome.head.k_head}] = &*outcome.keys;
}

}  // namespace

RunResult gathered(std::vector<HeadOutcome> outcomes, const std::optional<std::vector<std::uint64_t>>& examples) {
  RunResult run;
  const std::string digest = examples ? examples_digest(*examples) : "";
  std::map<std::tuple<int, Side, int>, const FileRead*> files;
  for (const HeadOutcome& outcome : outcomes) add_inputs(outcome, files);
  for (const auto& [place, file] : files) {
    const auto& [layer, side, head] = place;
    run.inputs.push_back({side, {layer, head}, file->input});
    run.dropped_rows += file->dropped_rows;
  }
  for (HeadOutcome& outcome : outcomes) {
    if (outcome.failure) run.failures.push_back(std::move(*outcome.failure));
    if (!outcome.measured) continue;
    run.results.push_back(std::move(outcome.measured->result));
    // Values for other examples may be left from a run that ended before all heads were known.
    std::optional<CommonGroups>& common = outcome.common_groups;
    if (examples && common && common->examples_sha256 == digest) {
      run.without_group.push_back(std::move(common->without_group));
    } else {
      run.without_group.push_back(std::move(outcome.measured->without_group));
    }
  }
  if (examples) {
    run.examples = *examples;
    run.model_without_group = means_over_heads(run);
  }
  return run;
}

namespace {

// Memory that heads hand on to each other serves nobody after the last one.
struct ReleaseMemory {
  ReleaseMemory() = default;
  ReleaseMemory(const ReleaseMemory&) = delete;
  ReleaseMemory& operator=(const ReleaseMemory&) = delete;
  ~ReleaseMemory() { release_kept_memory(); }
};

void restore_evidence(RotationEvidence& evidence, const HeadOutcome& outcome) {
  const auto restore = [&](Side side, int head, const std::optional<FileRead>& read) {
    if (read && read->evidence) evidence.restore(side, {outcome.head.layer, head}, *read->evidence);
  };
  restore(Side::query, outcome.head.q_head, outcome.queries);
  restore(Side::key, outcome.head.k_head, outcome.keys);
}

// Measures tasks, keeps them as they end and tells of them.
class Measuring {
 public:
  Measuring(const PreparedRun& prepared, const RunConfig& config, const RunMeans& means, const RunObserver& told)
      : means_(means),
        observer_(with_all_functions(told)),
        evidence_(configured_evidence(prepared, config, rotation_files(prepared.tasks, prepared.layout.store))),
        context_{prepared, config, observer_, evidence_.get(), {}} {}

  HeadOutcomes heads(std::span<const HeadTask> tasks) {
    std::vector<std::optional<HeadOutcome>> ended(tasks.size());
    std::vector<HeadTask> missing;
    std::vector<std::size_t> places;  // of the missing
    HeadPass::Context context = context_;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      if (std::optional<HeadOutcome> outcome = kept(tasks[i].head)) {
        context.held_bytes += memory_of(*outcome);
        ended[i] = std::move(outcome);
        continue;
      }
      missing.push_back(tasks[i]);
      places.push_back(i);
    }
    std::size_t count = tasks.size() - missing.size();
    HeadPass pass(missing, context, [&](std::size_t task, HeadOutcome outcome) {
      const HeadOutcome& head = ended[places[task]].emplace(std::move(outcome));
      if (means_.kept != nullptr) means_.kept->keep(head);
      observer_.head_ended({head.head, head.measured ? &head.measured->result : nullptr,
                            head.failure ? &*head.failure : nullptr, ++count, tasks.size()});
    });
    HeadOutcomes outcomes;
    try {
      pass.run(means_.workers, means_.stop, means_.arrive);
    } catch (...) {
      if (!means_.stop.stop_requested()) outcomes.failure = std::current_exception();
    }
    outcomes.interrupted = count < tasks.size();
    outcomes.heads.reserve(count);
    for (std::optional<HeadOutcome>& outcome : ended) {
      if (outcome) outcomes.heads.push_back(std::move(*outcome));
    }
    return outcomes;
  }

  // False when a stop was requested before that was done. A head that cannot be measured again is left to the merge.
  bool groups_of(std::span<const std::uint64_t> examples, std::vector<HeadOutcome>& outcomes) {
    const std::vector<std::size_t> again = without_common_groups(outcomes, examples);
    const std::size_t measured =
        measure_common_groups(outcomes, again, examples, context_, means_.workers, means_.stop, keeping(means_));
    return measured == again.size() || !means_.stop.stop_requested();
  }

  RunResult result(HeadOutcomes outcomes) {
    if (outcomes.interrupted) {
      RunResult run = gathered(std::move(outcomes.heads), std::nullopt);
      run.interrupted = true;
      run.failure = outcomes.failure;
      return run;
    }
    if (evidence_) {
      for (const HeadOutcome& outcome : outcomes.heads) restore_evidence(*evidence_, outcome);
    }
    const std::optional<RotationShares> shares =
        evidence_ ? checked_shares(*evidence_, context_.prepared, context_.config, observer_) : std::nullopt;
    std::optional<Examples> examples;
    const bool complete = add_common_groups(outcomes.heads, context_, means_, examples);
    RunResult run = gathered(std::move(outcomes.heads), complete ? examples : std::nullopt);
    if (const std::string line = equal_vectors_line(run.results); !line.empty()) observer_.note(line);
    run.rotation_shares = shares;
    run.interrupted = !complete;
    return run;
  }

 private:
  std::optional<HeadOutcome> kept(const HeadId& head) {
    if (means_.kept == nullptr) return std::nullopt;
    auto node = means_.kept->found().extract(head);
    return node ? std::optional(std::move(node.mapped())) : std::nullopt;
  }

  const ReleaseMemory at_the_end_;
  const RunMeans& means_;
  RunObserver observer_;
  std::unique_ptr<RotationEvidence> evidence_;  // null: the rotation is not checked
  HeadPass::Context context_;
};

}  // namespace

HeadOutcomes measure_heads(const PreparedRun& prepared, const RunConfig& config, std::span<const HeadTask> tasks,
                           const RunMeans& means, const RunObserver& observer,
                           std::span<const std::uint64_t> examples) {
  Measuring measuring(prepared, config, means, observer);
  HeadOutcomes outcomes = measuring.heads(tasks);
  if (outcomes.interrupted || examples.empty() || !config.analysis.standard_errors) return outcomes;
  outcomes.interrupted = !measuring.groups_of(examples, outcomes.heads);
  return outcomes;
}

RunResult concluded_run(HeadOutcomes outcomes, const PreparedRun& prepared, const RunConfig& config,
                        const RunMeans& means, const RunObserver& observer) {
  return Measuring(prepared, config, means, observer).result(std::move(outcomes));
}

RunResult run_analysis(const PreparedRun& prepared, const RunConfig& config, const RunMeans& means,
                       const RunObserver& observer) {
  Measuring measuring(prepared, config, means, observer);
  return measuring.result(measuring.heads(prepared.tasks));
}

}  // namespace attention_plasticity
