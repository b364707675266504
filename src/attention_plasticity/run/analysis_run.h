#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/analysis/head_analysis.h"
#include "attention_plasticity/analyze_dump.h"
#include "attention_plasticity/dump/layout.h"
#include "attention_plasticity/run/config.h"
#include "attention_plasticity/run/head_outcome.h"
#include "attention_plasticity/run/head_pass.h"
#include "attention_plasticity/run/prepared_run.h"

namespace attention_plasticity {

/// A file of the dump that a run read.
struct ReadInput {
  Side side = Side::query;
  HeadKey head;
  InputDigest input;
};

/// What a run measured.
struct RunResult {
  std::vector<HeadResult> results;  ///< by (layer, q_head)
  /// Of each of `results`. Where the error of the model is known, the groups are those of `examples`, so that group g
  /// leaves the same documents out of all heads.
  std::vector<WithoutGroup> without_group;
  std::vector<HeadFailure> failures;  ///< likewise
  WithoutGroup model_without_group;   ///< means over all heads; empty when they are not known
  /// Examples of all heads that have a value, ascending. Empty without standard errors, or where a head names none.
  std::vector<std::uint64_t> examples;
  /// What the vectors say about their rotation; none without `rotation_check`, or without a rotation.
  std::optional<RotationShares> rotation_shares;
  std::vector<ReadInput> inputs;   ///< by (layer, head), queries before keys
  std::uint64_t dropped_rows = 0;  ///< by `non_finite: drop`
  bool interrupted = false;        ///< stopped before all was measured
  std::exception_ptr failure;      ///< why it stopped without a request: files did not arrive
};

/// Reads and analyses the heads of a prepared run on `workers` threads. The results do not depend on their number.
/// Files that did not exist when the run was prepared are waited for by `arrive`. Throws Error(usage) when the vectors
/// contradict the rotation and `rotation_check` is `error`.
RunResult run_analysis(const PreparedRun& prepared, const RunConfig& config, int workers, const RunObserver& observer,
                       const std::stop_token& stop, const HeadArrival& arrive = {});

}  // namespace attention_plasticity
