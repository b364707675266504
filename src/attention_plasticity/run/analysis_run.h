#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
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
#include "attention_plasticity/run/kept_heads.h"
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

/// How the heads of a prepared run are measured.
struct RunMeans {
  int workers = 1;  ///< threads; results do not depend on their number
  std::stop_token stop = {};
  HeadArrival arrive = {};    ///< waits for files that did not exist when the run was prepared
  KeptHeads* kept = nullptr;  ///< keeps heads as they end, and has those of an earlier run; null: none are kept
};

/// What became of some heads of a run.
struct HeadOutcomes {
  std::vector<HeadOutcome> heads;  ///< in the order of the tasks
  bool interrupted = false;        ///< some heads are missing
  std::exception_ptr failure;      ///< why, without a stop request: files did not arrive
};

/// Measures `tasks`, which are some of a prepared run's, as far as they are not kept already. `examples`: where they
/// are known beforehand, the examples of all heads of the run, with whose groups heads that have other ones are
/// measured again.
HeadOutcomes measure_heads(const PreparedRun& prepared, const RunConfig& config, std::span<const HeadTask> tasks,
                           const RunMeans& means, const RunObserver& observer,
                           std::span<const std::uint64_t> examples = {});

/// What follows from the outcomes of a run's heads, wherever they were measured. Files are read again where the check
/// of the rotation needs it, and where a head is still to be measured with the groups of all. Throws Error(usage) when
/// the vectors contradict the rotation and `rotation_check` is `error`.
RunResult concluded_run(HeadOutcomes outcomes, const PreparedRun& prepared, const RunConfig& config,
                        const RunMeans& means, const RunObserver& observer);

/// The outcomes of a run's heads, in order, as its result. `examples` are those of all heads, if the values without
/// their groups are known.
RunResult gathered(std::vector<HeadOutcome> outcomes, const std::optional<std::vector<std::uint64_t>>& examples);

/// Measures all heads of a prepared run: measure_heads() and concluded_run().
RunResult run_analysis(const PreparedRun& prepared, const RunConfig& config, const RunMeans& means,
                       const RunObserver& observer);

}  // namespace attention_plasticity
