// Measures where the time of a head goes: processor seconds of each stage in one thread, over some heads of a dump.
//
//   stages DUMP HEADS REPETITIONS     the first HEADS heads of the dump
//
// Reading and preparing the keys are functions of the library and timed directly. The stages of `measure_head` are told
// apart by its options: the time of a stage is what turning its option on adds, so that the figures hold however the
// library is arranged inside. Each time is the best of the repetitions, each of which goes through all heads and
// options. A run does the stages of its kind and those of the kinds before it: compat, default, everything.
//
// Prints one JSON object: {"heads": 3, "stages": [{"stage": ..., "run": ..., "seconds": ...}, ...]}.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attention_plasticity/analysis/head_analysis.h"
#include "attention_plasticity/dump/head_file.h"
#include "attention_plasticity/source/prepared_run.h"

namespace {

namespace ap = attention_plasticity;

/// What is timed: three functions, and `measure_head` with more and more of its options on.
enum class Step {
  read_keys,
  prepare_keys,
  read_queries,
  lines,             // everything optional is off
  tests,             // `lines` with Kolmogorov-Smirnov tests
  pairs,             // `tests` with all key pairs, and a model without covariances
  pooled,            // `pairs` with the default model
  exact,             // `pooled` with position-exact plasticity
  counted,           // `exact` with its model-free check
  pooled_jackknife,  // `pooled` with standard errors
  everything,        // `counted` with standard errors
};

struct Stage {
  const char* name;
  const char* run;          ///< the first kind of run that does this stage
  std::vector<Step> of;     ///< the time of the stage is the time of these steps
  std::vector<Step> above;  ///< minus the time of these steps
};

std::vector<Stage> all_stages() {
  return {
      {"read keys", "compat", {Step::read_keys}, {}},
      {"prepare keys", "compat", {Step::prepare_keys}, {}},
      {"read queries", "compat", {Step::read_queries}, {}},
      {"lines on position, rotation, shape", "compat", {Step::lines}, {}},
      {"Kolmogorov-Smirnov tests", "compat", {Step::tests}, {Step::lines}},
      {"pooled: pairs, diagonal model", "compat", {Step::pairs}, {Step::tests}},
      {"pooled: covariances", "default", {Step::pooled}, {Step::pairs}},
      {"position-exact", "default", {Step::exact}, {Step::pooled}},
      {"position-exact: model-free count", "default", {Step::counted}, {Step::exact}},
      {"pooled: jackknife", "everything", {Step::pooled_jackknife}, {Step::pooled}},
      {"position-exact: jackknife",
       "everything",
       {Step::everything, Step::pooled},
       {Step::pooled_jackknife, Step::counted}},
  };
}

constexpr Step analyses[]{
    Step::lines,     Step::tests, Step::pairs, Step::pooled, Step::exact, Step::counted, Step::pooled_jackknife,
    Step::everything};

ap::AnalysisOptions options_of(Step step) {
  ap::AnalysisOptions options;
  const bool with_exact = step == Step::exact || step == Step::counted || step == Step::everything;
  options.standard_errors = step == Step::pooled_jackknife || step == Step::everything;
  if (!with_exact) options.num_triples = 0;
  if (step == Step::exact) options.empirical_queries = 0;
  if (step < Step::pooled) options.method = ap::Method::diagonal;
  if (step < Step::pairs) options.num_pairs_per_bucket = 1;
  if (step < Step::tests) options.normality_max_dims = 0;
  return options;
}

/// The best times so far, by step and head.
class Clock {
 public:
  template <class Work>
  void time(std::size_t head, Step step, Work&& work) {
    const std::clock_t start = std::clock();
    work();
    const double taken = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    double& best = best_.try_emplace({step, head}, std::numeric_limits<double>::infinity()).first->second;
    best = std::min(best, taken);
  }

  /// The seconds of a step, summed over all heads.
  double seconds(Step step) const {
    double sum = 0;
    for (const auto& [key, best] : best_) sum += key.first == step ? best : 0.0;
    return sum;
  }

 private:
  std::map<std::pair<Step, std::size_t>, double> best_;
};

void time_heads(const ap::PreparedRun& plan, std::size_t heads, Clock& clock) {
  std::optional<ap::OrientedKeys> keys;
  for (std::size_t head = 0; head < heads; ++head) {
    const ap::HeadTask& task = plan.tasks[head];
    if (head == 0 || ap::keys_of(task.head).head != ap::keys_of(plan.tasks[head - 1].head).head) {
      ap::HeadRows rows;
      clock.time(head, Step::read_keys, [&] {
        rows = ap::read_head_file(plan.layout.file(ap::Side::key, ap::keys_of(task.head).head), ap::Side::key).rows;
      });
      clock.time(head, Step::prepare_keys,
                 [&] { keys = ap::orient_keys(ap::KeptRows(std::move(rows)), ap::AnalysisOptions{}); });
    }
    ap::HeadRows queries;
    clock.time(head, Step::read_queries, [&] {
      queries =
          ap::read_head_file(plan.layout.file(ap::Side::query, ap::queries_of(task.head).head), ap::Side::query).rows;
    });
    std::optional<ap::LayerRotation> layer;
    if (plan.rotation) layer = plan.rotation->layer(task.head.layer, queries.width);
    for (const Step step : analyses) {
      ap::HeadRows copy = queries;
      clock.time(head, step, [&] {
        ap::measure_head(task.head, ap::KeptRows(std::move(copy)), *keys, options_of(step),
                         {.rotation = layer ? &layer->rotation : nullptr});
      });
    }
  }
}

void print(const Clock& clock, std::size_t heads) {
  std::printf("{\"heads\": %zu, \"stages\": [", heads);
  const char* separator = "";
  for (const Stage& stage : all_stages()) {
    double seconds = 0;
    for (const Step step : stage.of) seconds += clock.seconds(step);
    for (const Step step : stage.above) seconds -= clock.seconds(step);
    // A difference of two noisy times may fall below 0.
    std::printf("%s\n  {\"stage\": \"%s\", \"run\": \"%s\", \"seconds\": %.6f}", separator, stage.name, stage.run,
                std::max(0.0, seconds));
    separator = ",";
  }
  std::printf("]}\n");
}

}  // namespace

int main(int argc, char** argv) {
  const int most_heads = argc == 4 ? std::atoi(argv[2]) : 0;
  const int repetitions = argc == 4 ? std::atoi(argv[3]) : 0;
  if (most_heads < 1 || repetitions < 1) {
    std::fprintf(stderr, "usage: stages DUMP HEADS REPETITIONS\n");
    return 2;
  }
  try {
    ap::RunConfig config;
    config.dataset_local_root = argv[1];
    const ap::PreparedRun plan = ap::prepare_run(config);
    const std::size_t heads = std::min(plan.tasks.size(), static_cast<std::size_t>(most_heads));
    Clock clock;
    for (int repetition = 0; repetition < repetitions; ++repetition) time_heads(plan, heads, clock);
    print(clock, heads);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stages: %s\n", error.what());
    return 1;
  }
}
