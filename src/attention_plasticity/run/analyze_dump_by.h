#pragma once

#include <stop_token>

#include "attention_plasticity/analyze_dump.h"
#include "attention_plasticity/run/heads_elsewhere.h"
#include "attention_plasticity/run/part_engine.h"

namespace attention_plasticity {

/// analyze_dump, with heads measured by an engine; one that is empty: by this process. Adds to `cost`.
AnalyzedDump analyze_dump_by(const PartEngine& engine, const DumpSource& source, const RunOptions& options,
                             const RunObserver& observer, const std::stop_token& stop, CostElsewhere& cost);

}  // namespace attention_plasticity
