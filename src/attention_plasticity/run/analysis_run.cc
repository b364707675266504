#include "attention_plasticity/run/analysis_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>

#include "attention_plasticity/analysis/head_analysis.h"
#include "attention_plasticity/dump/head_file.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/memory.h"
#include "attention_plasticity/run/head_queue.h"
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

// One pass over heads: reads, analyses, and keeps what each one gave in its own place.
class Pass {
 public:
  struct Outcome {
    std::optional<MeasuredHead> result;
    std::optional<HeadFailure> failure;
  };

  Pass(std::span<const HeadTask> tasks, const PreparedRun& prepared, const RunConfig& config,
       const RunObserver& observer, RotationEvidence* evidence, std::span<const std::uint64_t> jackknife_examples = {})
      : tasks_(tasks),
        rotation_(prepared.rotation),
        model_width_(prepared.model_width),
        config_(config),
        observer_(observer),
        evidence_(evidence),
        jackknife_examples_(jackknife_examples),
        outcomes_(tasks.size()) {}

  void run(int workers, const std::stop_token& stop, const HeadArrival& arrive = {}) {
    QueueOptions options{workers, config_.memory_limit, {}};
    if (arrive) options.arrive = [&](const HeadTask& task) { return after_arrival(task, arrive); };
    for_each_head(
        tasks_, options, [this](const HeadTask& task) { return load_keys(task); },
        [this](std::size_t task, const OrientedKeys* keys, const std::exception_ptr& failure) {
          analyse(task, keys, failure);
        },
        stop);
  }

  std::vector<Outcome>& outcomes() { return outcomes_; }
  std::uint64_t dropped_rows() const { return dropped_rows_; }
  std::size_t ended() const { return ended_; }

 private:
  // A rotation that does not fit is wrong for all heads: it ends the run here, as it does when the files are there
  // before.
  TaskBytes after_arrival(const HeadTask& task, const HeadArrival& arrive) const {
    arrive(task);
    HeadTask measured = task;
    measure_files(measured, config_);
    if (rotation_ && measured.width > 0 && has_model_width(measured.width)) {
      rotation_->layer(task.head.layer, measured.width);
    }
    return {measured.query_bytes, measured.key_bytes};
  }

  OrientedKeys load_keys(const HeadTask& task) {
    // A dangling link was captured: reading it tells what is wrong.
    std::error_code unknown;
    if (std::filesystem::symlink_status(task.key_file, unknown).type() == std::filesystem::file_type::not_found) {
      throw Error(ErrorKind::input,
                  fmt::format("key head {} of layer {}, which this head reads, was not captured", task.head.k_head,
                              task.head.layer),
                  task.key_file.string());
    }
    return orient_keys(KeptRows(read(task.key_file, Side::key, {task.head.layer, task.head.k_head})), config_.analysis);
  }

  bool has_model_width(std::size_t width) const {
    return !model_width_ || width == static_cast<std::size_t>(model_width_->value);
  }

  HeadRows read(const std::filesystem::path& file, Side side, const HeadKey& head) {
    HeadFile read = read_head_file(file, side, {.drop_non_finite = config_.non_finite == NonFinite::drop});
    if (model_width_ && !has_model_width(read.rows.width)) {
      throw Error(ErrorKind::input,
                  fmt::format("the vectors have {} components, but {} says that a head of the model has {}",
                              read.rows.width, model_width_->file, model_width_->value),
                  file.string());
    }
    if (evidence_ != nullptr) evidence_->add(side, head, read.rows);
    const std::scoped_lock lock(mutex_);
    if (read.dropped_rows > 0) {
      dropped_rows_ += read.dropped_rows;
      observer_.warning(fmt::format("{}: dropped {} of {} rows with NaN or infinity", file.string(), read.dropped_rows,
                                    read.dropped_rows + read.rows.size()));
    }
    if (read.rows.example.empty()) warn_of_no_examples(file, side);
    return std::move(read.rows);
  }

  // Once; queries are only worth it when their keys do name examples.
  void warn_of_no_examples(const std::filesystem::path& file, Side side) {
    const bool of_keys = side == Side::key;
    if (said_no_key_examples_ || (said_no_query_examples_ && !of_keys)) return;
    (of_keys ? said_no_key_examples_ : said_no_query_examples_) = true;
    observer_.warning(
        fmt::format("{}: no example_id column, so {}", file.string(),
                    of_keys ? "no key pairs can be formed" : "every query counts as an example of its own"));
  }

  void analyse(std::size_t index, const OrientedKeys* keys, const std::exception_ptr& key_failure) {
    const HeadTask& task = tasks_[index];
    Outcome outcome;
    const auto fail = [&](const std::string& file, const std::string& message) {
      outcome.failure = HeadFailure{task.head, file, message};
    };
    try {
      if (key_failure) std::rethrow_exception(key_failure);
      HeadRows queries = read(task.query_file, Side::query, {task.head.layer, task.head.q_head});
      std::optional<LayerRotation> layer;
      if (rotation_ && rotation_->is_known_in(task.head.layer)) {
        layer = rotation_->layer(task.head.layer, queries.width);
      }
      outcome.result = measure_head(task.head, KeptRows(std::move(queries)), *keys, config_.analysis,
                                    {layer ? &layer->rotation : nullptr, jackknife_examples_, constant_component()});
    } catch (const Error& error) {
      fail(error.file().empty() ? task.query_file.string() : error.file(), error.what());
    } catch (const std::bad_alloc&) {
      fail(task.query_file.string(), "not enough memory for this head; lower `max_workers` or set `memory_limit`");
    } catch (const std::exception& error) {
      fail(task.query_file.string(), error.what());
    }
    const std::scoped_lock lock(mutex_);
    outcomes_[index] = std::move(outcome);
    ++ended_;
    const Outcome& kept = outcomes_[index];
    observer_.head_ended({task.head, kept.result ? &kept.result->result : nullptr,
                          kept.failure ? &*kept.failure : nullptr, ended_, tasks_.size()});
  }

