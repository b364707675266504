#pragma once

#include "attention_plasticity/run/config.h"
#include "attention_plasticity/run/prepared_run.h"

namespace attention_plasticity {

/// Whether the results of this very run stand where it would write them: the same program, files, rotation and
/// configuration, no head failed, and every table as run.json names it.
bool are_results_complete(const PreparedRun& prepared, const RunConfig& config);

}  // namespace attention_plasticity
