#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "attention_plasticity/analysis/head_analysis.h"
#include "attention_plasticity/analyze_dump.h"
#include "attention_plasticity/measure/head_outcome.h"
#include "attention_plasticity/options/config.h"
#include "attention_plasticity/outcomes/saved_heads.h"
#include "attention_plasticity/source/prepared_run.h"

namespace attention_plasticity {

/// A file of the dump that a run read.
struct ReadInput {
  Side side = Side::query;
  HeadNumber head;
  InputDigest input;
};

/// The results of a run.
struct RunResult {
  std::vector<HeadResult> results;          ///< by (layer, q_head)
  std::vector<WithoutGroup> without_group;  ///< of each of `results`
  std::vector<HeadFailure> failures;        ///< by (layer, q_head)
  /// Means over all heads, without each group that all heads with a value have; empty if they are not known.
  WithoutGroup model_without_group;
  /// Documents of all heads that have a value, ascending. Empty without standard errors, or if a head names none.
  std::vector<std::uint64_t> examples;
  std::size_t group_count = 0;  ///< jackknife groups of the run; 0 if there are none
  /// Shares of the candidate rotations; none without `rotation_check`, or without a rotation.
  std::optional<RotationShares> rotation_shares;
  std::vector<ReadInput> inputs;   ///< by (layer, head), queries before keys
  std::uint64_t dropped_rows = 0;  ///< by `non_finite: drop`
  bool interrupted = false;        ///< stopped before all was measured
  std::exception_ptr failure;      ///< why it stopped without a request: files did not arrive
};

/// The outcomes of some heads of a run.
struct HeadOutcomes {
  std::vector<HeadOutcome> heads;  ///< in the order of the tasks
  bool interrupted = false;        ///< some heads are missing
  std::exception_ptr failure;      ///< why, without a stop request: files did not arrive
};

/// Passes on the outcomes of heads as they arrive: reports each to an observer, with what is wrong with its rows, and
/// saves it. To be used by one thread at a time.
class HeadArrivals {
 public:
  /// `saved` may be null. `total` heads are expected, of which `ended` are there already.
  HeadArrivals(const HeadSource* source, const RunObserver& told, SavedHeads* saved, std::size_t ended,
               std::size_t total)
      : source_(source), told_(told), saved_(saved), ended_(ended), total_(total) {}

  void add(const HeadOutcome& outcome);

 private:
  void warn_of(const HeadSide& side, const std::optional<SideRecord>& record);

  const HeadSource* source_;  // names files; null: it does not know them
  const RunObserver& told_;
  SavedHeads* saved_;
  std::size_t ended_;
  std::size_t total_;
  std::set<HeadNumber> keys_;  // whose rows were looked at
  bool warned_of_keys_ = false;
  bool warned_of_queries_ = false;
};

/// How the heads of a run are measured.
struct MeasureOptions {
  int workers = 1;  ///< threads; results do not depend on their number
  std::stop_token stop = {};
  SavedHeads* saved = nullptr;  ///< saves heads as they end, and has those of an earlier run; null: none are saved
};

/// Measures `tasks`, which are some of a prepared and decided run's, as far as they are not saved already. The observer
/// must have all functions.
HeadOutcomes measure_tasks(const PreparedRun& prepared, const RunConfig& config, std::span<const HeadTask> tasks,
                           const MeasureOptions& options, const RunObserver& told);

/// Concludes a run from the outcomes of its heads, wherever they were measured: checks the rotation, and computes the
/// leave-one-out values of the model. Throws Error(usage) when the vectors contradict the rotation and `rotation_check`
/// is `error`.
RunResult conclude(HeadOutcomes outcomes, const PreparedRun& prepared, const RunConfig& config,
                   const RunObserver& told);

/// Decides, measures and concludes a prepared run.
RunResult run_analysis(PreparedRun& prepared, const RunConfig& config, const MeasureOptions& options,
                       const RunObserver& observer);

/// Returns an observer whose functions are all set and may be called from any thread, one at a time. Lines are made
/// printable.
RunObserver serialized(const RunObserver& observer);

/// The SHA-256 of documents, each as decimal text and LF: what run.json names them by.
std::string examples_digest(std::span<const std::uint64_t> examples);

}  // namespace attention_plasticity
