#include "attention_plasticity/run/analysis_run.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "attention_plasticity/error.h"
#include "attention_plasticity/memory.h"
#include "attention_plasticity/run/common_groups.h"
#include "attention_plasticity/run/rotation_check.h"
#include "attention_plasticity/run/summary.h"
#include "attention_plasticity/stats/mean.h"

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

// The mean over heads without each group; a head with nothing left without a group drops out of that mean.
std::vector<double> mean_over_heads(std::span<const std::vector<double>* const> without) {
  std::vector<double> model;
  const std::size_t groups = without.empty() ? 0 : without.front()->size();
  for (std::size_t g = 0; g < groups; ++g) {
    Mean mean;
    for (const std::vector<double>* head : without) {
      if (!std::isnan((*head)[g])) mean.add((*head)[g]);
    }
    model.push_back(mean.value());
  }
  return model;
}

WithoutGroup means_over_heads(const RunResult& run) {
  std::vector<const std::vector<double>*> overall;
  std::vector<const std::vector<double>*> exact;
  for (std::size_t i = 0; i < run.results.size(); ++i) {
    if (!std::isnan(run.results[i].plasticity.overall)) overall.push_back(&run.without_group[i].overall);
    if (has_exact_value(run.results[i])) exact.push_back(&run.without_group[i].exact);
  }
  return {mean_over_heads(overall), mean_over_heads(exact)};
}

// The values without each group, of the same groups for all heads. False when a stop was requested before that was
// done.
bool add_common_groups(std::vector<HeadOutcome>& outcomes, const HeadPass::Context& context, int workers,
                       std::optional<Examples>& examples, const std::stop_token& stop) {
  examples = context.config.analysis.standard_errors ? common_examples(outcomes) : std::nullopt;
  if (!examples) return true;
  const std::vector<std::size_t> again = without_common_groups(outcomes, *examples);
  if (again.empty()) return true;
  const bool one = again.size() == 1;
  context.observer.note(
      fmt::format("{} {} captured on other examples than the rest; measuring {} again for the error of the model",
                  again.size(), one ? "head was" : "heads were", one ? "it" : "them"));
  if (measure_common_groups(outcomes, again, *examples, context, workers, stop) == again.size()) return true;
  if (stop.stop_requested()) return false;
  context.observer.warning("a file could not be read a second time, so the error of the model stays empty");
  examples.reset();
  return true;
}

// What was read, each file once.
void add_inputs(const HeadOutcome& outcome, std::map<std::tuple<int, Side, int>, const FileRead*>& files) {
  if (outcome.queries) files[{outcome.head.layer, Side::query, outcome.head.q_head}] = &*outcome.queries;
  if (outcome.keys) files[{outcome.head.layer, Side::key, outcome.head.k_head}] = &*outcome.keys;
}

// The outcomes of a run's heads, in order, as its result.
RunResult gathered(std::vector<HeadOutcome> outcomes, const std::optional<Examples>& examples) {
  RunResult run;
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
    const bool has_common = examples && outcome.without_common_group;
    run.without_group.push_back(
        std::move(has_common ? *outcome.without_common_group : outcome.measured->without_group));
  }
  if (examples) {
    run.examples = *examples;
    run.model_without_group = means_over_heads(run);
  }
  return run;
}

// An inferred rotation is the one that fits the vectors best.
bool is_rotation_checked(const PreparedRun& prepared, const RunConfig& config) {
  return prepared.rotation && prepared.rotation->source != RotationSource::inferred &&
         config.rotation_check != RotationCheck::off;
}

// What the vectors say about the rotation; none when no file says anything.
std::optional<RotationShares> checked_shares(RotationEvidence& evidence, const PreparedRun& prepared,
                                             const RunConfig& config, const RunObserver& observer) {
  if (evidence.empty()) return std::nullopt;
  const std::string complaint = rotation_complaint(evidence, prepared, config);
  if (!complaint.empty() && config.rotation_check == RotationCheck::error) throw Error(ErrorKind::usage, complaint);
  if (!complaint.empty()) observer.warning(complaint);
  return evidence.shares();
}

// Memory that heads hand on to each other serves nobody after the last one.
struct ReleaseMemory {
  ReleaseMemory() = default;
  ReleaseMemory(const ReleaseMemory&) = delete;
  ReleaseMemory& operator=(const ReleaseMemory&) = delete;
  ~ReleaseMemory() { release_kept_memory(); }
};

}  // namespace

RunResult run_analysis(const PreparedRun& prepared, const RunConfig& config, int workers, const RunObserver& told,
                       const std::stop_token& stop, const HeadArrival& arrive) {
  const ReleaseMemory at_the_end;
  const RunObserver observer = with_all_functions(told);
  const std::unique_ptr<RotationEvidence> evidence =
      is_rotation_checked(prepared, config) ? configured_evidence(prepared, config) : nullptr;
  const HeadPass::Context context{prepared, config, observer, evidence.get(), {}};
  std::vector<std::optional<HeadOutcome>> ended(prepared.tasks.size());
  std::size_t count = 0;
  HeadPass pass(prepared.tasks, context, [&](std::size_t task, HeadOutcome outcome) {
    const HeadOutcome& kept = ended[task].emplace(std::move(outcome));
    observer.head_ended({kept.head, kept.measured ? &kept.measured->result : nullptr,
                         kept.failure ? &*kept.failure : nullptr, ++count, prepared.tasks.size()});
  });
  std::exception_ptr failure;
  try {
    pass.run(workers, stop, arrive);
  } catch (...) {
    if (!stop.stop_requested()) failure = std::current_exception();
  }
  std::vector<HeadOutcome> outcomes;
  outcomes.reserve(count);
  for (std::optional<HeadOutcome>& outcome : ended) {
    if (outcome) outcomes.push_back(std::move(*outcome));
  }
  if (count < prepared.tasks.size()) {
    RunResult run = gathered(std::move(outcomes), std::nullopt);
    run.interrupted = true;
    run.failure = failure;
    return run;
  }
  const std::optional<RotationShares> shares =
      evidence ? checked_shares(*evidence, prepared, config, observer) : std::nullopt;
  std::optional<Examples> examples;
  const bool complete = add_common_groups(outcomes, context, workers, examples, stop);
  RunResult run = gathered(std::move(outcomes), complete ? examples : std::nullopt);
  run.rotation_shares = shares;
  run.interrupted = !complete;
  return run;
}

}  // namespace attention_plasticity
