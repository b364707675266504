#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>
#include <vector>

#include "attention_plasticity/run/analysis_run.h"
#include "attention_plasticity/run/array_pass.h"
#include "attention_plasticity/run/config.h"
#include "attention_plasticity/run/prepared_run.h"

namespace attention_plasticity {

/// A run over heads in memory.
struct ArrayRun {
  PreparedRun prepared;
  RunConfig config;
  RunResult run;
};

/// Measures the heads as a run over a dump with the same rows does, to the last digit: heads of one key head share its
/// keys, a head that cannot be measured is a failure of its own, and the error of the model leaves the same examples
/// out of all heads. `rotation`: none: the one that the vectors show. Throws Error(usage) for two heads of one number,
/// numbers above 9999, sizes of the model that do not hold the heads, and, with `rotation_check: error`, vectors that
/// contradict the rotation.
ArrayRun analyze_arrays(std::vector<ArrayHead> heads, RunConfig config, std::optional<ModelRotation> rotation,
                        const RunObserver& observer, const std::stop_token& stop);

/// Heads whose rows come in passes, so that memory need not hold those of all heads at once.
struct ArrayPasses {
  struct Head {
    HeadId head;
    std::size_t width = 0;
  };
  /// The heads of each pass, ascending over all passes.
  std::vector<std::vector<Head>> heads;
  /// The rows of the heads of a pass, in their order; they stay until the next call. Called for each pass in turn, and
  /// again for a pass with heads that must be measured without other documents. Empty: the run has to stop.
  std::function<std::vector<ArrayHead>(std::size_t pass)> rows;
};

/// The run over these heads, with a rotation that is known, before any rows are there: enough for `check_outputs`.
/// Throws Error(usage) as analyze_arrays does for heads and sizes.
PreparedRun prepare_passes(const ArrayPasses& passes, const RunConfig& config, DumpRotation rotation);

/// Measures the heads of a run that prepare_passes has prepared from the same passes and configuration.
ArrayRun analyze_passes(const ArrayPasses& passes, PreparedRun prepared, RunConfig config, const RunObserver& observer,
                        const std::stop_token& stop);

}  // namespace attention_plasticity
