#pragma once

#include <stop_token>
#include <vector>

#include "attention_plasticity/run/analysis_run.h"
#include "attention_plasticity/run/config.h"
#include "attention_plasticity/run/prepared_run.h"

namespace attention_plasticity::python {

/// The rows of a head, which others own.
struct ArrayHead {
  HeadId head;
  RowsView queries;
  RowsView keys;
};

/// A run over heads in memory.
struct ArrayRun {
  PreparedRun prepared;
  RunConfig config;
  RunResult run;
};

/// Measures the heads as a run over a dump with the same rows does, to the last digit: heads of one key head share its
/// keys, a head that cannot be measured is a failure of its own, and the error of the model leaves the same examples
/// out of all heads. The rotation is the one that the options describe, else the one that the vectors show. Throws
/// Error(usage) for options out of range, two heads of one number, sizes of the model that do not hold the heads, and,
/// with `rotation_check: error`, vectors that contradict the rotation.
ArrayRun analyze_arrays(std::vector<ArrayHead> heads, RunConfig config, const RunObserver& observer,
                        const std::stop_token& stop);

}  // namespace attention_plasticity::python