  ConstantComponent constant_component() const {
    return config_.compat == Compat::python ? ConstantComponent::fits : ConstantComponent::has_no_fit;
  }

  std::span<const HeadTask> tasks_;
  const std::optional<DumpRotation>& rotation_;
  const std::optional<StatedNumber>& model_width_;
  const RunConfig& config_;
  const RunObserver& observer_;
  RotationEvidence* evidence_;  // null: the rotation is not checked
  std::span<const std::uint64_t> jackknife_examples_;
  std::vector<Outcome> outcomes_;

  std::mutex mutex_;  // of all below, and of the observer
  std::size_t ended_ = 0;
  std::uint64_t dropped_rows_ = 0;
  bool said_no_key_examples_ = false;
  bool said_no_query_examples_ = false;
};

bool has_exact_value(const HeadResult& result) { return result.exact && !std::isnan(result.exact->overall); }

Examples all_examples(std::span<const HeadResult> results) {
  Examples all;
  for (const HeadResult& result : results) {
    if (!has_plasticity(result) || result.examples == all) continue;
    Examples both;
    std::ranges::set_union(all, result.examples, std::back_inserter(both));
    all = std::move(both);
  }
  return all;
}

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

// The values without each group, of the same groups for all heads. Heads share documents, so the model's error leaves
// the same examples out of all heads at once. Where a head was captured on other examples, its own groups differ from
// those of the union, and it is measured again. False when a stop was requested before that was done.
bool measure_common_groups(const PreparedRun& prepared, const RunConfig& config, int workers, RunResult& run,
                           const RunObserver& observer, const std::stop_token& stop) {
  const bool examples_known = std::ranges::none_of(
      run.results, [](const HeadResult& result) { return has_plasticity(result) && result.examples.empty(); });
  if (!config.analysis.standard_errors || !examples_known) return true;
  run.examples = all_examples(run.results);

  std::vector<std::size_t> others;  // the results that do not have all examples
  std::vector<HeadTask> again;
  for (std::size_t i = 0; i < run.results.size(); ++i) {
    const HeadResult& result = run.results[i];
    if (!has_plasticity(result) || result.examples == run.examples) continue;
    others.push_back(i);
    again.push_back(*std::ranges::find(prepared.tasks, result.head, &HeadTask::head));
  }
  if (!again.empty()) {
    const bool one = again.size() == 1;
    observer.note(
        fmt::format("{} {} captured on other examples than the rest; measuring {} again for the error of the "
                    "model",
                    again.size(), one ? "head was" : "heads were", one ? "it" : "them"));
    const RunObserver silent = with_all_functions({});
    Pass pass(again, prepared, config, silent, nullptr, run.examples);
    pass.run(workers, stop);
    if (pass.ended() < again.size()) return false;
    std::vector<WithoutGroup> measured;
    for (Pass::Outcome& outcome : pass.outcomes()) {
      if (outcome.result) measured.push_back(std::move(outcome.result->without_group));
    }
    if (measured.size() < others.size()) {
      observer.warning("a file could not be read a second time, so the error of the model stays empty");
      run.examples.clear();
      return true;
    }
    for (std::size_t i = 0; i < others.size(); ++i) run.without_group[others[i]] = std::move(measured[i]);
  }
  run.model_without_group = means_over_heads(run);
  return true;
}

// An inferred rotation is the one that fits the vectors best.
bool is_rotation_checked(const PreparedRun& prepared, const RunConfig& config) {
  return prepared.rotation && prepared.rotation->source != RotationSource::inferred &&
         config.rotation_check != RotationCheck::off;
}

void check_rotation(RotationEvidence& evidence, const PreparedRun& prepared, const RunConfig& config,
                    const RunObserver& observer, RunResult& run) {
  if (evidence.empty()) return;
  const std::string complaint = rotation_complaint(evidence, prepared, config);
  run.rotation_shares = evidence.shares();
  if (complaint.empty()) return;
  if (config.rotation_check == RotationCheck::error) throw Error(ErrorKind::usage, complaint);
  observer.warning(complaint);
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
  Pass pass(prepared.tasks, prepared, config, observer, evidence.get());
  RunResult run;
  try {
    pass.run(workers, stop, arrive);
  } catch (...) {
    if (!stop.stop_requested()) run.failure = std::current_exception();
  }
  run.interrupted = pass.ended() < prepared.tasks.size();
  run.dropped_rows = pass.dropped_rows();
  for (Pass::Outcome& outcome : pass.outcomes()) {
    if (outcome.result) {
      run.results.push_back(std::move(outcome.result->result));
      run.without_group.push_back(std::move(outcome.result->without_group));
    }
    if (outcome.failure) run.failures.push_back(std::move(*outcome.failure));
  }
  if (run.interrupted) return run;
  if (evidence) check_rotation(*evidence, prepared, config, observer, run);
  run.interrupted = !measure_common_groups(prepared, config, workers, run, observer, stop);
  return run;
}

}  // namespace attention_plasticity
