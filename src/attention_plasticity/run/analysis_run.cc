#include "attention_plasticity/run/analysis_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>

#include "attention_plasticity/base/printable.h"
#include "attention_plasticity/base/stop_scope.h"
#include "attention_plasticity/digest/digest.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/measure/measure_heads.h"
#include "attention_plasticity/memory.h"
#include "attention_plasticity/results/summary.h"
#include "attention_plasticity/source/run_rotation.h"
#include "attention_plasticity/stats/jackknife.h"

namespace attention_plasticity {
namespace {

bool has_exact_value(const HeadResult& result) { return result.exact && !std::isnan(result.exact->overall); }

// The documents of all heads that have a value, ascending; none if such a head names no documents.
std::optional<std::vector<std::uint64_t>> documents_of(std::span<const HeadResult> results) {
  std::vector<std::uint64_t> all;
  for (const HeadResult& result : results) {
    if (!has_plasticity(result)) continue;
    if (result.examples.empty()) return std::nullopt;
    if (result.examples == all) continue;
    std::vector<std::uint64_t> both;
    std::ranges::set_union(all, result.examples, std::back_inserter(both));
    all = std::move(both);
  }
  return all;
}

WithoutGroup means_over_heads(const RunResult& run) {
  std::vector<LeaveOneOut> overall;
  std::vector<LeaveOneOut> exact;
  for (std::size_t i = 0; i < run.results.size(); ++i) {
    const WithoutGroup& head = run.without_group[i];
    if (!std::isnan(run.results[i].plasticity.overall)) overall.push_back({head.groups, head.overall});
    if (has_exact_value(run.results[i])) exact.push_back({head.groups, head.exact});
  }
  LeaveOneOut overall_means = mean_over_heads(overall);
  LeaveOneOut exact_means = mean_over_heads(exact);
  return {overall.empty() ? std::move(exact_means.groups) : std::move(overall_means.groups),
          std::move(overall_means.values), std::move(exact_means.values)};
}

// What was read, each file once.
void add_inputs(std::span<const HeadOutcome> outcomes, RunResult& run) {
  std::map<std::tuple<int, Side, int>, const ReadRecord*> reads;
  for (const HeadOutcome& outcome : outcomes) {
    const HeadId& head = outcome.head;
    if (outcome.queries) reads[{head.layer, Side::query, head.q_head}] = &outcome.queries->read;
    if (outcome.keys) reads[{head.layer, Side::key, head.k_head}] = &outcome.keys->read;
  }
  for (const auto& [place, read] : reads) {
    const auto& [layer, side, head] = place;
    if (read->input) run.inputs.push_back({side, {layer, head}, *read->input});
    run.dropped_rows += read->dropped_rows;
  }
}

RunResult to_result(std::vector<HeadOutcome> outcomes) {
  RunResult run;
  add_inputs(outcomes, run);
  for (HeadOutcome& outcome : outcomes) {
    if (outcome.failure) run.failures.push_back(std::move(*outcome.failure));
    if (!outcome.measured) continue;
    run.results.push_back(std::move(outcome.measured->result));
    run.without_group.push_back(std::move(outcome.measured->without_group));
  }
  return run;
}

// The evidence on the rotation that was measured with the heads.
RotationEvidence evidence_of(std::span<const HeadOutcome> outcomes) {
  RotationEvidence evidence;
  const auto add = [&](const HeadSide& side, const std::optional<SideRecord>& record) {
    if (record && record->evidence) evidence.emplace(side, *record->evidence);
  };
  for (const HeadOutcome& outcome : outcomes) {
    add(queries_of(outcome.head), outcome.queries);
    add(keys_of(outcome.head), outcome.keys);
  }
  return evidence;
}

// Memory that heads pass on to each other serves nobody after the last one.
struct ReleaseMemory {
  ReleaseMemory() = default;
  ReleaseMemory(const ReleaseMemory&) = delete;
  ReleaseMemory& operator=(const ReleaseMemory&) = delete;
  ~ReleaseMemory() { release_kept_memory(); }
};

}  // namespace

void HeadArrivals::add(const HeadOutcome& outcome) {
  if (keys_.insert(keys_of(outcome.head).head).second) warn_of(keys_of(outcome.head), outcome.keys);
  warn_of(queries_of(outcome.head), outcome.queries);
  if (saved_ != nullptr) saved_->save(outcome);
  told_.head_ended({outcome.head, outcome.measured ? &outcome.measured->result : nullptr,
                    outcome.failure ? &*outcome.failure : nullptr, ++ended_, total_});
}

void HeadArrivals::warn_of(const HeadSide& side, const std::optional<SideRecord>& record) {
  if (!record) return;
  const bool of_keys = side.side == Side::key;
  std::string name = source_ != nullptr ? source_->file(side) : "";
  if (name.empty())
    name = fmt::format("layer {} {} {}", side.head.layer, of_keys ? "k_head" : "q_head", side.head.head);
  const ReadRecord& read = record->read;
  if (read.dropped_rows > 0) {
    told_.warning(fmt::format("{}: dropped {} of {} rows with NaN or infinity", name, read.dropped_rows,
                              read.dropped_rows + read.rows));
  }
  // Once; queries are only worth it when their keys do name documents.
  if (read.has_examples || warned_of_keys_ || (warned_of_queries_ && !of_keys)) return;
  (of_keys ? warned_of_keys_ : warned_of_queries_) = true;
  told_.warning(fmt::format("{}: no example_id column, so {}", name,
                            of_keys ? "no key pairs can be formed" : "every query counts as an example of its own"));
}

HeadOutcomes measure_tasks(const PreparedRun& prepared, const RunConfig& config, std::span<const HeadTask> tasks,
                           const MeasureOptions& options, const RunObserver& told) {
  const ReleaseMemory at_the_end;
  const std::unique_ptr<RotationChecker> checker = rotation_checker(prepared, config);
  const RunGroups groups(prepared.reference_documents);
  MeasureContext context{config, prepared.rotation, prepared.model_width, groups, checker.get()};
  context.heads_of_run = prepared.tasks.size();
  std::vector<std::optional<HeadOutcome>> ended(tasks.size());
  std::vector<HeadTask> missing;
  std::vector<std::size_t> places;  // of the missing
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    std::optional<HeadOutcome> saved;
    if (options.saved != nullptr) saved = options.saved->take(tasks[i].head);
    if (saved) {
      context.held_bytes += memory_of(*saved);
      ended[i] = std::move(saved);
    } else {
      missing.push_back(tasks[i]);
      places.push_back(i);
    }
  }
  HeadOutcomes outcomes;
  HeadArrivals arrivals(prepared.source.get(), told, options.saved, tasks.size() - missing.size(), tasks.size());
  try {
    prepared.source->expect(sides_of(missing), told, options.stop);
    measure_heads(
        *prepared.source, missing, context, options.workers, options.stop,
        [&](std::size_t task, HeadOutcome outcome) { arrivals.add(ended[places[task]].emplace(std::move(outcome))); });
  } catch (const Stopped&) {
    outcomes.interrupted = true;
  } catch (...) {
    if (!options.stop.stop_requested()) outcomes.failure = std::current_exception();
  }
  prepared.source->end();
  for (std::optional<HeadOutcome>& outcome : ended) {
    if (outcome) outcomes.heads.push_back(std::move(*outcome));
  }
  outcomes.interrupted = outcomes.heads.size() < tasks.size();
  return outcomes;
}

