#pragma once

#include <optional>
#include <stop_token>
#include <vector>

#include "attention_plasticity/options/config.h"
#include "attention_plasticity/run/finished_run.h"
#include "attention_plasticity/source/array_source.h"
#include "attention_plasticity/source/prepared_run.h"

namespace attention_plasticity {

/// Measures heads in memory as a run over a dump with the same rows does, to the last digit. The rotation, if none, is
/// inferred from the vectors. Throws Error(usage) for two heads of one number, numbers above 9999, sizes of the model
/// that do not hold the heads, and, with `rotation_check: error`, vectors that contradict the rotation.
FinishedRun analyze_arrays(std::vector<ArrayHead> heads, RunConfig config, std::optional<ModelRotation> rotation,
                           const RunObserver& observer, const std::stop_token& stop);

/// Prepares a run over heads whose rows come in passes, with a rotation that is known, before any rows are there:
/// enough for `check_outputs`. run_analysis() measures it. Throws Error(usage) as analyze_arrays does for heads and
/// sizes.
PreparedRun prepare_passes(ArrayPasses passes, const RunConfig& config, DumpRotation rotation);

}  // namespace attention_plasticity
