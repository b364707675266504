#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/analysis/result.h"
#include "attention_plasticity/run/config.h"
#include "attention_plasticity/run/prepared_run.h"

namespace attention_plasticity {

/// A head that could not be analysed; the others are not touched by it.
struct HeadFailure {
  HeadId head;
  std::string file;
  std::string message;
};

/// One head ended.
struct HeadEvent {
  HeadId head;
  const HeadResult* result = nullptr;    ///< null when it failed
  const HeadFailure* failure = nullptr;  ///< null when it did not
  std::size_t ended = 0;                 ///< heads done or failed so far, this one included
  std::size_t total = 0;
};

/// How a run tells what happens. Calls come from the worker threads, one at a time.
struct RunObserver {
  std::function<void(const HeadEvent&)> head_ended;
  std::function<void(const std::string&)> note;     ///< one line for the user
  std::function<void(const std::string&)> warning;  ///< one line on what may make results wrong
};

/// Means over all heads with one group of examples left out, for each group; none when they are not known.
struct ModelWithoutGroup {
  std::vector<double> overall;  ///< of ap_overall
  std::vector<double> exact;    ///< of ap_exact

  /// By the name of the measure: ap_overall or ap_exact.
  const std::vector<double>& of(std::string_view measure) const { return measure == "ap_exact" ? exact : overall; }
};

struct RunResult {
  /// By (layer, q_head). Where the error of the model is known, the `without_group` of every head are those of the
  /// groups of `examples`, so that group g leaves the same documents out of all heads.
  std::vector<HeadResult> results;
  std::vector<HeadFailure> failures;  ///< likewise
  ModelWithoutGroup model_without_group;
  /// Examples of all heads that have a value, ascending. Empty without standard errors, or where a head names none.
  std::vector<std::uint64_t> examples;
  /// What the vectors say about their rotation; none without `rotation_check`, or without a rotation.
  std::optional<RotationShares> rotation_shares;
  std::uint64_t dropped_rows = 0;  ///< by `non_finite: drop`
  bool interrupted = false;        ///< stopped before all was measured
  std::exception_ptr failure;      ///< why it stopped without a request: files did not arrive
};

/// Waits until the files of a task are there; what it throws ends the run.
using HeadArrival = std::function<void(const HeadTask&)>;

/// Reads and analyses the heads of a prepared run on `workers` threads. The results do not depend on their number.
/// Files that did not exist when the run was prepared are waited for by `arrive`. Throws Error(usage) when the vectors
/// contradict the rotation and `rotation_check` is `error`.
RunResult run_analysis(const PreparedRun& prepared, const RunConfig& config, int workers, const RunObserver& observer,
                       const std::stop_token& stop, const HeadArrival& arrive = {});

}  // namespace attention_plasticity
