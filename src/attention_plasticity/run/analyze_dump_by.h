#pragma once

#include <stop_token>

#include "attention_plasticity/analyze_dump.h"
#include "attention_plasticity/run/engine.h"
#include "attention_plasticity/run/finished_run.h"

namespace attention_plasticity {

/// Measures a dump as analyze_dump does, with heads measured by an engine; if that is empty, by this process. Adds to
/// `cost`.
AnalyzedDump analyze_dump_by(const Engine& engine, const DumpSource& source, const RunOptions& options,
                             const RunObserver& observer, const std::stop_token& stop, EngineCost& cost);

/// Wraps a run that has ended.
AnalyzedDump analyzed(FinishedRun run);

}  // namespace attention_plasticity