RunResult conclude(HeadOutcomes outcomes, const PreparedRun& prepared, const RunConfig& config,
                   const RunObserver& told) {
  if (outcomes.interrupted) {
    RunResult run = to_result(std::move(outcomes.heads));
    run.interrupted = true;
    run.failure = outcomes.failure;
    return run;
  }
  RotationVerdict verdict;
  if (const auto checker = rotation_checker(prepared, config)) verdict = checker->verdict(evidence_of(outcomes.heads));
  report_complaint(verdict, config.rotation_check, told.warning);
  RunResult run = to_result(std::move(outcomes.heads));
  run.rotation_shares = std::move(verdict.shares);
  if (const std::string line = equal_vectors_line(run.results); !line.empty()) told.note(line);
  if (!config.analysis.standard_errors) return run;
  const std::optional<std::vector<std::uint64_t>> documents = documents_of(run.results);
  if (!documents) return run;
  run.examples = *documents;
  run.group_count = RunGroups(prepared.reference_documents).count();
  run.model_without_group = means_over_heads(run);
  return run;
}

RunResult run_analysis(PreparedRun& prepared, const RunConfig& config, const MeasureOptions& options,
                       const RunObserver& observer) {
  const RunObserver told = serialized(observer);
  decide(prepared, config, told, options.stop);
  return conclude(measure_tasks(prepared, config, prepared.tasks, options, told), prepared, config, told);
}

RunObserver serialized(const RunObserver& observer) {
  const auto mutex = std::make_shared<std::mutex>();
  const auto one_at_a_time = [&mutex](const auto& function) {
    return [mutex, function](const auto& event) {
      const std::scoped_lock lock(*mutex);
      if (function) function(event);
    };
  };
  const auto printable = [&mutex](const std::function<void(const std::string&)>& function) {
    return [mutex, function](const std::string& line) {
      const std::scoped_lock lock(*mutex);
      if (function) function(printable_text(line));
    };
  };
  return {one_at_a_time(observer.head_ended), printable(observer.note), printable(observer.warning),
          one_at_a_time(observer.downloading)};
}

std::string examples_digest(std::span<const std::uint64_t> examples) {
  std::string ids;
  for (const std::uint64_t id : examples) ids += fmt::format("{}\n", id);
  return sha256(ids);
}

}  // namespace attention_plasticity
